/* memory_node.h: which NUMA node's memory the pages of a range lie in. The one file that sees
 * libnuma.
 *
 * By default Linux takes a page from the node of the CPU that touches it first. That is wrong where
 * one thread fills what another reads, such as packed weights; this binds a range to the node of
 * its readers. It is a preference: when the node is full, pages come from another one.
 *
 * Where there is one node, or the kernel does not let the process ask (a container's filter may
 * not), nothing is bound and every node is MEMORY_NODE_ANY. */
#ifndef BERTD_BASE_MEMORY_NODE_H
#define BERTD_BASE_MEMORY_NODE_H

#include <stddef.h>

enum { MEMORY_NODE_ANY = -1, MEMORY_NODES_MAX = 64 };

/* The node itself where memory can be bound to it, else MEMORY_NODE_ANY. */
int memory_node_usable(int node);

/* Binds the whole pages inside the range to the node, and moves there those that have been touched
 * already. Nothing happens for a node that is not usable. */
void memory_node_bind(void *start, size_t bytes, int node);

#endif
