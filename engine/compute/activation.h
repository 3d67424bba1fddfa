/* activation.h: logits to scores, and the check that ends every forward pass. Double precision
 * inside; K is small. Any thread. */
#ifndef BERTD_COMPUTE_ACTIVATION_H
#define BERTD_COMPUTE_ACTIVATION_H

#include <stdbool.h>
#include <stddef.h>

/* scores[i] = e^(x_i - largest) / sum. Finite logits of any size give finite scores. In place is
 * allowed. */
void activation_softmax(const float *logits, size_t count, float *scores);

/* scores[i] = 1 / (1 + e^-x_i), without overflow on either side. In place is allowed. */
void activation_sigmoid(const float *logits, size_t count, float *scores);

/* No NaN and no infinity among the values. */
bool activation_all_finite(const float *values, size_t count);

#endif
