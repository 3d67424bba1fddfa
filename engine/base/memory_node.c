/* memory_node.c: binds ranges of pages to a NUMA node by libnuma's mbind(). */
#include "engine/base/memory_node.h"

#include <limits.h>
#include <numa.h>
#include <numaif.h>
#include <stdint.h>
#include <unistd.h>

enum { MASK_BITS = MEMORY_NODES_MAX, WORD_BITS = sizeof(unsigned long) * CHAR_BIT };

int memory_node_usable(int node) {
    if (node < 0 || node >= MEMORY_NODES_MAX || numa_available() < 0 || numa_max_node() < 1 ||
        node > numa_max_node())
        return MEMORY_NODE_ANY;
    return node;
}

void memory_node_bind(void *start, size_t bytes, int node) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t skip = -(uintptr_t)start & (page - 1);
    if (memory_node_usable(node) == MEMORY_NODE_ANY || bytes < skip)
        return;
    const size_t whole = (bytes - skip) & ~(page - 1);
    unsigned long mask[MASK_BITS / WORD_BITS] = {0};
    mask[(unsigned)node / WORD_BITS] = 1UL << ((unsigned)node % WORD_BITS);
    /* The kernel reads one bit less than it is told. A refusal leaves the default: first touch. */
    if (whole > 0)
        (void)mbind((char *)start + skip, whole, MPOL_PREFERRED, mask, MASK_BITS + 1, MPOL_MF_MOVE);
}
