/* nodes.c: opens the model's parts as the flow knows them: weights that are packed once and shared
 * by all replicas, and the list that plans are made from. */
#include "engine/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/nodes_internal.h"

static void drop_linear(const struct model *model, const struct linear_weights *weights) {
    model_drop_pages(model, &weights->weight);
}

static enum status layers_open(struct nodes *nodes, const struct kernels *kernels,
                               const struct model_config *config,
                               const struct model_weights *weights, struct error *err) {
    for (uint32_t i = 0; i < config->layers_count; i++) {
        const struct layer_weights *layer = &weights->layers[i];
        enum status status =
            encoder_layer_open(nodes->linears, kernels, config, layer,
                               i + 1 == config->layers_count, &nodes->layers[i], err);
        if (status != STATUS_OK)
            return status;
        nodes->layers_count++;
        drop_linear(nodes->model, &layer->query);
        drop_linear(nodes->model, &layer->key);
        drop_linear(nodes->model, &layer->value);
        drop_linear(nodes->model, &layer->attention_output);
        drop_linear(nodes->model, &layer->intermediate);
        drop_linear(nodes->model, &layer->output);
    }
    return STATUS_OK;
}

void nodes_add_part(struct nodes *nodes, const char *name, const char *third,
                    uint64_t weights_bytes, double cost) {
    nodes->parts[nodes->parts_count++] = (struct part){
        .name = name,
        .third = third,
        .weights_bytes = weights_bytes,
        .cost = cost,
    };
}

/* Costs are multiply-adds a token. Attention itself depends on the text's length and is counted
 * for texts of 64 tokens; the head runs once a text, which is counted as if it had 32 tokens. */
static void parts_make(struct nodes *nodes, const struct model_config *config) {
    static const char *const thirds[] = {"attention", "intermediate", "output"};
    const double H = config->hidden_size, I = config->intermediate_size;
    const double text_tokens = 32, attended = 64;
    nodes_add_part(nodes, "Embedding", NULL, embedding_get_bytes(&nodes->embedding), 8 * H);
    for (uint32_t i = 0; i < nodes->layers_count; i++) {
        const double rows = i + 1 == nodes->layers_count ? 1 / text_tokens : 1;
        const double costs[] = {2 * H * H + rows * (2 * H * H + 2 * attended * H), rows * H * I,
                                rows * H * I};
        (void)snprintf(nodes->names[i], PART_NAME_BYTES, "Encoder %u", (unsigned)i);
        for (uint32_t t = 0; t < ENCODER_THIRDS; t++)
            nodes_add_part(nodes, nodes->names[i], thirds[t],
                           encoder_layer_get_bytes(&nodes->layers[i], (enum encoder_third)t),
                           costs[t]);
    }
    nodes_head_list(nodes, text_tokens);
}

enum status nodes_open(const struct model *model, const char *dtype, struct nodes **out,
                       struct error *err) {
    *out = NULL;
    if (strcmp(dtype, "f32") != 0 && strcmp(dtype, "auto") != 0)
        return error_set(err, STATUS_UNSUPPORTED, "dtype \"%s\" is not supported: use f32 or auto",
                         dtype);
    const struct model_config *config = model_get_config(model);
    const struct model_weights *weights = model_get_weights(model);
    const struct kernels *kernels = kernels_best();
    struct nodes *nodes = calloc(1, sizeof *nodes);
    enum status status = STATUS_NO_MEMORY;
    if (!nodes)
        return error_set(err, status, "no memory for the model's parts");
    nodes->model = model;
    nodes->hidden_size = config->hidden_size;
    nodes->intermediate_size = config->intermediate_size;
    nodes->layers = calloc((size_t)config->layers_count + 1, sizeof *nodes->layers);
    nodes->parts =
        calloc((size_t)config->layers_count * ENCODER_THIRDS + PARTS_AROUND, sizeof *nodes->parts);
    nodes->names = calloc((size_t)config->layers_count + 1, sizeof *nodes->names);
    if (!nodes->layers || !nodes->parts || !nodes->names) {
        error_set(err, status, "no memory for the model's parts");
        goto done;
    }
    status = linear_set_open(GEMM_F32, kernels, GEMM_ALL_BLOCKS, &nodes->linears, err);
    if (status == STATUS_OK)
        status = embedding_open(kernels, config, weights, &nodes->embedding, err);
    if (status == STATUS_OK)
        status = layers_open(nodes, kernels, config, weights, err);
    if (status == STATUS_OK)
        status = nodes_head_open(nodes, kernels, err);
    if (status == STATUS_OK)
        parts_make(nodes, config);
done:
    if (status == STATUS_OK)
        *out = nodes;
    else
        nodes_close(nodes);
    return status;
}

void nodes_close(struct nodes *nodes) {
    if (!nodes)
        return;
    nodes_head_close(nodes);
    for (uint32_t i = 0; i < nodes->layers_count; i++)
        encoder_layer_close(&nodes->layers[i]);
    embedding_close(&nodes->embedding);
    linear_set_close(nodes->linears);
    free(nodes->names);
    free(nodes->parts);
    free(nodes->layers);
    free(nodes);
}

const struct part *nodes_parts(const struct nodes *nodes, uint32_t *count) {
    *count = nodes->parts_count;
    return nodes->parts;
}

void nodes_set_all_rows(struct nodes *nodes, bool all_rows) {
    nodes->all_rows = all_rows;
}

void nodes_set_decoder_chunks(struct nodes *nodes, uint32_t chunks) {
    nodes->decoder_chunks = chunks;
}

uint32_t nodes_outputs_width(const struct nodes *nodes) {
    return nodes->classifier ? linear_get_outputs(nodes->classifier) : 0;
}
