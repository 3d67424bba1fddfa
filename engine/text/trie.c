/* trie.c: building the nodes and the hash table of edges; see trie.h. */
#include "engine/text/trie.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

void trie_init(struct trie *trie) {
    memset(trie, 0, sizeof *trie);
}

void trie_free(struct trie *trie) {
    if (trie != NULL) {
        free(trie->nodes);
        free(trie->edges);
        trie_init(trie);
    }
}

static void place(struct trie_edge *edges, uint32_t mask, struct trie_edge edge) {
    uint32_t slot = (edge.key * 0x9E3779B1u >> 7) & mask;
    while (edges[slot].child != 0)
        slot = (slot + 1) & mask;
    edges[slot] = edge;
}

/* Makes room for one more edge; the table is at most half full, so that probes stay short. */
static enum status reserve_edge(struct trie *trie) {
    uint32_t slots = trie->edges == NULL ? 0 : trie->edges_mask + 1;
    if (trie->edges_count < slots / 2)
        return STATUS_OK;
    uint32_t grown = slots == 0 ? FIRST_SLOTS : slots * 2;
    struct trie_edge *edges = calloc(grown, sizeof *edges);
    if (edges == NULL)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < slots; i++)
        if (trie->edges[i].child != 0)
            place(edges, grown - 1, trie->edges[i]);
    free(trie->edges);
    trie->edges = edges;
    trie->edges_mask = grown - 1;
    return STATUS_OK;
}

static enum status add_node(struct trie *trie, uint32_t *out) {
    if (trie->nodes_count == TRIE_NODES_MAX)
        return STATUS_UNSUPPORTED;
    if (trie->nodes_count == trie->nodes_capacity) {
        uint32_t capacity = trie->nodes_capacity == 0 ? FIRST_SLOTS : trie->nodes_capacity * 2;
        struct trie_node *nodes = reallocarray(trie->nodes, capacity, sizeof *nodes);
        if (nodes == NULL)
            return STATUS_NO_MEMORY;
        trie->nodes = nodes;
        trie->nodes_capacity = capacity;
    }
    trie->nodes[trie->nodes_count] = (struct trie_node){.value = -1};
    *out = trie->nodes_count++;
    return STATUS_OK;
}

/* A new child of the node, which has none behind this byte. */
static enum status add_child(struct trie *trie, uint32_t node, unsigned char byte, uint32_t *out) {
    enum status status = reserve_edge(trie);
    if (status == STATUS_OK)
        status = add_node(trie, out);
    if (status != STATUS_OK)
        return status;
    if (trie->nodes[node].first == 0) {
        trie->nodes[node].first = *out << 8 | byte;
    } else {
        place(trie->edges, trie->edges_mask, (struct trie_edge){node << 8 | byte, *out});
        trie->edges_count++;
    }
    return STATUS_OK;
}

enum status trie_insert(struct trie *trie, struct view string, int32_t value) {
    uint32_t node = TRIE_ROOT;
    enum status status = reserve_edge(trie); /* a step needs a table */
    if (status == STATUS_OK && trie->nodes_count == 0)
        status = add_node(trie, &node);
    for (size_t i = 0; status == STATUS_OK && i < string.bytes; i++) {
        unsigned char byte = (unsigned char)string.data[i];
        uint32_t child = trie_step(trie, node, byte);
        if (child == TRIE_NONE)
            status = add_child(trie, node, byte, &child);
        node = child;
    }
    if (status == STATUS_OK)
        trie->nodes[node].value = value;
    return status;
}

uint32_t trie_walk(const struct trie *trie, uint32_t node, struct view string) {
    if (trie->nodes_count == 0)
        return TRIE_NONE;
    for (size_t i = 0; i < string.bytes && node != TRIE_NONE; i++)
        node = trie_step(trie, node, (unsigned char)string.data[i]);
    return node;
}

int32_t trie_find(const struct trie *trie, struct view string) {
    return trie_value(trie, trie_walk(trie, TRIE_ROOT, string));
}
