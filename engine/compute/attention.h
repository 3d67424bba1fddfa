/* attention.h: self-attention of each text over packed rows, never across texts.
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

void attention_init(struct attention *attention, const struct kernels *kernels, uint32_t attn_heads,
                    uint32_t head_dim);

/* Floats of scratch for texts of up to `tokens_max` tokens. */
size_t attention_scratch_floats(const struct attention *attention, uint32_t tokens_max);

/* Where a text's rows lie. Strides in floats; keys and values have the same one. */
struct attention_rows {
    const float *query, *key, *value; /* [queries, H], [tokens, H], [tokens, H] */
    size_t query_stride, key_stride;
};

/* One text of `tokens` tokens -> out [queries, H], the first 1..tokens rows. `scratch` is 64-byte
 * aligned. */
void attention_run(const struct attention *attention, const struct attention_rows *rows,
                   uint32_t tokens, uint32_t queries, float *out, float *scratch);

#endif
