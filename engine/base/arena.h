/* arena.h: memory that lives as long as one owner's piece of work and goes in one step.
 *
 * An arena is a list of blocks; arena_alloc() takes the next aligned bytes of the last one. It
 * never grows past the maximum it was made with. One thread at a time. */
#ifndef BERTD_BASE_ARENA_H
#define BERTD_BASE_ARENA_H

#include <stddef.h>

#include "engine/base/view.h"

struct arena_block;

struct arena {
    struct arena_block *first, *current;
    size_t used;        /* bytes taken from the current block */
    size_t bytes_total; /* bytes of all blocks */
    size_t bytes_max;   /* never more than this */
};

/* Makes an empty arena; allocates nothing yet. */
void arena_init(struct arena *arena, size_t bytes_max);

/* `bytes` bytes aligned to 64, contents undefined; NULL when the maximum or the system says no. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* As arena_alloc() for `count` items of `size` bytes, with the product checked, zeroed. */
void *arena_calloc(struct arena *arena, size_t count, size_t size);

/* A NUL-terminated copy of the text in the arena, or NULL. */
char *arena_copy(struct arena *arena, struct view text);

/* Gives all blocks back. The arena may be used again. NULL is allowed. */
void arena_free(struct arena *arena);

#endif
