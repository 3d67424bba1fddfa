/* topology.c: reads the kernel's description of CPUs, caches and nodes, or makes one by numbers. */
#include "engine/base/topology.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 8192, CACHES_MAX = 10, NODES_MAX = 256, NONE = UINT16_MAX };

/* Reads DIR/NAME as a C string. False when it cannot be read or is empty. */
static bool text_read(const char *dir, const char *name, char *out, size_t room) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(out, 1, room - 1, file);
    out[n] = '\0';
    fclose(file);
    return n > 0;
}

static bool number_read(const char *dir, const char *name, unsigned long *out) {
    char text[64], *end;
    if (!text_read(dir, name, text, sizeof text))
        return false;
    *out = strtoul(text, &end, 10);
    return end != text;
}

/* A cache's size, "1024K" or "32M". 0: unknown. */
static uint64_t size_read(const char *dir) {
    char text[64], *end;
    if (!text_read(dir, "size", text, sizeof text) || text[0] == '-')
        return 0;
    errno = 0;
    uint64_t size = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    return errno != 0 || size > UINT64_MAX >> shift ? 0 : size << shift;
}

/* The CPUs of a list such as "0-3,8", as members of a set. */
struct cpu_set_of {
    bool has[CPUS_MAX];
    uint32_t count; /* CPUs of CPUS_MAX or above do not count */
};

/* False when the file is absent or no list. */
static bool list_read(const char *dir, const char *name, struct cpu_set_of *out) {
    char text[TEXT_BYTES], *end;
    *out = (struct cpu_set_of){.count = 0};
    if (!text_read(dir, name, text, sizeof text))
        return false;
    for (const char *at = text;; at = end + 1) {
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at)
            return false;
        if (*end == '-') {
            at = end + 1;
            last = strtoul(at, &end, 10);
            if (end == at || last < first)
                return false;
        }
        for (unsigned long cpu = first; cpu <= last && cpu < CPUS_MAX; cpu++) {
            out->count += !out->has[cpu];
            out->has[cpu] = true;
        }
        if (*end != ',')
            return true;
    }
}

/* What a reading pass works with. */
struct reading {
    const struct topology_paths *paths;
    struct topology *out;
    struct cpu_set_of list;
};

/* DIR of one CPU; false when the path is too long. */
static bool cpu_dir(const struct reading *r, uint16_t cpu, char out[PATH_MAX]) {
    return snprintf(out, PATH_MAX, "%s/cpu%u", r->paths->cpu_dir, cpu) < PATH_MAX;
}

/* Of CPUs that were not given a core yet, those in the list become one. */
static void core_add(struct reading *r, uint32_t first, bool listed) {
    struct topology *out = r->out;
    uint16_t siblings = 0;
    for (uint32_t i = first; i < out->cpus_count; i++) {
        struct topology_cpu *cpu = &out->cpus[i];
        if (cpu->core == NONE && (i == first || (listed && r->list.has[cpu->cpu]))) {
            cpu->core = (uint16_t)out->cores_count;
            cpu->sibling = siblings++;
        }
    }
    out->cores_count++;
}

static void cores_read(struct reading *r) {
    char dir[PATH_MAX];
    for (uint32_t i = 0; i < r->out->cpus_count; i++) {
        if (r->out->cpus[i].core != NONE)
            continue;
        bool listed = cpu_dir(r, r->out->cpus[i].cpu, dir) &&
                      (list_read(dir, "topology/core_cpus_list", &r->list) ||
                       list_read(dir, "topology/thread_siblings_list", &r->list));
        core_add(r, i, listed);
    }
}

static void nodes_read(struct reading *r) {
    struct topology *out = r->out;
    char dir[PATH_MAX];
    for (uint16_t node = 0; node < NODES_MAX; node++) {
        if (snprintf(dir, sizeof dir, "%s/node%u", r->paths->node_dir, node) >= (int)sizeof dir ||
            !list_read(dir, "cpulist", &r->list))
            continue;
        for (uint32_t i = 0; i < out->cpus_count; i++)
            if (r->list.has[out->cpus[i].cpu])
                out->cpus[i].node = node;
    }
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Physical cores that share what r->list lists: those CPUs divided by the siblings of a core. */
static uint32_t sharers_count(const struct reading *r, const char *dir) {
    struct cpu_set_of siblings;
    if (!list_read(dir, "topology/core_cpus_list", &siblings) &&
        !list_read(dir, "topology/thread_siblings_list", &siblings))
        siblings.count = 1;
    uint32_t cores = r->list.count / (siblings.count > 0 ? siblings.count : 1);
    return cores > 0 ? cores : 1;
}

static void l3_add(struct reading *r, uint32_t first, uint64_t bytes) {
    struct topology *out = r->out;
    for (uint32_t i = first; i < out->cpus_count; i++)
        if (i == first || (out->cpus[i].l3 == NONE && r->list.has[out->cpus[i].cpu]))
            out->cpus[i].l3 = (uint16_t)out->l3_count;
    out->l3_count++;
    out->l3_bytes = least(out->l3_bytes, bytes);
}

/* The caches of one core, seen from its first usable CPU. */
static void core_caches_read(struct reading *r, uint32_t at) {
    char dir[PATH_MAX], cache[PATH_MAX + 32], type[32];
    unsigned long level;
    if (!cpu_dir(r, r->out->cpus[at].cpu, dir))
        return;
    for (uint32_t i = 0; i < CACHES_MAX; i++) {
        (void)snprintf(cache, sizeof cache, "%s/cache/index%u", dir, i);
        if (!number_read(cache, "level", &level))
            return;
        if (level < 2 || !text_read(cache, "type", type, sizeof type) ||
            strncmp(type, "Instruction", 11) == 0)
            continue;
        bool listed = list_read(cache, "shared_cpu_list", &r->list);
        if (level == 2)
            r->out->l2_bytes =
                least(r->out->l2_bytes, size_read(cache) / (listed ? sharers_count(r, dir) : 1));
        else if (level == 3 && listed && r->out->cpus[at].l3 == NONE)
            l3_add(r, at, size_read(cache));
    }
}

/* CPUs of which no L3 is known share one with their node. */
static void l3_complete(struct topology *out) {
    for (uint32_t i = 0; i < out->cpus_count; i++) {
        if (out->cpus[i].l3 != NONE)
            continue;
        for (uint32_t j = i; j < out->cpus_count; j++)
            if (out->cpus[j].l3 == NONE &&
                (out->cpus[j].node == out->cpus[i].node || out->cpus[j].core == out->cpus[i].core))
                out->cpus[j].l3 = (uint16_t)out->l3_count;
        out->l3_count++;
    }
}

/* Where all are alike, or the kernel does not say, all are the fastest. */
static void speeds_read(struct reading *r) {
    struct topology *out = r->out;
    unsigned long capacities[CPUS_MAX], most = 0;
    char dir[PATH_MAX];
    for (uint32_t i = 0; i < out->cpus_count; i++) {
        if (!cpu_dir(r, out->cpus[i].cpu, dir) ||
            !number_read(dir, "cpu_capacity", &capacities[i]) || capacities[i] == 0 ||
            capacities[i] > UINT32_MAX)
            return;
        most = capacities[i] > most ? capacities[i] : most;
    }
    for (uint32_t i = 0; i < out->cpus_count; i++)
        out->cpus[i].speed = (uint16_t)(capacities[i] * TOPOLOGY_SPEED_MAX / most);
}

static uint32_t nodes_count(const struct topology *topology) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->cpus_count; i++) {
        uint32_t before = 0;
        while (topology->cpus[before].node != topology->cpus[i].node)
            before++;
        count += before == i;
    }
    return count;
}

static const char *plural(uint32_t count) {
    return count == 1 ? "" : "s";
}

static void reason_write(struct topology *out, double quota) {
    char cpus[64] = "", granted[48] = "sets no quota";
    if (out->cores_count < out->cpus_count)
        (void)snprintf(cpus, sizeof cpus, " (%u CPUs, whose SMT siblings stay free)",
                       out->cpus_count);
    if (quota > 0)
        (void)snprintf(granted, sizeof granted, "quota grants %.2f", quota);
    (void)snprintf(out->reason, sizeof out->reason,
                   "%u core%s: the affinity mask has %u%s, the cgroup %s", out->cores,
                   plural(out->cores), out->cores_count, cpus, granted);
}

static uint64_t cache_bytes(int name) {
    long bytes = sysconf(name);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

void topology_find(const struct topology_paths *paths, const struct cpus *cpus,
                   struct topology *out) {
    static const struct topology_paths kernel = {"/sys/devices/system/cpu",
                                                 "/sys/devices/system/node"};
    struct reading reading = {.paths = paths ? paths : &kernel, .out = out};
    *out = (struct topology){.cpus_count = cpus->affinity_count};
    for (uint32_t i = 0; i < out->cpus_count; i++)
        out->cpus[i] = (struct topology_cpu){
            .cpu = cpus->affinity[i], .core = NONE, .l3 = NONE, .speed = TOPOLOGY_SPEED_MAX};
    cores_read(&reading);
    nodes_read(&reading);
    for (uint32_t i = 0; i < out->cpus_count; i++)
        if (out->cpus[i].sibling == 0)
            core_caches_read(&reading, i);
    l3_complete(out);
    speeds_read(&reading);
    if (!paths && out->l2_bytes == 0)
        out->l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
    if (!paths && out->l3_bytes == 0)
        out->l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
    out->nodes_count = nodes_count(out);
    out->cores = out->cores_count;
    if (cpus->quota > 0 && cpus->quota < out->cores)
        out->cores = cpus->quota < 1 ? 1 : (uint32_t)cpus->quota;
    reason_write(out, cpus->quota);
}

enum status topology_make(const struct topology_wish *wish, const struct topology *here,
                          struct topology *out, struct error *err) {
    const uint32_t cores = wish->cores > 0 ? wish->cores : here->cores;
    const uint32_t smt = wish->smt > 0 ? wish->smt : 1, nodes = wish->nodes > 0 ? wish->nodes : 1;
    if ((uint64_t)cores * smt > CPUS_MAX)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--cores %u with --smt %u: at most %u CPUs are allowed", cores, smt,
                         CPUS_MAX);
    if (nodes > cores)
        return error_set(err, STATUS_INVALID_VALUE, "--nodes %u: 1 to %u are allowed for %u core%s",
                         nodes, cores, cores, plural(cores));
    const struct topology made = {
        .cores = cores,
        .cpus_count = cores * smt,
        .cores_count = cores,
        .l3_count = nodes,
        .nodes_count = nodes,
        .l2_bytes = wish->l2_bytes > 0 ? wish->l2_bytes : here->l2_bytes,
        .l3_bytes = wish->l3_bytes > 0 ? wish->l3_bytes : here->l3_bytes,
        .imagined = true,
    };
    *out = made;
    for (uint32_t i = 0; i < cores * smt; i++) {
        const uint16_t core = (uint16_t)(i % cores), node = (uint16_t)(core * nodes / cores);
        out->cpus[i] = (struct topology_cpu){.cpu = (uint16_t)i,
                                             .core = core,
                                             .sibling = (uint16_t)(i / cores),
                                             .node = node,
                                             .l3 = node,
                                             .speed = TOPOLOGY_SPEED_MAX};
    }
    (void)snprintf(out->reason, sizeof out->reason,
                   "%u core%s with %u CPU%s each on %u NUMA node%s, as asked", cores, plural(cores),
                   smt, plural(smt), nodes, plural(nodes));
    return STATUS_OK;
}
