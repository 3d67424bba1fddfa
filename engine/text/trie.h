/* trie.h: byte strings to numbers, walked byte by byte; under vocabularies and added tokens.
 *
 * Nodes are numbers, the root is 0. A node holds its first child itself; the others are edges in
 * one open hash table keyed by (node, byte). Most nodes have one child, and a string's new nodes
 * follow each other in memory, so that a step mostly touches what is at hand. Building is linear.
 * Immutable once built; then any thread may walk it. */
#ifndef BERTD_TEXT_TRIE_H
#define BERTD_TEXT_TRIE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

enum { TRIE_ROOT = 0, TRIE_NODES_MAX = 1 << 24 };
#define TRIE_NONE UINT32_MAX

struct trie_node {
    int32_t value;  /* -1: no string ends here */
    uint32_t first; /* first child << 8 | its byte; 0: no child */
};

struct trie_edge {
    uint32_t key;   /* node << 8 | byte */
    uint32_t child; /* 0: the slot is empty */
};

struct trie {
    struct trie_node *nodes;
    uint32_t nodes_count, nodes_capacity;
    struct trie_edge *edges; /* to children that are not the first */
    uint32_t edges_count;
    uint32_t edges_mask; /* slots - 1, slots is a power of two */
};

void trie_init(struct trie *trie);
void trie_free(struct trie *trie);

/* Adds or replaces a string's value (0 or more). Errors: NO_MEMORY; UNSUPPORTED when there would be
 * more than TRIE_NODES_MAX nodes. */
enum status trie_insert(struct trie *trie, struct view string, int32_t value);

/* The value of a whole string, or -1. */
int32_t trie_find(const struct trie *trie, struct view string);

/* The value of the string that ends at the node, which may be TRIE_NONE; or -1. */
static inline int32_t trie_value(const struct trie *trie, uint32_t node) {
    return node == TRIE_NONE ? -1 : trie->nodes[node].value;
}

/* The node behind `byte`, or TRIE_NONE. `trie` has at least one string. */
static inline uint32_t trie_step(const struct trie *trie, uint32_t node, unsigned char byte) {
    uint32_t first = trie->nodes[node].first;
    if (first == 0)
        return TRIE_NONE;
    if ((first & 0xFF) == byte)
        return first >> 8;
    uint32_t key = node << 8 | byte;
    uint32_t slot = (key * 0x9E3779B1u >> 7) & trie->edges_mask;
    while (trie->edges[slot].child != 0) {
        if (trie->edges[slot].key == key)
            return trie->edges[slot].child;
        slot = (slot + 1) & trie->edges_mask;
    }
    return TRIE_NONE;
}

/* The node behind all bytes of `string`, from `node`, or TRIE_NONE. */
uint32_t trie_walk(const struct trie *trie, uint32_t node, struct view string);

#endif
