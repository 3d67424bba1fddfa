/* plan_places.c: shares out the machine's cores: one physical core a thread, so that siblings
 * (SMT) stay free; a replica next to itself, where an L3 or a NUMA node has room for all of it. */
#include <string.h>

#include "engine/flow/plan_internal.h"

static bool core_is_before(const struct topology_cpu *a, const struct topology_cpu *b) {
    if (a->speed != b->speed)
        return a->speed > b->speed;
    if (a->node != b->node)
        return a->node < b->node;
    return a->l3 != b->l3 ? a->l3 < b->l3 : a->cpu < b->cpu;
}

void plan_cores_find(struct plan_work *work) {
    const struct topology *machine = work->wishes->machine;
    work->cores_count = 0;
    for (uint32_t i = 0; i < machine->cpus_count; i++) {
        const struct topology_cpu *cpu = &machine->cpus[i];
        uint32_t at = work->cores_count;
        if (cpu->sibling > 0)
            continue;
        while (at > 0 && core_is_before(cpu, &machine->cpus[work->cores[at - 1]])) {
            work->cores[at] = work->cores[at - 1];
            at--;
        }
        work->cores[at] = (uint16_t)i;
        work->cores_count++;
    }
}

const struct topology_cpu *plan_cpu_find(const struct plan *plan, uint16_t cpu) {
    uint32_t i = 0;
    while (plan->machine->cpus[i].cpu != cpu)
        i++;
    return &plan->machine->cpus[i];
}

/* Cores and node of a set that begins at plan->cpus[first]. */
static struct plan_place place_of(const struct plan *plan, uint32_t first, uint32_t count) {
    struct plan_place place = {.first = (uint16_t)first, .count = (uint16_t)count};
    uint16_t seen[CPUS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        const struct topology_cpu *cpu = plan_cpu_find(plan, plan->cpus[first + i]);
        uint32_t at = 0;
        while (at < place.cores && seen[at] != cpu->core)
            at++;
        if (at == place.cores)
            seen[place.cores++] = cpu->core;
        place.speed = i == 0 || cpu->speed < place.speed ? cpu->speed : place.speed;
        if (i == 0)
            place.node = cpu->node;
        else if (place.node != cpu->node)
            place.node = -1;
    }
    if (place.cores > plan->machine->cores)
        place.cores = (uint16_t)plan->machine->cores;
    return place;
}

/* All places are all CPUs: the scheduler shares them out. */
static void places_float(struct plan *plan) {
    const struct topology *machine = plan->machine;
    for (uint32_t i = 0; i < machine->cpus_count; i++)
        plan->cpus[i] = machine->cpus[i].cpu;
    struct plan_place all = place_of(plan, 0, machine->cpus_count);
    for (uint32_t i = 0; i < plan->replicas * plan->vgs_count; i++)
        plan->places[i] = all;
}

static void places_obey(const struct plan_hand *hand, struct plan *plan) {
    memcpy(plan->cpus, hand->cpus, hand->cpus_count * sizeof *plan->cpus);
    for (uint32_t i = 0; i < plan->replicas * plan->vgs_count; i++) {
        const struct plan_set *set = &hand->sets[i % hand->sets_count];
        plan->places[i] = place_of(plan, set->first, set->count);
    }
    plan->pinned = true;
}

/* Takes `need` free cores that are alike in node and, if asked, in L3, from the front. False: so
 * many are nowhere. */
static bool cores_take(const struct plan_work *work, bool *taken, uint32_t need, bool same_node,
                       bool same_l3, uint16_t *out) {
    const struct topology_cpu *cpus = work->wishes->machine->cpus;
    for (uint32_t from = 0; from < work->cores_count; from++) {
        const struct topology_cpu *first = &cpus[work->cores[from]];
        uint32_t found = 0;
        for (uint32_t i = from; i < work->cores_count && found < need; i++) {
            const struct topology_cpu *cpu = &cpus[work->cores[i]];
            if (!taken[i] && (!same_node || cpu->node == first->node) &&
                (!same_l3 || cpu->l3 == first->l3))
                out[found++] = (uint16_t)i;
        }
        if (found < need)
            continue;
        for (uint32_t i = 0; i < need; i++)
            taken[out[i]] = true;
        return true;
    }
    return false;
}

static void places_share_out(const struct plan_work *work, struct plan *plan) {
    const uint32_t team = plan->stage_threads, need = plan->vgs_count * team;
    bool taken[CPUS_MAX] = {false};
    uint16_t cores[CPUS_MAX];
    for (uint32_t r = 0; r < plan->replicas; r++) {
        if (!cores_take(work, taken, need, true, true, cores) &&
            !cores_take(work, taken, need, true, false, cores))
            cores_take(work, taken, need, false, false, cores);
        for (uint32_t i = 0; i < need; i++)
            plan->cpus[r * need + i] = plan->machine->cpus[work->cores[cores[i]]].cpu;
        for (uint32_t vg = 0; vg < plan->vgs_count; vg++)
            plan->places[r * plan->vgs_count + vg] = place_of(plan, r * need + vg * team, team);
    }
    plan->pinned = plan->own_cores = true;
}

/* Nodes that a VG's places are on; sets that straddle nodes count as one. */
static uint32_t nodes_count(const struct plan *plan, uint32_t vg) {
    uint32_t count = 0;
    for (uint32_t r = 0; r < plan->replicas; r++) {
        uint32_t before = 0;
        while (plan_get_place(plan, before, vg)->node != plan_get_place(plan, r, vg)->node)
            before++;
        count += before == r;
    }
    return count;
}

/* Whether a core for each stage thread is better chosen here than by the kernel, thread by thread
 * and anew whenever it likes. With cores to spare that are all alike it is not, unless virtual
 * graphs were given: two processes that both took the first ones would leave the others idle. */
static bool pinning_pays(const struct plan_work *work, const struct plan *plan, uint64_t need) {
    const struct topology *machine = plan->machine;
    if (need > work->cores_count || work->cores_count > machine->cores)
        return false;
    return need == work->cores_count || work->hand.vgs_count > 0 || machine->nodes_count > 1 ||
           machine->cpus_count > machine->cores_count;
}

void plan_places_set(const struct plan_work *work, struct plan *plan) {
    uint64_t need = (uint64_t)plan->replicas * plan->vgs_count * plan->stage_threads;
    plan->pinned = plan->own_cores = false;
    if (work->hand.sets_count > 0)
        places_obey(&work->hand, plan);
    else if (pinning_pays(work, plan, need))
        places_share_out(work, plan);
    else
        places_float(plan);
    plan->copies = 1;
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++)
        if (nodes_count(plan, vg) > plan->copies)
            plan->copies = nodes_count(plan, vg);
}
