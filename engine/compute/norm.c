/* norm.c: layer norm over rows; the arithmetic is in vector_rows.h. */
#include "engine/compute/norm.h"

#include <stdlib.h>
#include <string.h>

enum status norm_open(const struct kernels *kernels, const struct norm_weights *weights, float eps,
                      struct norm *out, struct error *err) {
    const size_t width = (size_t)weights->weight.shape[0];
    *out = (struct norm){.kernels = kernels, .width = (uint32_t)width, .eps = eps};
    out->gamma = calloc(2 * width, sizeof *out->gamma);
    if (!out->gamma)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a layer norm");
    out->beta = out->gamma + width;
    kernels->widen(weights->weight.type, weights->weight.data, width, out->gamma);
    if (weights->bias.name)
        kernels->widen(weights->bias.type, weights->bias.data, width, out->beta);
    return STATUS_OK;
}

void norm_close(struct norm *norm) {
    if (!norm)
        return;
    free(norm->gamma);
    *norm = (struct norm){0};
}

void norm_run(const struct norm *norm, float *x, uint32_t rows) {
    norm->kernels->norm(x, rows, norm->width, norm->gamma, norm->beta, norm->eps);
}

uint64_t norm_get_bytes(const struct norm *norm) {
    return 2 * (uint64_t)norm->width * sizeof(float);
}
