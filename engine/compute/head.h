/* head.h: what turns hidden states into logits: the pooler over first tokens, and the classifier.
 * Weights are immutable after open. H hidden size, K labels, B texts. */
#ifndef BERTD_COMPUTE_HEAD_H
#define BERTD_COMPUTE_HEAD_H

#include <stdint.h>

#include "engine/compute/linear.h"

struct pooler {
    const struct kernels *kernels;
    struct linear *dense; /* [H, H] */
    enum activation_function function;
};

/* Errors: NO_MEMORY, INTERNAL. */
enum status pooler_open(struct linear_set *set, const struct kernels *kernels,
                        const struct model_weights *weights, struct pooler *out, struct error *err);
void pooler_close(struct pooler *pooler);

/* hidden [N, H] -> its first B rows: row b becomes function(dense(row starts[b])). The other rows
 * are lost. `gathered` is scratch [GEMM_ROWS_MAX, H]. */
void pooler_run(const struct pooler *pooler, struct linear_scratch *scratch, const uint32_t *starts,
                uint32_t rows, float *gathered, float *hidden);

#endif
