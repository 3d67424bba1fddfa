/* head.c: the pooler works in place, in blocks; no text is empty, so row b of the result never
 * overwrites a first token that is still to be read (starts[b] >= b). */
#include "engine/compute/head.h"

#include <string.h>

enum status pooler_open(struct linear_set *set, const struct kernels *kernels,
                        const struct model_weights *weights, struct pooler *out,
                        struct error *err) {
    const struct linear_weights *dense[] = {&weights->pooler};
    *out = (struct pooler){.kernels = kernels, .function = weights->pooler_function};
    return linear_open(set, dense, 1, GEMM_STORE, &out->dense, err);
}

void pooler_close(struct pooler *pooler) {
    if (!pooler)
        return;
    linear_close(pooler->dense);
    *pooler = (struct pooler){0};
}

void pooler_run(const struct pooler *pooler, struct linear_scratch *scratch, const uint32_t *starts,
                uint32_t rows, float *gathered, float *hidden) {
    const size_t width = linear_get_inputs(pooler->dense);
    for (uint32_t first = 0; first < rows; first += GEMM_ROWS_MAX) {
        const uint32_t left = rows - first, count = left < GEMM_ROWS_MAX ? left : GEMM_ROWS_MAX;
        for (uint32_t b = 0; b < count; b++)
            memcpy(gathered + b * width, hidden + starts[first + b] * width,
                   width * sizeof *hidden);
        float *out = hidden + first * width;
        linear_run(pooler->dense, scratch, gathered, count, out);
        pooler->kernels->activate(pooler->function, out, count * width);
    }
}
