/* pieces.c: growth of a list of byte strings; see pieces.h. */
#include "engine/text/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"

void pieces_init(struct pieces *pieces) {
    memset(pieces, 0, sizeof *pieces);
}

void pieces_free(struct pieces *pieces) {
    if (pieces != NULL) {
        free(pieces->bytes);
        free(pieces->ends);
        pieces_init(pieces);
    }
}

enum status pieces_append(struct pieces *pieces, struct view bytes) {
    if (bytes.bytes > LIMIT_DECODED_BYTES - pieces->bytes_count)
        return STATUS_INPUT_TOO_LONG;
    size_t needed = pieces->bytes_count + bytes.bytes;
    if (needed > pieces->bytes_capacity) {
        size_t capacity = needed + needed / 2 + 64;
        char *grown = realloc(pieces->bytes, capacity);
        if (grown == NULL)
            return STATUS_NO_MEMORY;
        pieces->bytes = grown;
        pieces->bytes_capacity = capacity;
    }
    if (bytes.bytes > 0)
        memcpy(pieces->bytes + pieces->bytes_count, bytes.data, bytes.bytes);
    pieces->bytes_count = needed;
    return STATUS_OK;
}

enum status pieces_close(struct pieces *pieces) {
    if (pieces->count == pieces->capacity) {
        size_t capacity = pieces->capacity + pieces->capacity / 2 + 16;
        size_t *grown = reallocarray(pieces->ends, capacity, sizeof *grown);
        if (grown == NULL)
            return STATUS_NO_MEMORY;
        pieces->ends = grown;
        pieces->capacity = capacity;
    }
    pieces->ends[pieces->count++] = pieces->bytes_count;
    return STATUS_OK;
}

void pieces_clear(struct pieces *pieces) {
    pieces->bytes_count = 0;
    pieces->count = 0;
}

struct view pieces_at(const struct pieces *pieces, size_t index) {
    if (pieces->bytes == NULL)
        return view_of("");
    size_t start = index == 0 ? 0 : pieces->ends[index - 1];
    return (struct view){pieces->bytes + start, pieces->ends[index] - start};
}
