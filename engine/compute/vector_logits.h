/* vector_logits.h: what is kept of a block of vocabulary logits. Included by kernels_*.c only. */
#ifndef BERTD_COMPUTE_VECTOR_LOGITS_H
#define BERTD_COMPUTE_VECTOR_LOGITS_H

#include "engine/compute/vector_math.h"

/* Columns side by side in the lanes, rows one after the other: a column's bits depend on nothing
 * but its own numbers. x - x is zero for finite numbers only. */
static void logits(float *y, size_t rows, const float *bias, float *largest, float *sums) {
    for (size_t c = 0; c < LOGITS_COLUMNS; c += VEC_LANES) {
        float *column = y + c;
        vec top = vec_load(column) + vec_set(bias[0]), sum = vec_set(0.0f);
        for (size_t r = 0; r < rows; r++) {
            vec x = vec_load(column + r * LOGITS_COLUMNS) + vec_set(bias[r]);
            vec_store(column + r * LOGITS_COLUMNS, x);
            top = vec_max(x, top);
        }
        for (size_t r = 0; r < rows; r++) {
            vec x = vec_load(column + r * LOGITS_COLUMNS);
            sum = sum + (vec_exp(x - top) + (x - x));
        }
        vec_store(largest + c, top);
        vec_store(sums + c, sum);
    }
}

#endif
