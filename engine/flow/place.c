/* place.c: pins threads to the plan's CPU sets. */
#include "engine/flow/place.h"

#include "engine/base/log.h"
#include "engine/base/thread.h"

static const struct plan_place *place_of(const struct plan *plan, uint32_t replica,
                                         uint32_t stage) {
    return plan_get_place(plan, replica, plan->stages[stage].vg);
}

int place_get_node(const struct plan *plan, uint32_t replica, uint32_t stage) {
    const int node = place_of(plan, replica, stage)->node;
    return node < 0 ? MEMORY_NODE_ANY : node;
}

int place_enter(const struct plan *plan, uint32_t replica, uint32_t stage) {
    const struct plan_place *place = place_of(plan, replica, stage);
    if (plan->pinned && thread_pin(plan->cpus + place->first, place->count) != STATUS_OK)
        log_write(LOG_WARN, "%s of replica %u: its %u CPUs from %u on cannot be used; not pinned",
                  plan->stages[stage].name, replica, place->count, plan->cpus[place->first]);
    return place_get_node(plan, replica, stage);
}
