/* trie.h: byte strings to numbers, walked byte by byte; under vocabularies and added tokens.
 *
 * Nodes are numbers, the root is 0. Edges live in one open hash table keyed by (node, byte), so a
 * step is one probe and building is linear. Immutable once built; then any thread may walk it. */
#ifndef BERTD_TEXT_TRIE_H
#define BERTD_TEXT_TRIE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

enum { TRIE_ROOT = 0, TRIE_NODES_MAX = 1 << 24 };
#define TRIE_NONE UINT32_MAX

struct trie_edge {
    uint32_t key;   /* node << 8 | byte */
    uint32_t child; /* 0: the slot is empty */
};

struct trie {
    struct trie_edge *edges;
    uint32_t edges_mask; /* slots - 1, slots is a power of two */
    int32_t *values;     /* [nodes] -1: no string ends here */
    uint32_t nodes_count, nodes_capacity;
};

void trie_init(struct trie *trie);
void trie_free(struct trie *trie);

/* Adds or replaces a string's value (0 or more). Errors: NO_MEMORY; UNSUPPORTED when there would
 * be more than TRIE_NODES_MAX nodes. */
enum status trie_insert(struct trie *trie, struct view string, int32_t value);

/* The value of a whole string, or -1. */
int32_t trie_find(const struct trie *trie, struct view string);

/* The node behind `byte`, or TRIE_NONE. `trie` has at least one string. */
static inline uint32_t trie_step(const struct trie *trie, uint32_t node, unsigned char byte) {
    uint32_t key = node << 8 | byte;
    uint32_t slot = (key * 0x9E3779B1u >> 7) & trie->edges_mask;
    while (trie->edges[slot].child != 0) {
        if (trie->edges[slot].key == key) {
            return trie->edges[slot].child;
        }
        slot = (slot + 1) & trie->edges_mask;
    }
    return TRIE_NONE;
}

/* The node behind all bytes of `string`, from `node`, or TRIE_NONE. */
uint32_t trie_walk(const struct trie *trie, uint32_t node, struct view string);

#endif
