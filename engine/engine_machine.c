/* engine_machine.c: the machine as the planner sees it: the one that is here, or one that is only
 * imagined, whose caches are then those of this one unless said otherwise. */
#include <stdio.h>
#include <unistd.h>

#include "engine/engine_internal.h"

static uint64_t cache_bytes(int name) {
    long bytes = sysconf(name);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static void machine_find(struct engine *engine, struct plan_machine *out) {
    for (uint32_t i = 0; i < engine->cpus.affinity_count; i++)
        engine->machine_cpus[i] =
            (struct plan_cpu){.cpu = engine->cpus.affinity[i], .core = engine->cpus.affinity[i]};
    *out = (struct plan_machine){
        .cpus = engine->machine_cpus,
        .cpus_count = engine->cpus.affinity_count,
        .cores = engine->cpus.cores,
        .l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE),
        .l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE),
        .reason = engine->cpus.reason,
    };
}

/* Cores share out evenly over the nodes, each of which has one L3; CPU c + t * cores is the t-th
 * thread of core c. */
static enum status machine_imagine(struct engine *engine, const struct imagined_machine *wished,
                                   struct plan_machine *out, struct error *err) {
    const uint32_t cores = wished->cores > 0 ? wished->cores : out->cores;
    const uint32_t nodes = wished->nodes > 0 ? wished->nodes : 1;
    const uint32_t smt = wished->smt > 0 ? wished->smt : 1;
    if ((uint64_t)cores * smt > CPUS_MAX)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--cores %u with --smt %u: at most %u CPUs are allowed", cores, smt,
                         CPUS_MAX);
    if (nodes > cores)
        return error_set(err, STATUS_INVALID_VALUE, "--nodes %u: 1 to %u are allowed for %u cores",
                         nodes, cores, cores);
    for (uint32_t i = 0; i < cores * smt; i++) {
        const uint16_t core = (uint16_t)(i % cores), node = (uint16_t)(core * nodes / cores);
        engine->machine_cpus[i] =
            (struct plan_cpu){.cpu = (uint16_t)i, .core = core, .node = node, .l3 = node};
    }
    out->cpus_count = cores * smt;
    out->cores = cores;
    out->l2_bytes = wished->l2_bytes > 0 ? wished->l2_bytes : out->l2_bytes;
    out->l3_bytes = wished->l3_bytes > 0 ? wished->l3_bytes : out->l3_bytes;
    out->imagined = true;
    snprintf(engine->plan_reason, sizeof engine->plan_reason,
             "planned for %u core%s with %u CPU%s each on %u NUMA node%s, as asked", cores,
             cores == 1 ? "" : "s", smt, smt == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
    out->reason = engine->plan_reason;
    return STATUS_OK;
}

enum status engine_find_machine(struct engine *engine, const struct imagined_machine *wished,
                                struct plan_machine *out, struct error *err) {
    cpus_find(NULL, &engine->cpus);
    machine_find(engine, out);
    if (wished->cores > 0 || wished->nodes > 0 || wished->smt > 0 || wished->l2_bytes > 0 ||
        wished->l3_bytes > 0)
        return machine_imagine(engine, wished, out, err);
    return STATUS_OK;
}
