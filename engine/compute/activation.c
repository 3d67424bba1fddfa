/* activation.c: softmax and sigmoid of a head's logits. */
#include "engine/compute/activation.h"

#include <math.h>

void activation_softmax(const float *logits, size_t count, float *scores) {
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = (double)logits[i] > largest ? (double)logits[i] : largest;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - largest);
    for (size_t i = 0; i < count; i++)
        scores[i] = (float)(exp((double)logits[i] - largest) / sum);
}

void activation_sigmoid(const float *logits, size_t count, float *scores) {
    for (size_t i = 0; i < count; i++) {
        const double x = (double)logits[i], e = exp(-fabs(x));
        scores[i] = (float)(x < 0 ? e / (1 + e) : 1 / (1 + e));
    }
}

bool activation_all_finite(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return false;
    }
    return true;
}
