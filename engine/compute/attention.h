/* attention.h: self-attention of each text over packed QKV rows, never across texts.
 *
 * A text's rows depend on its own length and values only: not on the texts beside it nor on where
 * it lies. Scores are made for a few query rows at a time, so memory grows linearly with length. */
#ifndef BERTD_COMPUTE_ATTENTION_H
#define BERTD_COMPUTE_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#include "engine/compute/kernels.h"

/* A attention heads of D numbers, H = A * D. */
struct attention {
    const struct kernels *kernels;
    uint32_t attn_heads, head_dim;
    float scale; /* 1 / sqrt(D) */
};

void attention_init(struct attention *attention, const struct kernels *kernels,
                    uint32_t attn_heads, uint32_t head_dim);

/* Floats of scratch for texts of up to `tokens_max` tokens. */
size_t attention_scratch_floats(const struct attention *attention, uint32_t tokens_max);

/* One text of `tokens` tokens. qkv [tokens, 3H]: query, key, value side by side; out [tokens, H].
 * Only the first `queries` rows of `out` are written. `scratch` is 64-byte aligned. */
void attention_run(const struct attention *attention, const float *qkv, uint32_t tokens,
                   uint32_t queries, float *out, float *scratch);

#endif
