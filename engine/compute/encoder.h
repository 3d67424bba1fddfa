/* encoder.h: one encoder layer over packed rows, in place, whole or third by third:
 *
 *   attention      y = norm(x + output(attention(qkv(x))))
 *   intermediate   u = activation(up(y))
 *   output         x = norm(y + down(u))
 *
 * With I = 4 H each third holds a third of the layer's weights, and a stage may begin or end
 * between two of them. Query, key and value are one product. After attention, rows go in blocks of
 * 64 through all thirds that are run together, so that a block's intermediate rows stay in the
 * cache. Weights are immutable after open. N tokens, H hidden size, I intermediate size. */
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

/* Working memory of one thread, all 64-byte aligned; qkv and context are those of all threads that
 * work on the batch. */
struct encoder_scratch {
    float *qkv;       /* [N max, 3H] */
    float *context;   /* [N max, H] */
    float *rows;      /* [GEMM_ROWS_MAX, H] */
    float *up;        /* [GEMM_ROWS_MAX, I] */
    float *attention; /* attention_scratch_floats() */
    struct linear_scratch *linear;
};

enum encoder_third { ENCODER_ATTENTION, ENCODER_INTERMEDIATE, ENCODER_OUTPUT, ENCODER_THIRDS };

/* Rows and where they lie. Text b has rows starts[b]..starts[b + 1]; no text is empty. With
 * `reads` only the rows of that list are wanted of the layer, and only they are changed (keys and
 * values are those of all rows): text b's are reads[reads_starts[b]..reads_starts[b + 1]],
 * ascending. NULL: all rows. */
struct encoder_batch {
    const uint32_t *starts; /* [texts + 1] */
    uint32_t texts;
    const uint32_t *reads, *reads_starts;
    float *hidden;       /* [N, H] */
    float *intermediate; /* [wanted rows, I], where ENCODER_INTERMEDIATE and ENCODER_OUTPUT are
                            run apart; else it is not used */
};

/* A layer with `queries_apart` can be run with `reads`; the bytes of the wanted rows are those of
 * a run of all. Errors: NO_MEMORY, INTERNAL; on failure `out` holds nothing. */
enum status encoder_layer_open(struct linear_set *set, const struct kernels *kernels,
                               const struct model_config *config,
                               const struct layer_weights *weights, bool queries_apart,
                               struct encoder_layer *out, struct error *err);
void encoder_layer_close(struct encoder_layer *layer);

/* Rows of the batch whose result is wanted. */
uint32_t encoder_batch_wanted(const struct encoder_batch *batch);

/* Keys and values of rows first..first+count-1 of all, into scratch->qkv, where attention finds
 * them. */
void encoder_layer_project(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                           const struct encoder_batch *batch, uint32_t first, uint32_t count);

/* Runs the thirds first..last of the layer on `rows` of the wanted rows from first_row on. When
 * attention is among them, all rows must have been projected. The bytes depend neither on which
 * thirds nor on which rows are run together; threads whose rows are apart may run at once, each
 * with its own scratch but for qkv and context. */
void encoder_layer_run(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                       const struct encoder_batch *batch, enum encoder_third first,
                       enum encoder_third last, uint32_t first_row, uint32_t rows);

/* The products of one third, to be packed before it runs; their number. */
enum { ENCODER_LINEARS_MAX = 3 };
uint32_t encoder_layer_get_linears(const struct encoder_layer *layer, enum encoder_third third,
                                   struct linear *out[ENCODER_LINEARS_MAX]);

/* Of the weights of one third, packed. */
uint64_t encoder_layer_get_bytes(const struct encoder_layer *layer, enum encoder_third third);

#endif
