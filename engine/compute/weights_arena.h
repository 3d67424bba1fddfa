/* weights_arena.h: memory for packed weights in large pages where the system gives them.
 *
 * Large pages shorten the start (measured on the demo model: 35 ms instead of 50 ms, most of it
 * page faults) and spare address translations in every pass over the weights (1 %). Pieces are
 * taken one after the other and all given back together. The pages are bound to a memory node
 * before they are touched, so it does not matter which thread packs. One thread at a time. */
#ifndef BERTD_COMPUTE_WEIGHTS_ARENA_H
#define BERTD_COMPUTE_WEIGHTS_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/memory_node.h"

struct weights_chunk;

struct weights_arena {
    struct weights_chunk *chunks;
    int node; /* whose memory it takes, or MEMORY_NODE_ANY; set before the first piece */
};

/* `bytes` bytes aligned to 64, zeros; NULL when there is no memory. An arena without
 * chunks is empty. */
void *weights_arena_alloc(struct weights_arena *arena, size_t bytes);
void weights_arena_free(struct weights_arena *arena);

/* Of all chunks that the arena took from the system. */
uint64_t weights_arena_get_bytes(const struct weights_arena *arena);

#endif
