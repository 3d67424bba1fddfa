/* head.h: what turns hidden states into the input of a head's last product: the pooler over first
 * tokens, the transform over masked ones. Both work in place: their results are the first rows of
 * the hidden states, and the other rows are lost. Weights are immutable after open.
 * H hidden size, B texts, R rows that the head reads. */
#ifndef BERTD_COMPUTE_HEAD_H
#define BERTD_COMPUTE_HEAD_H

#include <stdint.h>

#include "engine/compute/linear.h"
#include "engine/compute/norm.h"

struct pooler {
    const struct kernels *kernels;
    struct linear *dense; /* [H, H] */
    enum activation_function function;
};

/* Errors: NO_MEMORY, INTERNAL. */
enum status pooler_open(struct linear_set *set, const struct kernels *kernels,
                        const struct model_weights *weights, struct pooler *out, struct error *err);
void pooler_close(struct pooler *pooler);

/* hidden [N, H] -> its first B rows: row b becomes function(dense(row starts[b])). `gathered` is
 * scratch [GEMM_ROWS_MAX, H]. */
void pooler_run(const struct pooler *pooler, struct linear_scratch *scratch, const uint32_t *starts,
                uint32_t rows, float *gathered, float *hidden);

/* Of masked-language models. */
struct transform {
    const struct kernels *kernels;
    struct linear *dense; /* [H, H] */
    enum activation_function function;
    struct norm norm;
};

/* Errors: NO_MEMORY, INTERNAL. */
enum status transform_open(struct linear_set *set, const struct kernels *kernels,
                           const struct model_config *config, const struct model_weights *weights,
                           struct transform *out, struct error *err);
void transform_close(struct transform *transform);

/* hidden [N, H] -> its first R rows: row r becomes norm(function(dense(row reads[r]))). The reads
 * are ascending, each once. `gathered` is scratch [GEMM_ROWS_MAX, H]. */
void transform_run(const struct transform *transform, struct linear_scratch *scratch,
                   const uint32_t *reads, uint32_t rows, float *gathered, float *hidden);

/* Of its weights. */
uint64_t transform_get_bytes(const struct transform *transform);

#endif
