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

/* Where the wanted rows are: row r of them is row at[r] of the batch; NULL: row r itself. */
struct wanted {
    const uint32_t *at;
    uint32_t count;
};

static struct wanted wanted_of(const struct encoder_batch *batch) {
    if (batch->reads)
        return (struct wanted){batch->reads, batch->reads_starts[batch->texts]};
    return (struct wanted){NULL, batch->starts[batch->texts]};
}

/* Wanted rows first..first+count-1 side by side: in place, or copied to `room`. */
static float *rows_take(const struct encoder_batch *batch, struct wanted wanted, uint32_t first,
                        uint32_t count, size_t width, float *room) {
    if (!wanted.at)
        return batch->hidden + width * first;
    for (uint32_t r = 0; r < count; r++)
        memcpy(room + width * r, batch->hidden + width * wanted.at[first + r],
               width * sizeof *room);
    return room;
}

static void rows_put(const struct encoder_batch *batch, struct wanted wanted, uint32_t first,
                     uint32_t count, size_t width, const float *rows) {
    for (uint32_t r = 0; wanted.at && r < count; r++)
        memcpy(batch->hidden + width * wanted.at[first + r], rows + width * r,
               width * sizeof *rows);
}

/* Keys and values of all rows and queries of the wanted ones, in scratch->qkv. */
static struct attention_rows project(const struct encoder_layer *layer,
                                     const struct encoder_scratch *scratch,
                                     const struct encoder_batch *batch, struct wanted wanted) {
    const size_t width = layer->hidden_size;
    const uint32_t tokens = batch->starts[batch->texts];
    float *qkv = scratch->qkv, *kv = qkv + width * tokens;
    if (layer->qkv) {
        linear_run(layer->qkv, scratch->linear, batch->hidden, tokens, qkv);
        return (struct attention_rows){qkv, qkv + width, qkv + 2 * width, 3 * width, 3 * width};
    }
    /* The context is written only after the queries have been read. */
    const float *x = rows_take(batch, wanted, 0, wanted.count, width, scratch->context);
    linear_run(layer->query, scratch->linear, x, wanted.count, qkv);
    linear_run(layer->kv, scratch->linear, batch->hidden, tokens, kv);
    return (struct attention_rows){qkv, kv, kv + width, width, 2 * width};
}

/* scratch->context [wanted rows, H]. */
static void attend(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                   const struct encoder_batch *batch, struct wanted wanted) {
    const struct attention_rows all = project(layer, scratch, batch, wanted);
    const uint32_t *queries = batch->reads ? batch->reads_starts : batch->starts;
    for (uint32_t b = 0; b < batch->texts; b++) {
        const uint32_t start = batch->starts[b], first = queries[b];
        const uint32_t count = queries[b + 1] - first;
        struct attention_rows text = all;
        text.query += first * all.query_stride;
        text.key += start * all.key_stride;
        text.value += start * all.key_stride;
        if (count > 0)
            attention_run(&layer->attention, &text, batch->starts[b + 1] - start, count,
                          scratch->context + first * (size_t)layer->hidden_size,
                          scratch->attention);
    }
}

/* What is left of the thirds for up to GEMM_ROWS_MAX rows: x, context [rows, H], u [rows, I]. */
static void block_run(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                      enum encoder_third first, enum encoder_third last, const float *context,
                      uint32_t rows, float *x, float *u) {
    if (first == ENCODER_ATTENTION) {
        linear_run(layer->attention_output, scratch->linear, context, rows, x);
        norm_run(&layer->attention_norm, x, rows);
    }
    if (first <= ENCODER_INTERMEDIATE && last >= ENCODER_INTERMEDIATE) {
        linear_run(layer->up, scratch->linear, x, rows, u);
        layer->kernels->activate(layer->activation, u, (size_t)rows * layer->intermediate_size);
    }
    if (last == ENCODER_OUTPUT) {
        linear_run(layer->down, scratch->linear, u, rows, x);
        norm_run(&layer->output_norm, x, rows);
    }
}

void encoder_layer_run(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                       const struct encoder_batch *batch, enum encoder_third first,
                       enum encoder_third last) {
    const struct wanted wanted = wanted_of(batch);
    const size_t width = layer->hidden_size, wide = layer->intermediate_size;
    const bool apart = first == ENCODER_OUTPUT || last == ENCODER_INTERMEDIATE;
    if (first == ENCODER_ATTENTION)
        attend(layer, scratch, batch, wanted);
    for (uint32_t start = 0; start < wanted.count; start += GEMM_ROWS_MAX) {
        const uint32_t left = wanted.count - start;
        const uint32_t count = left < GEMM_ROWS_MAX ? left : GEMM_ROWS_MAX;
        float *x = rows_take(batch, wanted, start, count, width, scratch->rows);
        block_run(layer, scratch, first, last, scratch->context + width * start, count, x,
                  apart ? batch->intermediate + wide * start : scratch->up);
        if (first == ENCODER_ATTENTION || last == ENCODER_OUTPUT)
            rows_put(batch, wanted, start, count, width, x);
    }
}

uint32_t encoder_layer_get_linears(const struct encoder_layer *layer, enum encoder_third third,
                                   struct linear *out[ENCODER_LINEARS_MAX]) {
    uint32_t count = 0;
    if (third != ENCODER_ATTENTION) {
        out[count++] = third == ENCODER_INTERMEDIATE ? layer->up : layer->down;
        return count;
    }
    if (layer->qkv) {
        out[count++] = layer->qkv;
    } else {
        out[count++] = layer->query;
        out[count++] = layer->kv;
    }
    out[count++] = layer->attention_output;
    return count;
}

uint64_t encoder_layer_get_bytes(const struct encoder_layer *layer, enum encoder_third third) {
    struct linear *linears[ENCODER_LINEARS_MAX];
    const uint32_t count = encoder_layer_get_linears(layer, third, linears);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += linear_get_bytes(linears[i]);
    if (third == ENCODER_ATTENTION)
        bytes += norm_get_bytes(&layer->attention_norm);
    if (third == ENCODER_OUTPUT)
        bytes += norm_get_bytes(&layer->output_norm);
    return bytes;
}
