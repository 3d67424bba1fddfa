/* plan_predict.c: what a plan's stages cost, and what throughput and utilisation follow; the
 * formulas are at the top of plan.h. */
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/flow/plan_internal.h"

/* Waking the next stage, and its first reads of what another core has just written. */
static const double handover_wake_ns = 4000, handover_bytes_per_ns = 8;

/* What each further thread of a team takes away from all, in parts of one thread: two threads do
 * the work of 1.7. */
static const double team_loss = 0.15;

static const double stage_turn_ns = 10.0 * NS_PER_MS;

double plan_handover_ns(const struct part *part, uint32_t microbatch_tokens) {
    return handover_wake_ns / microbatch_tokens + part->handover_bytes / handover_bytes_per_ns;
}

double plan_team_gain(uint32_t threads) {
    return threads / (1 + team_loss * (threads - 1));
}

static void stage_set(struct plan *plan, uint32_t index, uint32_t first, uint32_t count) {
    struct plan_stage *stage = &plan->stages[index];
    stage->first_part = first;
    stage->parts_count = count;
    stage->weights_bytes = 0;
    stage->cost = 0;
    for (uint32_t i = first; i < first + count; i++) {
        stage->weights_bytes += plan->parts[i].weights_bytes;
        stage->cost += plan->parts[i].cost;
    }
    stage->share = plan->cost > 0 ? stage->cost / plan->cost : 0;
    if (index == plan->encoder_stages)
        snprintf(stage->name, sizeof stage->name, "head");
    else
        snprintf(stage->name, sizeof stage->name, "stage %u", index % 1000);
}

void plan_stages_set(struct plan *plan, const uint32_t *thirds) {
    uint32_t first = 0;
    plan->splits_feed_forward = false;
    for (uint32_t i = 0; i < plan->encoder_stages; i++) {
        uint32_t count = thirds[i] + (i == 0);
        if (plan->encoder_stages == 1)
            count = plan->parts_count;
        stage_set(plan, i, first, count);
        first += count;
        const char *last = plan->parts[first - 1].third;
        plan->splits_feed_forward |= last && strcmp(last, "intermediate") == 0;
    }
    if (plan->encoder_stages > 1)
        stage_set(plan, plan->encoder_stages, first, plan->parts_count - first);
}

/* What fills a turn of the longest stage, in whole steps. */
static uint32_t budget_choose(const struct plan *plan) {
    double longest = 0;
    for (uint32_t i = 0; i < plan->stages_count; i++)
        if (plan->stages[i].cost > longest)
            longest = plan->stages[i].cost;
    const double tokens =
        longest > 0 ? stage_turn_ns / longest * plan_team_gain(plan->stage_threads) : 0;
    return tokens < PLAN_MICROBATCH_TOKENS_MIN ? PLAN_MICROBATCH_TOKENS_MIN
           : tokens > PLAN_MICROBATCH_TOKENS_MAX
               ? PLAN_MICROBATCH_TOKENS_MAX
               : (uint32_t)tokens / PLAN_MICROBATCH_TOKENS_STEP * PLAN_MICROBATCH_TOKENS_STEP;
}

/* Costs of smaller microbatches than those that were measured are not known, so that the prediction
 * is not for them. */
static void budget_set(const struct plan_wishes *wishes, struct plan *plan) {
    const uint32_t given = wishes->microbatch_tokens;
    plan->microbatch_tokens = given > 0 ? given : budget_choose(plan);
    plan->predicted_tokens =
        plan->microbatch_tokens < PLAN_COST_TOKENS ? PLAN_COST_TOKENS : plan->microbatch_tokens;
}

double plan_vg_load(const struct plan *plan, uint32_t vg) {
    double load = 0;
    for (uint32_t i = 0; i < plan->stages_count; i++)
        if (plan->stages[i].vg == vg)
            load += plan->stages[i].service_ns * plan->stage_threads;
    return load;
}

/* How much longer all takes there than on the machine's fastest core. */
static double slowness(const struct plan_place *place) {
    return (double)TOPOLOGY_SPEED_MAX / (place->speed > 0 ? place->speed : TOPOLOGY_SPEED_MAX);
}

/* Nanoseconds a token that a CPU set needs for all VGs of all replicas that run there. */
static double place_period(const struct plan *plan, const double *loads, uint32_t vg,
                           const struct plan_place *place) {
    double load = plan->own_cores ? loads[vg] : 0;
    for (uint32_t r = 0; !plan->own_cores && r < plan->replicas; r++)
        for (uint32_t v = 0; v < plan->vgs_count; v++) {
            const struct plan_place *other = plan_get_place(plan, r, v);
            if (other->first == place->first && other->count == place->count)
                load += loads[v];
        }
    return load / place->cores * slowness(place);
}

double plan_stage_period(const struct plan *plan, uint32_t r, const struct plan_stage *stage) {
    return stage->service_ns * slowness(plan_get_place(plan, r, stage->vg));
}

/* Nanoseconds a token of replica `r`. */
static double replica_period(const struct plan *plan, const double *loads, uint32_t r) {
    double sum = 0, period = 1e-9;
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        double own = plan_stage_period(plan, r, &plan->stages[i]);
        sum += own;
        period = own > period ? own : period;
    }
    period = sum / plan->max_in_flight > period ? sum / plan->max_in_flight : period;
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++) {
        double own = place_period(plan, loads, vg, plan_get_place(plan, r, vg));
        period = own > period ? own : period;
    }
    return period;
}

static void bottleneck_set(struct plan *plan, const double *loads) {
    double most = -1;
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++) {
        const struct plan_place *place = plan_get_place(plan, 0, vg);
        double share = 0, load = loads[vg] / place->cores * slowness(place);
        for (uint32_t i = 0; i < plan->stages_count; i++)
            share += plan->stages[i].vg == vg ? plan->stages[i].share : 0;
        if (load > most * (1 + 1e-12)) {
            most = load;
            plan->bottleneck_vg = vg;
            plan->bottleneck_share = share;
        }
    }
}

void plan_predict(const struct plan_wishes *wishes, struct plan *plan) {
    double loads[LIMIT_STAGES + 1], periods[LIMIT_REPLICAS], rate = 0;
    budget_set(wishes, plan);
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        struct plan_stage *stage = &plan->stages[i];
        stage->service_ns = stage->cost / plan_team_gain(plan->stage_threads);
        if (i > 0)
            stage->service_ns +=
                plan_handover_ns(&plan->parts[stage->first_part - 1], plan->predicted_tokens);
    }
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++)
        loads[vg] = plan_vg_load(plan, vg);
    for (uint32_t r = 0; r < plan->replicas; r++)
        periods[r] = replica_period(plan, loads, r);
    if (!plan->own_cores)
        plan_contention_apply(plan, periods);
    for (uint32_t r = 0; r < plan->replicas; r++)
        rate += 1 / periods[r];
    plan->tokens_per_second = rate * (double)NS_PER_S;
    for (uint32_t i = 0; i < plan->stages_count; i++)
        plan->stages[i].busy = plan_stage_period(plan, 0, &plan->stages[i]) / periods[0];
    bottleneck_set(plan, loads);
}

double plan_weights_traffic(const struct plan *plan) {
    double bytes = 0;
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++)
        if (plan_vg_reads(plan, vg) > plan->machine->l2_bytes)
            bytes += (double)plan_vg_reads(plan, vg);
    return bytes * plan->tokens_per_second / plan->predicted_tokens;
}

/* Whether some replica of `vg` has a CPU with this L3. */
static bool vg_is_under_l3(const struct plan *plan, uint32_t vg, uint16_t l3) {
    for (uint32_t r = 0; r < plan->replicas; r++) {
        const struct plan_place *place = plan_get_place(plan, r, vg);
        for (uint32_t i = 0; i < place->count; i++)
            if (plan_cpu_find(plan, plan->cpus[place->first + i])->l3 == l3)
                return true;
    }
    return false;
}

uint64_t plan_l3_reads(const struct plan *plan, uint32_t vg) {
    const struct plan_place *place = plan_get_place(plan, 0, vg);
    const uint16_t l3 = plan_cpu_find(plan, plan->cpus[place->first])->l3;
    uint64_t bytes = 0;
    for (uint32_t other = 0; other < plan->vgs_count; other++)
        if (vg_is_under_l3(plan, other, l3))
            bytes += plan_vg_reads(plan, other);
    return bytes;
}
