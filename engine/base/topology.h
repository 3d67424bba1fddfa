/* topology.h: the CPUs that this process may use, and how they hang together: which of them are one
 * physical core, which share a last-level cache, which a memory (NUMA node).
 *
 * A thread of the pipeline fills a core's arithmetic units alone, so cores count, not CPUs: two
 * threads on the siblings (SMT) of one core take turns at the same units. */
#ifndef BERTD_BASE_TOPOLOGY_H
#define BERTD_BASE_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/cpus.h"
#include "engine/base/status.h"

enum { TOPOLOGY_SPEED_MAX = 1024, TOPOLOGY_REASON_BYTES = 240 };

struct topology_cpu {
    uint16_t cpu;     /* the kernel's number */
    uint16_t core;    /* physical core, 0..cores_count-1 in the order of first appearance */
    uint16_t sibling; /* 0: the core's first usable CPU, 1: its second, ... */
    uint16_t node;    /* NUMA node, the kernel's number */
    uint16_t l3;      /* 0..l3_count-1: CPUs with the same share a last-level cache */
    uint16_t speed;   /* of TOPOLOGY_SPEED_MAX, the machine's fastest; less: a small core */
};

struct topology {
    uint32_t cores;      /* that may be busy at a time: cores_count, cut by the quota; 1 or more */
    uint32_t cpus_count; /* 1 or more; ascending by number */
    struct topology_cpu cpus[CPUS_MAX];
    uint32_t cores_count, l3_count, nodes_count; /* different ones among the usable CPUs */
    uint64_t l2_bytes; /* of one core (its share where cores share one), the least; 0: unknown */
    uint64_t l3_bytes; /* of one L3 group, the least; 0: unknown or none */
    bool imagined;     /* made by topology_make() */
    char reason[TOPOLOGY_REASON_BYTES]; /* why there are so many cores, one sentence */
};

/* Where the kernel tells it. A test puts a tree of its own in their place. */
struct topology_paths {
    const char *cpu_dir;  /* "/sys/devices/system/cpu" */
    const char *node_dir; /* "/sys/devices/system/node" */
};

/* `paths` NULL: the kernel's own; `cpus`: from cpus_find(). What is absent or unreadable there
 * counts as the plainest: each CPU a core, one node, one L3 for each node, sizes unknown. */
void topology_find(const struct topology_paths *paths, const struct cpus *cpus,
                   struct topology *out);

/* What is to be imagined; 0: as the machine that is here for cores and caches, one for the rest. */
struct topology_wish {
    uint32_t cores, smt, nodes;  /* smt: CPUs of each core */
    uint64_t l2_bytes, l3_bytes; /* of a core; of a node */
};

/* A machine by its numbers: cores share out evenly over the nodes, each node has one L3, CPU
 * c + t * cores is sibling t of core c. Error: INVALID_VALUE (names the option --cores, --smt or
 * --nodes and what is allowed). */
enum status topology_make(const struct topology_wish *wish, const struct topology *here,
                          struct topology *out, struct error *err);

#endif
