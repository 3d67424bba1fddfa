/* pieces.h: a growing list of byte strings that lie end to end, so that the bytes of all of them
 * are their join. What the decoder's steps read and write. */
#ifndef BERTD_TEXT_PIECES_H
#define BERTD_TEXT_PIECES_H

#include <stddef.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

struct pieces {
    char *bytes;
    size_t bytes_count, bytes_capacity;
    size_t *ends; /* [count] one past each piece's last byte */
    size_t count, capacity;
};

void pieces_init(struct pieces *pieces);
void pieces_free(struct pieces *pieces);

/* Appends bytes to the piece that is open, which pieces_close() ends. Errors: NO_MEMORY;
 * INPUT_TOO_LONG when all bytes together would pass LIMIT_DECODED_BYTES. */
enum status pieces_append(struct pieces *pieces, struct view bytes);
enum status pieces_close(struct pieces *pieces);

/* Forgets what the list holds and keeps its memory. */
void pieces_clear(struct pieces *pieces);

/* A closed piece; good until the list changes. */
struct view pieces_at(const struct pieces *pieces, size_t index);

#endif
