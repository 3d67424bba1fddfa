/* nodes_run.c: runs parts of the model on a microbatch, in the working memory of one stage. */
#include <stdlib.h>

#include "engine/base/size.h"
#include "engine/nodes_internal.h"

struct scratch {
    struct encoder_scratch encoder;
    struct head_scratch head;
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

void nodes_run(const void *context, uint32_t first_part, uint32_t parts_count, void *scratch,
               struct microbatch *microbatch) {
    const struct nodes *nodes = context;
    struct scratch *s = scratch;
    const uint32_t thirds = nodes->layers_count * ENCODER_THIRDS, end = first_part + parts_count;
    for (uint32_t part = first_part; part < end; part++) {
        atomic_fetch_add_explicit(&microbatch->parts_done, 1, memory_order_relaxed);
        if (part == 0) {
            run_embedding(&nodes->embedding, s, microbatch);
        } else if (part <= thirds) {
            const uint32_t layer = (part - 1) / ENCODER_THIRDS;
            const uint32_t layer_end = 1 + (layer + 1) * ENCODER_THIRDS;
            const uint32_t last = (layer_end < end ? layer_end : end) - 1;
            run_layer(nodes, layer, (part - 1) % ENCODER_THIRDS, (last - 1) % ENCODER_THIRDS, s,
                      microbatch);
            part = last;
        } else {
            nodes_head_run(nodes, part - 1 - thirds, &s->encoder, &s->head, microbatch);
        }
    }
}

uint32_t nodes_intermediate_width(const struct nodes *nodes) {
    return nodes->intermediate_size;
}

/* Adds [rows, columns] floats, rounded up to a cache line, to the total; false on overflow. */
static bool reserve(size_t *total, size_t rows, size_t columns, size_t *offset) {
    size_t count;
    *offset = *total;
    return size_multiply(rows, columns, &count) && size_add(count, 15, &count) &&
           size_add(*total, count & ~(size_t)15, total);
}

enum status nodes_scratch_open(const struct nodes *nodes, uint32_t tokens_max, int node, void **out,
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
    memory_node_bind(scratch->memory, bytes, node);
    scratch->encoder = (struct encoder_scratch){
        .qkv = scratch->memory + qkv,
        .context = scratch->memory + context,
        .rows = scratch->memory + rows,
        .up = scratch->memory + up,
        .attention = scratch->memory + attention,
    };
    enum status status = linear_scratch_open(nodes->linears, memory_node_usable(node),
                                             &scratch->encoder.linear, err);
    if (status == STATUS_OK)
        status = nodes_head_scratch_open(nodes, &scratch->head, err);
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
    nodes_head_scratch_close(&s->head);
    linear_scratch_close(s->encoder.linear);
    free(s->memory);
    free(s);
}
