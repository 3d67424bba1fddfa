/* cpus.h: how many cores this process may use: the affinity mask, cut by the cgroup's quota.
 *
 * The host's core count never matters. A quota is rounded down to whole cores, at least one: 1.5
 * cores as two busy threads would be stopped for a part of every period. */
#ifndef BERTD_BASE_CPUS_H
#define BERTD_BASE_CPUS_H

#include <stddef.h>
#include <stdint.h>

enum { CPUS_MAX = 1024, CPUS_REASON_BYTES = 160 };

struct cpus {
    uint32_t cores;                 /* threads that make sense: at least 1 */
    uint32_t affinity_count;        /* CPUs of the affinity mask */
    uint16_t affinity[CPUS_MAX];    /* their numbers, ascending */
    double quota;                   /* cores that the cgroup grants; 0: no quota */
    char reason[CPUS_REASON_BYTES]; /* one sentence for the log */
};

/* Where the kernel tells it. A test puts files of its own in their place. */
struct cpus_paths {
    const char *self_cgroup; /* "/proc/self/cgroup" */
    const char *cgroup_root; /* "/sys/fs/cgroup" */
};

/* `paths` NULL: the kernel's own. Files that are absent or unreadable mean no quota. The least
 * quota on the way from the process's own group up to the root counts, of version 2 (cpu.max) and
 * of version 1 (cpu.cfs_quota_us, cpu.cfs_period_us). */
void cpus_find(const struct cpus_paths *paths, struct cpus *out);

/* The affinity mask as text, "0-3,8"; cut to its room. */
void cpus_to_text(const struct cpus *cpus, char *out, size_t room);

#endif
