/* arena.c: a list of blocks, each at least twice as large as the one before up to a megabyte. */
#include "engine/base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#include "engine/base/size.h"

enum { ARENA_ALIGN = 64, ARENA_BLOCK_BYTES_MIN = 4096, ARENA_BLOCK_BYTES_MAX = 1 << 20 };

struct arena_block {
    struct arena_block *next;
    size_t bytes; /* usable bytes at data */
    _Alignas(ARENA_ALIGN) unsigned char data[];
};

void arena_init(struct arena *arena, size_t bytes_max) {
    *arena = (struct arena){.bytes_max = bytes_max};
}

static struct arena_block *block_add(struct arena *arena, size_t bytes) {
    size_t want =
        arena->bytes_total < ARENA_BLOCK_BYTES_MIN ? ARENA_BLOCK_BYTES_MIN : arena->bytes_total;
    if (want > ARENA_BLOCK_BYTES_MAX)
        want = ARENA_BLOCK_BYTES_MAX;
    if (want < bytes)
        want = bytes;
    size_t left = arena->bytes_max - arena->bytes_total, whole;
    if (want > left)
        want = left & ~(size_t)(ARENA_ALIGN - 1);
    if (want < bytes || !size_add(want, sizeof(struct arena_block), &whole))
        return NULL;
    struct arena_block *block = aligned_alloc(ARENA_ALIGN, whole);
    if (!block)
        return NULL;
    block->next = NULL;
    block->bytes = want;
    arena->bytes_total += want;
    return block;
}

void *arena_alloc(struct arena *arena, size_t bytes) {
    size_t rounded;
    if (!size_add(bytes, ARENA_ALIGN - 1, &rounded))
        return NULL;
    rounded &= ~(size_t)(ARENA_ALIGN - 1);
    if (rounded == 0)
        rounded = ARENA_ALIGN;
    if (!arena->current || arena->current->bytes - arena->used < rounded) {
        struct arena_block *block = block_add(arena, rounded);
        if (!block)
            return NULL;
        if (arena->current)
            arena->current->next = block;
        else
            arena->first = block;
        arena->current = block;
        arena->used = 0;
    }
    void *result = arena->current->data + arena->used;
    arena->used += rounded;
    return result;
}

void *arena_calloc(struct arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (!size_multiply(count, size, &bytes))
        return NULL;
    void *result = arena_alloc(arena, bytes);
    if (result)
        memset(result, 0, bytes);
    return result;
}

char *arena_copy(struct arena *arena, struct view text) {
    size_t bytes;
    if (!size_add(text.bytes, 1, &bytes))
        return NULL;
    char *copy = arena_alloc(arena, bytes);
    if (!copy)
        return NULL;
    if (text.bytes > 0)
        memcpy(copy, text.data, text.bytes);
    copy[text.bytes] = '\0';
    return copy;
}

void arena_free(struct arena *arena) {
    if (!arena)
        return;
    for (struct arena_block *block = arena->first, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    arena_init(arena, arena->bytes_max);
}
