/* weights_arena.c: chunks of mapped memory that start at a large page's border. */
#include "engine/compute/weights_arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "engine/base/size.h"

enum { PIECE_ALIGN = 64, LARGE_PAGE_BYTES = 2 << 20, CHUNK_BYTES = 16 << 20 };

struct weights_chunk {
    struct weights_chunk *next;
    void *mapping;
    size_t mapping_bytes;
    unsigned char *data; /* inside the mapping, at a large page's border */
    size_t bytes, used;
};

static struct weights_chunk *chunk_add(struct weights_arena *arena, size_t bytes) {
    size_t mapping_bytes;
    if (bytes < CHUNK_BYTES)
        bytes = CHUNK_BYTES;
    if (!size_add(bytes, LARGE_PAGE_BYTES, &mapping_bytes))
        return NULL;
    struct weights_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk)
        return NULL;
    void *mapping =
        mmap(NULL, mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) {
        free(chunk);
        return NULL;
    }
    const size_t skip = (size_t)(-(uintptr_t)mapping & (LARGE_PAGE_BYTES - 1));
    *chunk = (struct weights_chunk){
        .next = arena->chunks,
        .mapping = mapping,
        .mapping_bytes = mapping_bytes,
        .data = (unsigned char *)mapping + skip,
        .bytes = bytes,
    };
    arena->chunks = chunk;
    memory_node_bind(chunk->data, chunk->bytes, arena->node);
    /* Where the system has no large pages, small ones do. */
    (void)madvise(chunk->data, chunk->bytes, MADV_HUGEPAGE);
    return chunk;
}

void *weights_arena_alloc(struct weights_arena *arena, size_t bytes) {
    if (!size_add(bytes, PIECE_ALIGN - 1, &bytes))
        return NULL;
    bytes &= ~(size_t)(PIECE_ALIGN - 1);
    struct weights_chunk *chunk = arena->chunks;
    if (!chunk || chunk->bytes - chunk->used < bytes)
        chunk = chunk_add(arena, bytes);
    if (!chunk)
        return NULL;
    void *result = chunk->data + chunk->used;
    chunk->used += bytes;
    return result;
}

void weights_arena_free(struct weights_arena *arena) {
    if (!arena)
        return;
    for (struct weights_chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        (void)munmap(chunk->mapping, chunk->mapping_bytes);
        free(chunk);
    }
    arena->chunks = NULL;
}

uint64_t weights_arena_get_bytes(const struct weights_arena *arena) {
    uint64_t bytes = 0;
    for (const struct weights_chunk *chunk = arena->chunks; chunk; chunk = chunk->next)
        bytes += chunk->bytes;
    return bytes;
}
