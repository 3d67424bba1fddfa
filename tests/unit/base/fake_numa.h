/* fake_numa.h: stands in for libnuma, as a machine of so many nodes, and keeps what is bound to
 * which node. Included by one file of a test program. */
#ifndef BERTD_TESTS_FAKE_NUMA_H
#define BERTD_TESTS_FAKE_NUMA_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_BINDINGS_MAX = 256 };

struct fake_binding {
    char *start;
    size_t bytes;
    int node;
};

static struct fake_binding fake_bindings[FAKE_BINDINGS_MAX];
static uint32_t fake_bindings_count;
static int fake_nodes; /* 0: the library is there, the kernel's interface is not */
static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

/* Forgets what was bound. */
static inline void fake_numa_set(int nodes) {
    fake_nodes = nodes;
    fake_bindings_count = 0;
}

/* Bytes that were bound to a node. */
static inline size_t fake_numa_bytes(int node) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < fake_bindings_count; i++)
        bytes += fake_bindings[i].node == node ? fake_bindings[i].bytes : 0;
    return bytes;
}

/* The node that an address was bound to last, or -1. */
static inline int fake_numa_node_of(const void *address) {
    const char *at = address;
    int node = -1;
    for (uint32_t i = 0; i < fake_bindings_count; i++)
        if (at >= fake_bindings[i].start && at < fake_bindings[i].start + fake_bindings[i].bytes)
            node = fake_bindings[i].node;
    return node;
}

int numa_available(void);
int numa_max_node(void);
long mbind(void *start, unsigned long bytes, int mode, const unsigned long *mask,
           unsigned long maxnode, unsigned flags);

int numa_available(void) {
    return fake_nodes > 0 ? 0 : -1;
}

int numa_max_node(void) {
    return fake_nodes - 1;
}

/* Mode 1 is "preferred", flag 2 moves pages: what is asked for in every case. */
long mbind(void *start, unsigned long bytes, int mode, const unsigned long *mask,
           unsigned long maxnode, unsigned flags) {
    if (mode != 1 || flags != 2 || maxnode != 65 || (uintptr_t)start % 4096 || bytes % 4096)
        return -1;
    pthread_mutex_lock(&fake_lock);
    if (fake_bindings_count < FAKE_BINDINGS_MAX)
        fake_bindings[fake_bindings_count++] =
            (struct fake_binding){start, bytes, __builtin_ctzl(*mask)};
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

#endif
