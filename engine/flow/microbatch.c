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

enum status microbatch_open(uint32_t tokens_max, uint32_t rows_max, uint32_t width,
                            uint32_t outputs_width, struct microbatch **out) {
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
    microbatch->hidden = array_open(tokens_max, width, sizeof *microbatch->hidden);
    microbatch->outputs = array_open(rows_max, outputs_width, sizeof *microbatch->outputs);
    if (!microbatch->starts || !microbatch->ids || !microbatch->type_ids || !microbatch->requests ||
        !microbatch->hidden || !microbatch->outputs) {
        microbatch_free(microbatch);
        *out = NULL;
        return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

void microbatch_free(struct microbatch *microbatch) {
    if (!microbatch)
        return;
    free(microbatch->outputs);
    free(microbatch->hidden);
    free(microbatch->requests);
    free(microbatch->type_ids);
    free(microbatch->ids);
    free(microbatch->starts);
    free(microbatch);
}
