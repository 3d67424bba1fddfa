/* encoder.c: the order of operations of one layer (Devlin et al. 2018, post-norm). */
#include "engine/compute/encoder.h"

enum status encoder_layer_open(struct linear_set *set, const struct kernels *kernels,
                               const struct model_config *config,
                               const struct layer_weights *weights, struct encoder_layer *out,
                               struct error *err) {
    const struct linear_weights *qkv[] = {&weights->query, &weights->key, &weights->value};
    const struct linear_weights *attention_output[] = {&weights->attention_output};
    const struct linear_weights *up[] = {&weights->intermediate}, *down[] = {&weights->output};
    *out = (struct encoder_layer){
        .kernels = kernels,
        .activation = config->activation,
        .hidden_size = config->hidden_size,
        .intermediate_size = config->intermediate_size,
    };
    attention_init(&out->attention, kernels, config->attn_heads,
                   config->hidden_size / config->attn_heads);
    enum status status = linear_open(set, qkv, 3, GEMM_STORE, &out->qkv, err);
    if (status == STATUS_OK)
        status = linear_open(set, attention_output, 1, GEMM_ADD, &out->attention_output, err);
    if (status == STATUS_OK)
        status = linear_open(set, up, 1, GEMM_STORE, &out->up, err);
    if (status == STATUS_OK)
        status = linear_open(set, down, 1, GEMM_ADD, &out->down, err);
    if (status == STATUS_OK)
        status = norm_open(kernels, &weights->attention_norm, config->norm_eps,
                           &out->attention_norm, err);
    if (status == STATUS_OK)
        status = norm_open(kernels, &weights->output_norm, config->norm_eps, &out->output_norm,
                           err);
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

void encoder_layer_run(const struct encoder_layer *layer, const struct encoder_scratch *scratch,
                       const uint32_t *starts, uint32_t rows, float *hidden) {
    const uint32_t tokens = starts[rows];
    const size_t width = layer->hidden_size;
    linear_run(layer->qkv, scratch->linear, hidden, tokens, scratch->qkv);
    for (uint32_t b = 0; b < rows; b++) {
        const uint32_t start = starts[b], length = starts[b + 1] - start;
        attention_run(&layer->attention, scratch->qkv + 3 * width * start, length, length,
                      scratch->context + width * start, scratch->attention);
    }
    for (uint32_t start = 0; start < tokens; start += GEMM_ROWS_MAX) {
        const uint32_t left = tokens - start, count = left < GEMM_ROWS_MAX ? left : GEMM_ROWS_MAX;
        block_run(layer, scratch, scratch->context + width * start, count, hidden + width * start);
    }
}

uint64_t encoder_layer_get_bytes(const struct encoder_layer *layer) {
    return linear_get_bytes(layer->qkv) + linear_get_bytes(layer->attention_output) +
           linear_get_bytes(layer->up) + linear_get_bytes(layer->down) +
           norm_get_bytes(&layer->attention_norm) + norm_get_bytes(&layer->output_norm);
}
