/* attention.c: walks over the attention heads of a text; the arithmetic is in vector_attention.h.
 */
#include "engine/compute/attention.h"

#include <math.h>

void attention_init(struct attention *attention, const struct kernels *kernels, uint32_t attn_heads,
                    uint32_t head_dim) {
    *attention = (struct attention){
        .kernels = kernels,
        .attn_heads = attn_heads,
        .head_dim = head_dim,
        .scale = (float)(1.0 / sqrt((double)head_dim)),
    };
}

size_t attention_scratch_floats(const struct attention *attention, uint32_t tokens_max) {
    return attention->kernels->attend_scratch(tokens_max, attention->head_dim);
}

void attention_run(const struct attention *attention, const struct attention_rows *rows,
                   uint32_t tokens, uint32_t queries, float *out, float *scratch) {
    const size_t head_dim = attention->head_dim, hidden = attention->attn_heads * head_dim;
    for (size_t column = 0; column < hidden; column += head_dim) {
        attention->kernels->attend(&(struct attend_args){
            .query = rows->query + column,
            .key = rows->key + column,
            .value = rows->value + column,
            .query_stride = rows->query_stride,
            .key_stride = rows->key_stride,
            .length = tokens,
            .queries = queries,
            .head_dim = head_dim,
            .scale = attention->scale,
            .out = out + column,
            .out_stride = hidden,
            .scratch = scratch,
        });
    }
}
