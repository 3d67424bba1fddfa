/* encoder.c: the order of operations of one layer (Devlin et al. 2018, post-norm). */
#include "engine/compute/encoder.h"

#include <string.h>

static enum status linears_open(struct linear_set *set, const struct layer_weights *weights,
                                bool queries_apart, struct encoder_layer *out, struct error *err) {
    const struct linear_weights *qkv[] = {&weights->query, &weights->key, &weights->value};
    const struct linear_weights *attention_output[] = {&weights->attention_output};
    const struct linear_weights *up[] = {&weights->intermediate}, *down[] = {&weights->output};
    enum status status;
    if (queries_apart) {
        status = linear_open(set, qkv, 1, GEMM_STORE, &out->query, err);
        if (status == STATUS_OK)
            status = linear_open(set, qkv + 1, 2, GEMM_STORE, &out->kv, err);
    } else {
        status = linear_open(set, qkv, 3, GEMM_STORE, &out->qkv, err);
    }
    if (status == STATUS_OK)
        status = linear_open(set, attention_output, 1, GEMM_ADD, &out->attention_output, err);
    if (status == STATUS_OK)
        status = linear_open(set, up, 1, GEMM_STORE, &out->up, err);
    if (status == STATUS_OK)
        status = linear_open(set, down, 1, GEMM_ADD, &out->down, err);
    return status;
}

enum status encoder_layer_open(struct linear_set *set, const struct kernels *kernels,
                               const struct model_config *config,
                               const struct layer_weights *weights, bool queries_apart,
                               struct encoder_layer *out, struct error *err) {
    const float eps = config->norm_eps;
    *out = (struct encoder_layer){
        .kernels = kernels,
        .activation = config->activation,
        .hidden_size = config->hidden_size,
        .intermediate_size = config->intermediate_size,
    };
    attention_init(&out->attention, kernels, config->attn_heads,
                   config->hidden_size / config->attn_heads);
    enum status status = linears_open(set, weights, queries_apart, out, err);
    if (status == STATUS_OK)
        status = norm_open(kernels, &weights->attention_norm, eps, &out->attention_norm, err);
    if (status == STATUS_OK)
        status = norm_open(kernels, &weights->output_norm, eps, &out->output_norm, err);
    if (status != STATUS_OK)
        encoder_layer_close(out);
    return status;
}

void encoder_layer_close(struct encoder_layer *layer) {
    if (!layer)
        return;
    norm_close(&layer->output_norm);
    norm_close(&layer->attention_norm);
    linear_close(layer->down);
    linear_close(layer->up);
    linear_close(layer->attention_output);
    linear_close(layer->kv);
    linear_close(layer->query);
    linear_close(layer->qkv);
    *layer = (struct encoder_layer){0};
}

/* What follows attention, for up to GEMM_ROWS_MAX rows: hidden and context [rows, H]. */
static void block_run(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                      const float *context, uint32_t rows, float *hidden) {
    linear_run(layer->attention_output, scratch->linear, context, rows, hidden);
    norm_run(&layer->attention_norm, hidden, rows);
    linear_run(layer->up, scratch->linear, hidden, rows, scratch->up);
    layer->kernels->activate(layer->activation, scratch->up,
                             (size_t)rows * layer->intermediate_size);
    linear_run(layer->down, scratch->linear, scratch->up, rows, hidden);
    norm_run(&layer->output_norm, hidden, rows);
}

/* Queries, keys and values of all tokens, in scratch->qkv. */
static struct attention_rows project(const struct encoder_layer *layer,
                                     const struct encoder_scratch *scratch, const float *hidden,
                                     uint32_t tokens) {
    const size_t width = layer->hidden_size;
    float *qkv = scratch->qkv, *kv = qkv + width * tokens;
    if (layer->qkv) {
        linear_run(layer->qkv, scratch->linear, hidden, tokens, qkv);
        return (struct attention_rows){qkv, qkv + width, qkv + 2 * width, 3 * width, 3 * width};
    }
    linear_run(layer->query, scratch->linear, hidden, tokens, qkv);
    linear_run(layer->kv, scratch->linear, hidden, tokens, kv);
    return (struct attention_rows){qkv, kv, kv + width, width, 2 * width};
}

void encoder_layer_run(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                       const uint32_t *starts, uint32_t rows, float *hidden) {
    const uint32_t tokens = starts[rows];
    const size_t width = layer->hidden_size;
    const struct attention_rows all = project(layer, scratch, hidden, tokens);
    for (uint32_t b = 0; b < rows; b++) {
        const uint32_t start = starts[b], length = starts[b + 1] - start;
        struct attention_rows text = all;
        text.query += start * all.query_stride;
        text.key += start * all.key_stride;
        text.value += start * all.key_stride;
        attention_run(&layer->attention, &text, length, length, scratch->context + width * start,
                      scratch->attention);
    }
    for (uint32_t start = 0; start < tokens; start += GEMM_ROWS_MAX) {
        const uint32_t left = tokens - start, count = left < GEMM_ROWS_MAX ? left : GEMM_ROWS_MAX;
        block_run(layer, scratch, scratch->context + width * start, count, hidden + width * start);
    }
}

void encoder_layer_run_first(const struct encoder_layer *layer,
                             const struct encoder_scratch *scratch, const uint32_t *starts,
                             uint32_t rows, float *hidden) {
    const uint32_t tokens = starts[rows];
    const size_t width = layer->hidden_size, row_bytes = width * sizeof *hidden;
    float *query = scratch->qkv, *kv = query + width * tokens, *x = scratch->rows;
    linear_run(layer->kv, scratch->linear, hidden, tokens, kv);
    for (uint32_t first = 0; first < rows; first += GEMM_ROWS_MAX) {
        const uint32_t left = rows - first, count = left < GEMM_ROWS_MAX ? left : GEMM_ROWS_MAX;
        const uint32_t *block = starts + first;
        for (uint32_t b = 0; b < count; b++)
            memcpy(x + width * b, hidden + width * block[b], row_bytes);
        linear_run(layer->query, scratch->linear, x, count, query);
        for (uint32_t b = 0; b < count; b++) {
            const float *key = kv + 2 * width * block[b];
            const struct attention_rows text = {query + width * b, key, key + width, width,
                                                2 * width};
            attention_run(&layer->attention, &text, block[b + 1] - block[b], 1,
                          scratch->context + width * b, scratch->attention);
        }
        block_run(layer, scratch, scratch->context, count, x);
        for (uint32_t b = 0; b < count; b++)
            memcpy(hidden + width * block[b], x + width * b, row_bytes);
    }
}

uint64_t encoder_layer_get_bytes(const struct encoder_layer *layer) {
    const uint64_t projection = layer->qkv
                                    ? linear_get_bytes(layer->qkv)
                                    : linear_get_bytes(layer->query) + linear_get_bytes(layer->kv);
    return projection + linear_get_bytes(layer->attention_output) + linear_get_bytes(layer->up) +
           linear_get_bytes(layer->down) + norm_get_bytes(&layer->attention_norm) +
           norm_get_bytes(&layer->output_norm);
}
