/* nodes.c: opens the model's parts as the flow knows them: the products' shapes, and the list that
 * plans are made from. */
#include "engine/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/nodes_internal.h"

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
    }
    return STATUS_OK;
}

struct part *nodes_add_part(struct nodes *nodes, const char *name, uint64_t weights_bytes) {
    struct part *part = &nodes->parts[nodes->parts_count++];
    *part = (struct part){
        .name = name,
        .weights_bytes = weights_bytes,
        .handover_bytes = nodes->hidden_size * (uint32_t)sizeof(float),
    };
    return part;
}

static void parts_make(struct nodes *nodes) {
    static const char *const thirds[] = {"attention", "intermediate", "output"};
    nodes_add_part(nodes, "Embedding", embedding_get_bytes(&nodes->embedding));
    for (uint32_t i = 0; i < nodes->layers_count; i++) {
        (void)snprintf(nodes->names[i], PART_NAME_BYTES, "Encoder %u", (unsigned)i);
        for (uint32_t t = 0; t < ENCODER_THIRDS; t++) {
            const struct encoder_layer *layer = &nodes->layers[i];
            struct part *part = nodes_add_part(
                nodes, nodes->names[i], encoder_layer_get_bytes(layer, (enum encoder_third)t));
            part->third = thirds[t];
            if (t == ENCODER_INTERMEDIATE)
                part->handover_bytes += nodes->intermediate_size * (uint32_t)sizeof(float);
        }
    }
    nodes_head_list(nodes);
}

/* By enum gemm_dtype. */
static const char *const dtype_names[] = {"f32", "bf16", "int8"};

static enum status dtype_choose(const char *name, enum gemm_dtype *out, struct error *err) {
    *out = GEMM_F32;
    if (strcmp(name, "auto") == 0) {
        *out = gemm_has_dtype(GEMM_BF16) ? GEMM_BF16 : GEMM_F32;
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++) {
        if (strcmp(name, dtype_names[i]) != 0)
            continue;
        *out = (enum gemm_dtype)i;
        const char *refusal = gemm_get_refusal(*out);
        return refusal ? error_set(err, STATUS_UNSUPPORTED, "dtype %s: %s; use f32", name, refusal)
                       : STATUS_OK;
    }
    return error_set(err, STATUS_UNSUPPORTED,
                     "dtype \"%s\" is not supported: use f32, bf16, int8 or auto", name);
}

enum status nodes_open(const struct model *model, const char *dtype, struct nodes **out,
                       struct error *err) {
    return nodes_open_with(model, dtype, kernels_best(), out, err);
}

enum status nodes_open_with(const struct model *model, const char *dtype,
                            const struct kernels *kernels, struct nodes **out, struct error *err) {
    *out = NULL;
    enum gemm_dtype type;
    if (dtype_choose(dtype, &type, err) != STATUS_OK)
        return STATUS_UNSUPPORTED;
    const struct model_config *config = model_get_config(model);
    const struct model_weights *weights = model_get_weights(model);
    struct nodes *nodes = calloc(1, sizeof *nodes);
    enum status status = STATUS_NO_MEMORY;
    if (!nodes)
        return error_set(err, status, "no memory for the model's parts");
    nodes->model = model;
    nodes->dtype = type;
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
    status = linear_set_open(type, kernels, GEMM_ALL_BLOCKS, &nodes->linears, err);
    if (status == STATUS_OK)
        status = embedding_open(kernels, config, weights, &nodes->embedding, err);
    if (status == STATUS_OK)
        status = layers_open(nodes, kernels, config, weights, err);
    if (status == STATUS_OK) /* the head is a small part of the work, and all of the last digits */
        linear_set_use(nodes->linears, GEMM_F32);
    if (status == STATUS_OK)
        status = nodes_head_open(nodes, kernels, err);
    if (status == STATUS_OK)
        parts_make(nodes);
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

const char *nodes_get_dtype(const struct nodes *nodes) {
    return dtype_names[nodes->dtype];
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
    if (nodes->decoder)
        nodes->parts[nodes->parts_count - 1].chunks =
            mask_decoder_get_chunks(nodes->decoder, chunks);
}

uint32_t nodes_outputs_width(const struct nodes *nodes) {
    return nodes->classifier ? linear_get_outputs(nodes->classifier) : 0;
}
