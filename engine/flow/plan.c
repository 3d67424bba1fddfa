/* plan.c: reads the wishes, places the borders, adds up what each stage weighs and costs. */
#include "engine/flow/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double cost_of(const struct part *parts, uint32_t count) {
    double cost = 0;
    for (uint32_t i = 0; i < count; i++)
        cost += parts[i].cost;
    return cost;
}

/* One entry of the list in thirds of layers, moved past its comma; -1 stays -1. 0 is no entry. */
static enum status entry_take(const char **text, long *out, struct error *err) {
    char *end;
    errno = 0;
    long value = strtol(*text, &end, 10);
    bool bad = end == *text || errno != 0 || value < -1 || value > LIMIT_LAYERS;
    if (!bad && value >= 0) {
        value *= PLAN_THIRDS;
        if (*end == '.' && (end[1] == '3' || end[1] == '6')) {
            value += end[1] == '3' ? 1 : 2;
            end += 2;
        }
    }
    if (bad || value == 0 || (*end != '\0' && *end != ','))
        return error_set(err, STATUS_INVALID_VALUE,
                         "--layers-per-stage: \"%s\" is not a list such as 2,2,-1 or 2.3,-1 "
                         "(layers, .3 and .6 for one and two thirds, one -1 for what is left)",
                         *text);
    *out = value;
    *text = *end == ',' ? end + 1 : end;
    /* A comma at the very end opens an entry that is not there. */
    if (*end == ',' && end[1] == '\0')
        return error_set(err, STATUS_INVALID_VALUE, "--layers-per-stage: the list ends in a comma");
    return STATUS_OK;
}

/* Fills thirds[] from the list; *stages is their number. */
static enum status layers_read(const struct plan_wishes *wishes, uint32_t *thirds, uint32_t *stages,
                               struct error *err) {
    uint32_t count = 0, rest = UINT32_MAX;
    long all = (long)wishes->layers_count * PLAN_THIRDS, sum = 0, value = 0;
    const char *text = wishes->layers_per_stage;
    do {
        if (count == LIMIT_STAGES)
            return error_set(err, STATUS_INVALID_VALUE, "--layers-per-stage: more than %u stages",
                             LIMIT_STAGES);
        if (entry_take(&text, &value, err) != STATUS_OK)
            return STATUS_INVALID_VALUE;
        if (value == -1 && rest != UINT32_MAX)
            return error_set(err, STATUS_INVALID_VALUE,
                             "--layers-per-stage: \"%s\" has more than one -1",
                             wishes->layers_per_stage);
        if (value == -1)
            rest = count;
        else
            sum = value > all - sum ? all + 1 : sum + value;
        thirds[count++] = value == -1 ? 0 : (uint32_t)value;
    } while (*text);
    if (rest != UINT32_MAX ? all - sum < 1 : all != sum)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--layers-per-stage: \"%s\" does not share out the model's %u layers",
                         wishes->layers_per_stage, wishes->layers_count);
    if (rest != UINT32_MAX)
        thirds[rest] = (uint32_t)(all - sum);
    if (wishes->stages != 0 && wishes->stages != count)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--layers-per-stage: \"%s\" has %u entries for %u stages",
                         wishes->layers_per_stage, count, wishes->stages);
    *stages = count;
    return STATUS_OK;
}

static uint32_t thirds_of(const struct plan_wishes *wishes) {
    return wishes->layers_count * PLAN_THIRDS;
}

/* Cost of thirds first..first+count-1 as virtual graph `vg`; VG 0 has embedding and head too. */
static double vg_cost(const struct plan_wishes *wishes, uint32_t vg, uint32_t first,
                      uint32_t count) {
    const struct part *thirds = wishes->parts + 1;
    uint32_t head = wishes->parts_count - 1 - thirds_of(wishes);
    double cost = cost_of(thirds + first, count);
    if (vg == 0)
        cost += cost_of(wishes->parts, 1) + cost_of(thirds + thirds_of(wishes), head);
    return cost;
}

/* Whether the layers fit into `stages` graphs of at most `most` work, each at least a third;
 * thirds[] then says how. Filling from the front as full as allowed finds it if there is a way. */
static bool layers_fit(const struct plan_wishes *wishes, uint32_t stages, double most,
                       uint32_t *thirds) {
    uint32_t first = 0;
    for (uint32_t stage = 0; stage < stages; stage++) {
        uint32_t room = thirds_of(wishes) - first - (stages - 1 - stage), count = 1;
        while (count < room && vg_cost(wishes, stage, first, count + 1) <= most)
            count++;
        if (vg_cost(wishes, stage, first, count) > most)
            return false;
        thirds[stage] = count;
        first += count;
    }
    return first == thirds_of(wishes);
}

/* The borders with the lightest heaviest graph: bisection over its work, to a thousandth of a
 * third or better. What is equally light goes to the front. */
static void layers_balance(const struct plan_wishes *wishes, uint32_t stages, uint32_t *thirds) {
    double high = cost_of(wishes->parts, wishes->parts_count) * (1 + 1e-9) + 1, low = 0;
    uint32_t tried[LIMIT_STAGES];
    layers_fit(wishes, stages, high, thirds);
    for (int round = 0; round < 40; round++) {
        double middle = (low + high) / 2;
        if (layers_fit(wishes, stages, middle, tried)) {
            high = middle;
            memcpy(thirds, tried, stages * sizeof *thirds);
        } else {
            low = middle;
        }
    }
}

static enum status stages_choose(const struct plan_wishes *wishes, uint32_t *thirds,
                                 uint32_t *stages, struct error *err) {
    if (wishes->layers_per_stage)
        return layers_read(wishes, thirds, stages, err);
    uint32_t most = wishes->layers_count < LIMIT_STAGES ? wishes->layers_count : LIMIT_STAGES;
    *stages = wishes->stages;
    if (*stages == 0) {
        *stages = wishes->cores / (wishes->replicas > 0 ? wishes->replicas : 1);
        *stages = *stages < 1 ? 1 : *stages > most ? most : *stages;
    }
    if (*stages > most)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--stages %u: the model has %u layers, 1 to %u are allowed", *stages,
                         wishes->layers_count, most);
    layers_balance(wishes, *stages, thirds);
    return STATUS_OK;
}

/* Checks a count that was wished for, or takes the default. */
static enum status count_choose(const char *what, uint32_t wished, uint32_t by_default,
                                uint32_t most, uint32_t *out, struct error *err) {
    if (wished > most)
        return error_set(err, STATUS_INVALID_VALUE, "--%s %u: 1 to %u are allowed", what, wished,
                         most);
    *out = wished > 0 ? wished : by_default > most ? most : by_default;
    return STATUS_OK;
}

static void stage_set(struct plan *plan, uint32_t index, uint32_t first, uint32_t count,
                      uint32_t vg, double whole) {
    struct plan_stage *stage = &plan->stages[index];
    stage->first_part = first;
    stage->parts_count = count;
    stage->vg = vg;
    stage->share = whole > 0 ? cost_of(plan->parts + first, count) / whole : 0;
    for (uint32_t i = first; i < first + count; i++)
        stage->weights_bytes += plan->parts[i].weights_bytes;
    plan->weights_bytes += stage->weights_bytes;
}

static void stages_set(const struct plan_wishes *wishes, const uint32_t *thirds,
                       struct plan *plan) {
    double whole = cost_of(wishes->parts, wishes->parts_count);
    uint32_t first = 0;
    for (uint32_t i = 0; i < plan->vgs_count; i++) {
        uint32_t count = thirds[i] + (i == 0 ? 1 : 0);
        if (plan->vgs_count == 1)
            count = wishes->parts_count;
        stage_set(plan, i, first, count, i, whole);
        snprintf(plan->stages[i].name, sizeof plan->stages[i].name, "stage %u", i % 1000);
        first += count;
        const char *last = plan->parts[first - 1].third;
        plan->splits_feed_forward |= last && strcmp(last, "intermediate") == 0;
    }
    if (plan->vgs_count > 1) {
        stage_set(plan, plan->vgs_count, first, wishes->parts_count - first, 0, whole);
        snprintf(plan->stages[plan->vgs_count].name, sizeof plan->stages[0].name, "head");
    }
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++) {
        double share = plan->stages[vg].share;
        if (vg == 0 && plan->vgs_count > 1)
            share += plan->stages[plan->vgs_count].share;
        if (share > plan->bottleneck_share) {
            plan->bottleneck_share = share;
            plan->bottleneck_vg = vg;
        }
    }
}

enum status plan_make(const struct plan_wishes *wishes, struct plan *out, struct error *err) {
    uint32_t thirds[LIMIT_STAGES], stages = 0;
    *out = (struct plan){
        .parts = wishes->parts,
        .parts_count = wishes->parts_count,
        .cores = wishes->cores,
        .cpus = wishes->cpus,
        .reason = wishes->reason,
        .pipelining = !wishes->no_pipelining,
    };
    if (wishes->no_pipelining && wishes->max_in_flight > 1)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--max-in-flight %u: without pipelining there is one",
                         wishes->max_in_flight);
    enum status status = stages_choose(wishes, thirds, &stages, err);
    if (status != STATUS_OK)
        return status;
    out->vgs_count = stages;
    out->stages_count = stages > 1 ? stages + 1 : 1;
    uint32_t replicas = wishes->cores / stages > 0 ? wishes->cores / stages : 1;
    /* One for each stage to work on, and one that waits in front of a busy one. */
    uint32_t in_flight = wishes->no_pipelining ? 1 : out->stages_count + 1;
    status =
        count_choose("replicas", wishes->replicas, replicas, LIMIT_REPLICAS, &out->replicas, err);
    if (status == STATUS_OK)
        status = count_choose("max-in-flight", wishes->max_in_flight, in_flight,
                              LIMIT_MICROBATCHES_IN_FLIGHT, &out->max_in_flight, err);
    if (status == STATUS_OK)
        stages_set(wishes, thirds, out);
    return status;
}
