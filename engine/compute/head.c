/* head.c: works in place, in blocks. The rows that are read are ascending, each once, so row r of
 * the result never overwrites one that is still to be read (at[r] >= r). */
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

/* Rows first, first + 1, … of the result, up to a block of them: the dense layer over rows
 * at[first], at[first + 1], … Returns their count. */
static uint32_t block_project(const struct linear *dense, struct linear_scratch *scratch,
                              const uint32_t *at, uint32_t first, uint32_t rows, float *gathered,
                              float *hidden) {
    const size_t width = linear_get_inputs(dense);
    const uint32_t left = rows - first, count = left < GEMM_ROWS_MAX ? left : GEMM_ROWS_MAX;
    for (uint32_t r = 0; r < count; r++)
        memcpy(gathered + r * width, hidden + at[first + r] * width, width * sizeof *hidden);
    linear_run(dense, scratch, gathered, count, hidden + first * width);
    return count;
}

void pooler_run(const struct pooler *pooler, struct linear_scratch *scratch, const uint32_t *starts,
                uint32_t rows, float *gathered, float *hidden) {
    const size_t width = linear_get_inputs(pooler->dense);
    for (uint32_t first = 0, count; first < rows; first += count) {
        count = block_project(pooler->dense, scratch, starts, first, rows, gathered, hidden);
        pooler->kernels->activate(pooler->function, hidden + first * width, count * width);
    }
}

enum status transform_open(struct linear_set *set, const struct kernels *kernels,
                           const struct model_config *config, const struct model_weights *weights,
                           struct transform *out, struct error *err) {
    const struct linear_weights *dense[] = {&weights->transform};
    *out = (struct transform){.kernels = kernels, .function = config->activation};
    enum status status = linear_open(set, dense, 1, GEMM_STORE, &out->dense, err);
    if (status == STATUS_OK)
        status = norm_open(kernels, &weights->transform_norm, config->norm_eps, &out->norm, err);
    return status;
}

void transform_close(struct transform *transform) {
    if (!transform)
        return;
    norm_close(&transform->norm);
    linear_close(transform->dense);
    *transform = (struct transform){0};
}

void transform_run(const struct transform *transform, struct linear_scratch *scratch,
                   const uint32_t *reads, uint32_t rows, float *gathered, float *hidden) {
    const size_t width = linear_get_inputs(transform->dense);
    for (uint32_t first = 0, count; first < rows; first += count) {
        count = block_project(transform->dense, scratch, reads, first, rows, gathered, hidden);
        transform->kernels->activate(transform->function, hidden + first * width, count * width);
        norm_run(&transform->norm, hidden + first * width, count);
    }
}

uint64_t transform_get_bytes(const struct transform *transform) {
    return linear_get_bytes(transform->dense) + norm_get_bytes(&transform->norm);
}
