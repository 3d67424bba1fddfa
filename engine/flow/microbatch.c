/* microbatch.c: the arrays of a microbatch, made at start and reused for ever. */
#include "engine/flow/microbatch.h"

#include <stdlib.h>

#include "engine/base/size.h"

enum { MICROBATCH_ALIGN = 64 };

/* An aligned array, or NULL. */
static void *array_open(size_t rows, size_t columns, size_t size) {
    size_t count, bytes, rounded;
    if (!size_multiply(rows, columns, &count) || !size_multiply(count, size, &bytes) ||
        !size_add(bytes, MICROBATCH_ALIGN, &rounded))
        return NULL;
    return aligned_alloc(MICROBATCH_ALIGN, rounded & ~(size_t)(MICROBATCH_ALIGN - 1));
}

/* None of the products can overflow, since the arrays are there. */
static void arrays_bind(const struct microbatch_room *room, int node, struct microbatch *m) {
    const size_t tokens = room->tokens_max;
    memory_node_bind(m->hidden, tokens * room->width * sizeof *m->hidden, node);
    memory_node_bind(m->outputs, room->rows_max * (size_t)room->outputs_width * sizeof *m->outputs,
                     node);
    if (m->intermediate)
        memory_node_bind(m->intermediate,
                         tokens * room->intermediate_width * sizeof *m->intermediate, node);
}

enum status microbatch_open(const struct microbatch_room *room, int node, struct microbatch **out) {
    const uint32_t tokens_max = room->tokens_max, rows_max = room->rows_max;
    struct microbatch *microbatch = calloc(1, sizeof *microbatch);
    *out = microbatch;
    if (!microbatch)
        return STATUS_NO_MEMORY;
    microbatch->tokens_max = tokens_max;
    microbatch->rows_max = rows_max;
    microbatch->starts = array_open((size_t)rows_max + 1, 1, sizeof *microbatch->starts);
    microbatch->ids = array_open(tokens_max, 1, sizeof *microbatch->ids);
    microbatch->type_ids = array_open(tokens_max, 1, sizeof *microbatch->type_ids);
    microbatch->requests = array_open(rows_max, 1, sizeof(struct request *));
    microbatch->reads = array_open(tokens_max, 1, sizeof *microbatch->reads);
    microbatch->reads_starts =
        array_open((size_t)rows_max + 1, 1, sizeof *microbatch->reads_starts);
    microbatch->hidden = array_open(tokens_max, room->width, sizeof *microbatch->hidden);
    microbatch->outputs = array_open(rows_max, room->outputs_width, sizeof *microbatch->outputs);
    if (room->intermediate_width > 0)
        microbatch->intermediate =
            array_open(tokens_max, room->intermediate_width, sizeof *microbatch->intermediate);
    if ((room->intermediate_width > 0 && !microbatch->intermediate) || !microbatch->reads ||
        !microbatch->reads_starts || !microbatch->starts || !microbatch->ids ||
        !microbatch->type_ids || !microbatch->requests || !microbatch->hidden ||
        !microbatch->outputs) {
        microbatch_free(microbatch);
        *out = NULL;
        return STATUS_NO_MEMORY;
    }
    arrays_bind(room, node, microbatch);
    return STATUS_OK;
}

void microbatch_free(struct microbatch *microbatch) {
    if (!microbatch)
        return;
    free(microbatch->outputs);
    free(microbatch->intermediate);
    free(microbatch->hidden);
    free(microbatch->reads_starts);
    free(microbatch->reads);
    free(microbatch->requests);
    free(microbatch->type_ids);
    free(microbatch->ids);
    free(microbatch->starts);
    free(microbatch);
}
