/* encoding.c: growth and release of an encoding's arrays. */
#include "engine/text/encoding.h"

#include <stdlib.h>
#include <string.h>

void encoding_init(struct encoding *encoding) {
    memset(encoding, 0, sizeof *encoding);
}

void encoding_free(struct encoding *encoding) {
    if (encoding == NULL) {
        return;
    }
    free(encoding->ids);
    free(encoding->type_ids);
    free(encoding->segments);
    free(encoding->specials);
    free(encoding->starts);
    free(encoding->ends);
    encoding_init(encoding);
}

static bool grow(void **array, size_t count, size_t item_bytes) {
    void *grown = reallocarray(*array, count, item_bytes);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    return true;
}

enum status encoding_reserve(struct encoding *encoding, uint32_t count) {
    if (count <= encoding->capacity) {
        return STATUS_OK;
    }
    /* Half as much again, so that texts that get longer bit by bit do not copy each time. */
    uint32_t capacity = count <= UINT32_MAX / 3 * 2 ? count + count / 2 : count;
    if (!grow((void **)&encoding->ids, capacity, sizeof *encoding->ids) ||
        !grow((void **)&encoding->type_ids, capacity, sizeof *encoding->type_ids) ||
        !grow((void **)&encoding->segments, capacity, sizeof *encoding->segments) ||
        !grow((void **)&encoding->specials, capacity, sizeof *encoding->specials) ||
        !grow((void **)&encoding->starts, capacity, sizeof *encoding->starts) ||
        !grow((void **)&encoding->ends, capacity, sizeof *encoding->ends)) {
        return STATUS_NO_MEMORY;
    }
    encoding->capacity = capacity;
    return STATUS_OK;
}
