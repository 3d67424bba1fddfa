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

uint32_t encoder_batch_wanted(const struct encoder_batch *batch) {
    return batch->reads ? batch->reads_starts[batch->texts] : batch->starts[batch->texts];
}

/* Wanted rows first..first+count-1 side by side: in place, or copied to `room`. */
static float *rows_take(const struct encoder_batch *batch, uint32_t first, uint32_t count,
                        size_t width, float *room) {
    if (!batch->reads)
        return batch->hidden + width * first;
    for (uint32_t r = 0; r < count; r++)
        memcpy(room + width * r, batch->hidden + width * batch->reads[first + r],
               width * sizeof *room);
    return room;
}

static void rows_put(const struct encoder_batch *batch, uint32_t first, uint32_t count,
                     size_t width, const float *rows) {
    for (uint32_t r = 0; batch->reads && r < count; r++)
        memcpy(batch->hidden + width * batch->reads[first + r], rows + width * r,
               width * sizeof *rows);
}

/* Where keys, values and queries lie in scratch->qkv. */
static struct attention_rows rows_of(const struct encoder_layer *layer,
                                     const struct encoder_scratch *scratch,
                                     const struct encoder_batch *batch) {
    const size_t width = layer->hidden_size;
    float *qkv = scratch->qkv, *kv = qkv + width * batch->starts[batch->texts];
    if (layer->qkv)
        return (struct attention_rows){qkv, qkv + width, qkv + 2 * width, 3 * width, 3 * width};
    return (struct attention_rows){qkv, kv, kv + width, width, 2 * width};
}

void encoder_layer_project(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                           const struct encoder_batch *batch, uint32_t first, uint32_t count) {
    const size_t width = layer->hidden_size;
    const float *x = batch->hidden + width * first;
    float *qkv = scratch->qkv, *kv = qkv + width * batch->starts[batch->texts];
    if (layer->qkv)
        linear_run(layer->qkv, scratch->linear, x, count, qkv + 3 * width * first);
    else
        linear_run(layer->kv, scratch->linear, x, count, kv + 2 * width * first);
}

/* Queries of wanted rows, where they are apart. */
static void query(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                  const struct encoder_batch *batch, uint32_t first, uint32_t count) {
    const size_t width = layer->hidden_size;
    const uint32_t end = first + count;
    for (uint32_t start = first; start < end; start += GEMM_ROWS_MAX) {
        const uint32_t rows = end - start < GEMM_ROWS_MAX ? end - start : GEMM_ROWS_MAX;
        const float *x = rows_take(batch, start, rows, width, scratch->rows);
        linear_run(layer->query, scratch->linear, x, rows, scratch->qkv + width * start);
    }
}

/* scratch->context of wanted rows first..first+count-1. */
static void attend(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                   const struct encoder_batch *batch, uint32_t first, uint32_t count) {
    const struct attention_rows all = rows_of(layer, scratch, batch);
    const uint32_t *queries = batch->reads ? batch->reads_starts : batch->starts;
    const uint32_t end = first + count;
    for (uint32_t b = 0; b < batch->texts; b++) {
        const uint32_t start = batch->starts[b];
        const uint32_t from = queries[b] > first ? queries[b] : first;
        const uint32_t to = queries[b + 1] < end ? queries[b + 1] : end;
        if (from >= to)
            continue;
        struct attention_rows text = all;
        text.query += from * all.query_stride;
        text.key += start * all.key_stride;
        text.value += start * all.key_stride;
        attention_run(&layer->attention, &text, batch->starts[b + 1] - start, to - from,
                      scratch->context + from * (size_t)layer->hidden_size, scratch->attention);
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
                       enum encoder_third last, uint32_t first_row, uint32_t rows) {
    const size_t width = layer->hidden_size, wide = layer->intermediate_size;
    const bool apart = first == ENCODER_OUTPUT || last == ENCODER_INTERMEDIATE;
    if (first == ENCODER_ATTENTION) {
        if (!layer->qkv)
            query(layer, scratch, batch, first_row, rows);
        attend(layer, scratch, batch, first_row, rows);
    }
    const uint32_t end = first_row + rows;
    for (uint32_t start = first_row; start < end; start += GEMM_ROWS_MAX) {
        const uint32_t count = end - start < GEMM_ROWS_MAX ? end - start : GEMM_ROWS_MAX;
        float *x = rows_take(batch, start, count, width, scratch->rows);
        block_run(layer, scratch, first, last, scratch->context + width * start, count, x,
                  apart ? batch->intermediate + wide * start : scratch->up);
        if (first == ENCODER_ATTENTION || last == ENCODER_OUTPUT)
            rows_put(batch, start, count, width, x);
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
