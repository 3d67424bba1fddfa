/* encoder.h: one encoder layer over packed rows, in place:
 *
 *   y = norm(x + output(attention(qkv(x))));  x = norm(y + down(activation(up(y))))
 *
 * Query, key and value are one product. After attention, rows go in blocks of 64 through all that
 * is left, so that a block's intermediate rows stay in the cache. Weights are immutable after
 * open. N tokens, H hidden size, I intermediate size. */
#ifndef BERTD_COMPUTE_ENCODER_H
#define BERTD_COMPUTE_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/compute/attention.h"
#include "engine/compute/linear.h"
#include "engine/compute/norm.h"

struct encoder_layer {
    const struct kernels *kernels;
    struct attention attention;
    struct linear *qkv;        /* [3H, H]; NULL where queries are apart: */
    struct linear *query, *kv; /* [H, H], [2H, H] */
    struct linear *attention_output, *up, *down;
    struct norm attention_norm, output_norm;
    enum activation_function activation;
    uint32_t hidden_size, intermediate_size;
};

/* Working memory of one thread, all 64-byte aligned. */
struct encoder_scratch {
    float *qkv;       /* [N max, 3H] */
    float *context;   /* [N max, H] */
    float *rows;      /* [GEMM_ROWS_MAX, H] */
    float *up;        /* [GEMM_ROWS_MAX, I] */
    float *attention; /* attention_scratch_floats() */
    struct linear_scratch *linear;
};

/* A layer with `queries_apart` can be run for first tokens only (encoder_layer_run_first()); the
 * first tokens' bytes are those of encoder_layer_run().
 * Errors: NO_MEMORY, INTERNAL; on failure `out` holds nothing. */
enum status encoder_layer_open(struct linear_set *set, const struct kernels *kernels,
                               const struct model_config *config,
                               const struct layer_weights *weights, bool queries_apart,
                               struct encoder_layer *out, struct error *err);
void encoder_layer_close(struct encoder_layer *layer);

/* hidden [tokens, H], text b in rows starts[b]..starts[b + 1]; no text is empty. */
void encoder_layer_run(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                       const uint32_t *starts, uint32_t rows, float *hidden);

/* For a last layer whose head reads only first tokens: keys and values for all tokens, everything
 * else for rows starts[b]; the other rows keep what they held. */
void encoder_layer_run_first(const struct encoder_layer *layer,
                             const struct encoder_scratch *scratch, const uint32_t *starts,
                             uint32_t rows, float *hidden);

/* Of its weights, packed. */
uint64_t encoder_layer_get_bytes(const struct encoder_layer *layer);

#endif
