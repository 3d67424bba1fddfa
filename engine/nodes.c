/* nodes.c: the parts of the model as the flow runs them: packed weights that all replicas share,
 * and functions over a microbatch that work in the stage's scratch. */
#include "engine/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/size.h"
#include "engine/compute/embedding.h"
#include "engine/compute/encoder.h"
#include "engine/compute/head.h"

enum { PART_NAME_BYTES = 32, PARTS_AROUND = 3 /* Embedding, Pooler, Classifier */ };

struct nodes {
    const struct model *model;
    struct linear_set *linears;
    struct embedding embedding;
    struct encoder_layer *layers; /* [L] */
    uint32_t layers_count;        /* those that are open */
    struct pooler pooler;
    struct linear *classifier;
    struct part *parts; /* [L * ENCODER_THIRDS + PARTS_AROUND] */
    char (*names)[PART_NAME_BYTES];
    uint32_t parts_count;
    bool all_rows; /* of the last layer */
    uint32_t hidden_size, intermediate_size;
};

struct scratch {
    struct encoder_scratch encoder;
    float *memory; /* all float arrays of the encoder's in one piece */
};

static void run_embedding(const struct embedding *embedding, struct scratch *s,
                          struct microbatch *microbatch) {
    for (uint32_t b = 0; b < microbatch->rows; b++) {
        const uint32_t start = microbatch->starts[b], length = microbatch->starts[b + 1] - start;
        embedding_run(embedding, microbatch->ids + start, microbatch->type_ids + start, length,
                      s->encoder.rows, microbatch->hidden + (size_t)start * embedding->width);
    }
}

/* The last layer computes nothing that the head does not read. */
static void run_layer(const struct nodes *nodes, uint32_t layer, enum encoder_third first,
                      enum encoder_third last, struct scratch *s, struct microbatch *microbatch) {
    struct encoder_batch batch = {
        .starts = microbatch->starts,
        .texts = microbatch->rows,
        .hidden = microbatch->hidden,
        .intermediate = microbatch->intermediate,
    };
    if (layer + 1 == nodes->layers_count && !nodes->all_rows) {
        batch.reads = microbatch->reads;
        batch.reads_starts = microbatch->reads_starts;
    }
    encoder_layer_run(&nodes->layers[layer], &s->encoder, &batch, first, last);
}

static void run_head(const struct nodes *nodes, uint32_t part, struct scratch *s,
                     struct microbatch *microbatch) {
    if (part == 0)
        pooler_run(&nodes->pooler, s->encoder.linear, microbatch->starts, microbatch->rows,
                   s->encoder.rows, microbatch->hidden);
    else /* the pooler left one row for each text */
        linear_run(nodes->classifier, s->encoder.linear, microbatch->hidden, microbatch->rows,
                   microbatch->outputs);
}

void nodes_run(const void *context, uint32_t first_part, uint32_t parts_count, void *scratch,
               struct microbatch *microbatch) {
    const struct nodes *nodes = context;
    const uint32_t thirds = nodes->layers_count * ENCODER_THIRDS, end = first_part + parts_count;
    for (uint32_t part = first_part; part < end; part++) {
        if (part == 0) {
            run_embedding(&nodes->embedding, scratch, microbatch);
        } else if (part <= thirds) {
            const uint32_t layer = (part - 1) / ENCODER_THIRDS;
            const uint32_t layer_end = 1 + (layer + 1) * ENCODER_THIRDS;
            const uint32_t last = (layer_end < end ? layer_end : end) - 1;
            run_layer(nodes, layer, (part - 1) % ENCODER_THIRDS, (last - 1) % ENCODER_THIRDS,
                      scratch, microbatch);
            part = last;
        } else {
            run_head(nodes, part - 1 - thirds, scratch, microbatch);
        }
    }
}

uint32_t nodes_intermediate_width(const struct nodes *nodes) {
    return nodes->intermediate_size;
}

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

static enum status head_open(struct nodes *nodes, const struct kernels *kernels,
                             const struct model_weights *weights, struct error *err) {
    const struct linear_weights *classifier[] = {&weights->classifier};
    enum status status = pooler_open(nodes->linears, kernels, weights, &nodes->pooler, err);
    if (status != STATUS_OK)
        return status;
    drop_linear(nodes->model, &weights->pooler);
    return linear_open(nodes->linears, classifier, 1, GEMM_STORE, &nodes->classifier, err);
}

static void part_add(struct nodes *nodes, const char *name, const char *third,
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
    const double H = config->hidden_size, I = config->intermediate_size, K = config->labels_count;
    const double text_tokens = 32, attended = 64;
    part_add(nodes, "Embedding", NULL, embedding_get_bytes(&nodes->embedding), 8 * H);
    for (uint32_t i = 0; i < nodes->layers_count; i++) {
        const double rows = i + 1 == nodes->layers_count ? 1 / text_tokens : 1;
        const double costs[] = {2 * H * H + rows * (2 * H * H + 2 * attended * H), rows * H * I,
                                rows * H * I};
        (void)snprintf(nodes->names[i], PART_NAME_BYTES, "Encoder %u", (unsigned)i);
        for (uint32_t t = 0; t < ENCODER_THIRDS; t++)
            part_add(nodes, nodes->names[i], thirds[t],
                     encoder_layer_get_bytes(&nodes->layers[i], (enum encoder_third)t), costs[t]);
    }
    part_add(nodes, "Pooler", NULL, linear_get_bytes(nodes->pooler.dense), H * H / text_tokens);
    part_add(nodes, "Classifier", NULL, linear_get_bytes(nodes->classifier), H * K / text_tokens);
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
        status = head_open(nodes, kernels, weights, err);
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
    linear_close(nodes->classifier);
    pooler_close(&nodes->pooler);
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

/* Adds [rows, columns] floats, rounded up to a cache line, to the total; false on overflow. */
static bool reserve(size_t *total, size_t rows, size_t columns, size_t *offset) {
    size_t count;
    *offset = *total;
    return size_multiply(rows, columns, &count) && size_add(count, 15, &count) &&
           size_add(*total, count & ~(size_t)15, total);
}

enum status nodes_scratch_open(const struct nodes *nodes, uint32_t tokens_max, void **out,
                               struct error *err) {
    *out = NULL;
    const size_t H = nodes->hidden_size;
    size_t total = 0, qkv, context, up, rows, attention = 0, bytes, attention_floats = 0;
    if (nodes->layers_count > 0)
        attention_floats = attention_scratch_floats(&nodes->layers[0].attention, tokens_max);
    struct scratch *scratch = calloc(1, sizeof *scratch);
    if (!scratch || !reserve(&total, tokens_max, 3 * H, &qkv) ||
        !reserve(&total, tokens_max, H, &context) ||
        !reserve(&total, GEMM_ROWS_MAX, nodes->intermediate_size, &up) ||
        !reserve(&total, GEMM_ROWS_MAX, H, &rows) ||
        !reserve(&total, attention_floats, 1, &attention) ||
        !size_multiply(total, sizeof(float), &bytes) ||
        !(scratch->memory = aligned_alloc(64, bytes))) {
        free(scratch);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a stage of %u tokens", tokens_max);
    }
    scratch->encoder = (struct encoder_scratch){
        .qkv = scratch->memory + qkv,
        .context = scratch->memory + context,
        .rows = scratch->memory + rows,
        .up = scratch->memory + up,
        .attention = scratch->memory + attention,
    };
    enum status status = linear_scratch_open(nodes->linears, &scratch->encoder.linear, err);
    if (status == STATUS_OK)
        *out = scratch;
    else
        nodes_scratch_close(nodes, scratch);
    return status;
}

void nodes_scratch_close(const struct nodes *nodes, void *scratch) {
    (void)nodes;
    struct scratch *s = scratch;
    if (!s)
        return;
    linear_scratch_close(s->encoder.linear);
    free(s->memory);
    free(s);
}
