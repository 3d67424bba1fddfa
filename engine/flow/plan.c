/* plan.c: chooses among all numbers of stages and replicas that the wishes leave open. */
#include "engine/flow/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/flow/plan_internal.h"

/* Bytes of the graph's own parts; whether they use the first part's matrix, as it or as sharers. */
static uint64_t vg_sum(const struct plan *plan, uint32_t vg, bool *has_first, bool *shares_first) {
    uint64_t bytes = 0;
    *has_first = *shares_first = false;
    for (uint32_t p = 0; p < plan->parts_count; p++) {
        if (plan_part_vg(plan, p) != vg)
            continue;
        bytes += plan->parts[p].weights_bytes;
        *shares_first |= plan->parts[p].shares_first;
        *has_first |= p == 0;
    }
    return bytes;
}

uint64_t plan_vg_weights(const struct plan *plan, uint32_t vg) {
    bool has_first, shares_first;
    const uint64_t bytes = vg_sum(plan, vg, &has_first, &shares_first);
    return bytes + (shares_first && !has_first ? plan->parts[0].weights_bytes : 0);
}

uint64_t plan_vg_reads(const struct plan *plan, uint32_t vg) {
    bool has_first, shares_first;
    const uint64_t bytes = vg_sum(plan, vg, &has_first, &shares_first);
    if (shares_first == has_first)
        return bytes;
    return has_first ? bytes - plan->parts[0].weights_bytes : bytes + plan->parts[0].weights_bytes;
}

/* Virtual graphs of a plan with so many encoder stages. */
static uint32_t vgs_count_of(const struct plan_hand *hand, uint32_t stages) {
    return hand->vgs_count > 0 ? hand->vgs_count : stages;
}

static uint32_t stage_threads_of(const struct plan_wishes *wishes) {
    return wishes->stage_threads > 0 ? wishes->stage_threads : 1;
}

void plan_draft_make(struct plan_work *work, uint32_t stages, uint32_t replicas, struct plan *out) {
    const struct plan_wishes *wishes = work->wishes;
    uint32_t thirds[LIMIT_STAGES];
    out->parts = wishes->parts;
    out->parts_count = wishes->parts_count;
    out->machine = wishes->machine;
    out->encoder_stages = stages;
    out->stages_count = stages > 1 ? stages + 1 : 1;
    out->vgs_count = vgs_count_of(&work->hand, stages);
    out->replicas = replicas;
    out->stage_threads = stage_threads_of(wishes);
    out->pipelining = !wishes->no_pipelining;
    out->max_in_flight = wishes->max_in_flight;
    if (out->max_in_flight == 0) /* one for each stage to work on, and one in front of a busy one */
        out->max_in_flight = wishes->no_pipelining ? 1 : out->stages_count + 1;
    out->cost = 0;
    out->weights_bytes = 0;
    for (uint32_t i = 0; i < out->parts_count; i++) {
        out->cost += out->parts[i].cost;
        out->weights_bytes += out->parts[i].weights_bytes;
    }
    for (uint32_t i = 0; i < out->stages_count; i++)
        out->stages[i].vg = work->hand.vgs_count > 0 ? work->hand.vgs[i] : i == stages ? 0 : i;
    plan_places_set(work, out);
    plan_borders_find(work, out, thirds);
    plan_stages_set(out, thirds);
    plan_predict(wishes, out);
}

static uint64_t memory_of(const struct plan *plan) {
    uint64_t bytes = 0;
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++)
        bytes += plan_vg_weights(plan, vg);
    return bytes * plan->copies;
}

/* Whether the CPU sets of --pin can be those of so many graphs and replicas. */
static bool sets_fit(const struct plan_hand *hand, uint32_t vgs_count, uint32_t replicas) {
    return hand->sets_count == 0 || hand->sets_count == vgs_count ||
           hand->sets_count == vgs_count * replicas;
}

static uint32_t least_of(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* As many as find a core for each thread of each graph. */
static uint32_t replicas_max(const struct plan_work *work, uint32_t stages) {
    const struct plan_wishes *wishes = work->wishes;
    const uint32_t cores = least_of(work->cores_count, wishes->machine->cores);
    const uint32_t sets = work->hand.sets_count, vgs = vgs_count_of(&work->hand, stages);
    uint32_t fit = cores / (vgs * stage_threads_of(wishes));
    if (sets > 0) /* each graph may have a set of many cores */
        fit = cores > sets / vgs ? cores : sets / vgs;
    return least_of(fit > 1 ? fit : 1, LIMIT_REPLICAS);
}

static uint32_t stages_max(const struct plan_work *work) {
    const struct plan_wishes *wishes = work->wishes;
    const uint32_t replicas = wishes->replicas > 0 ? wishes->replicas : 1;
    uint32_t most =
        least_of(work->cores_count, wishes->machine->cores) / (replicas * stage_threads_of(wishes));
    if (work->hand.sets_count > most)
        most = work->hand.sets_count;
    return least_of(most > 1 ? most : 1, least_of(wishes->layers_count, LIMIT_STAGES));
}

/* Fills choices[] with all that the wishes allow, from so many stages on. */
static void choices_find(struct plan_work *work, uint32_t stages_min) {
    const uint32_t fixed = work->hand.stages, wished = work->wishes->replicas;
    work->choices_count = 0;
    work->stages_max = fixed > 0 ? fixed : stages_max(work);
    for (uint32_t n = fixed > 0 ? fixed : stages_min; n <= work->stages_max; n++) {
        const uint32_t vgs = vgs_count_of(&work->hand, n);
        const uint32_t most = wished > 0 ? wished : replicas_max(work, n);
        /* Replicas with cores of their own do not slow each other: the most are the best. */
        for (uint32_t r = work->hand.sets_count > 0 && wished == 0 ? 1 : most; r <= most; r++) {
            if (!sets_fit(&work->hand, vgs, r))
                continue;
            plan_draft_make(work, n, r, &work->draft);
            work->choices[work->choices_count++] = (struct plan_choice){
                .stages = n,
                .replicas = r,
                .threads = work->draft.stages_count * work->draft.stage_threads * r,
                .memory_bytes = memory_of(&work->draft),
                .rate = work->draft.tokens_per_second,
            };
        }
    }
}

const struct plan_choice *plan_choose(struct plan_work *work, uint32_t stages_min) {
    const double close_enough = 0.995;
    const struct plan_choice *best = NULL;
    double rate = 0;
    choices_find(work, stages_min);
    for (uint32_t i = 0; i < work->choices_count; i++)
        rate = work->choices[i].rate > rate ? work->choices[i].rate : rate;
    for (uint32_t i = 0; i < work->choices_count; i++) {
        const struct plan_choice *choice = &work->choices[i];
        if (choice->rate < rate * close_enough)
            continue;
        if (!best || choice->threads < best->threads ||
            (choice->threads == best->threads && choice->memory_bytes < best->memory_bytes) ||
            (choice->threads == best->threads && choice->memory_bytes == best->memory_bytes &&
             choice->rate > best->rate))
            best = choice;
    }
    return best;
}

static enum status sets_refuse(const struct plan_work *work, struct error *err) {
    const uint32_t vgs = vgs_count_of(&work->hand, work->hand.stages > 0 ? work->hand.stages : 1);
    const uint32_t sets = work->hand.sets_count, replicas = work->wishes->replicas;
    char more[64] = "";
    if (replicas == 0)
        snprintf(more, sizeof more, ", or %u for each of up to %u replicas", vgs, LIMIT_REPLICAS);
    else if (replicas > 1)
        snprintf(more, sizeof more, ", or %u for all %u replicas", vgs * replicas, replicas);
    return error_set(err, STATUS_INVALID_VALUE,
                     "--pin has %u CPU set%s; %u virtual graph%s need%s %u%s", sets,
                     plan_plural(sets), vgs, plan_plural(vgs), vgs == 1 ? "s" : "", vgs, more);
}

enum status plan_make(const struct plan_wishes *wishes, struct plan *out, struct error *err) {
    struct plan_work *work = calloc(1, sizeof *work);
    enum status status = STATUS_NO_MEMORY;
    memset(out, 0, sizeof *out);
    if (!work) {
        error_set(err, status, "no memory for planning");
        goto done;
    }
    work->wishes = wishes;
    status = plan_hand_read(wishes, &work->hand, err);
    if (status != STATUS_OK)
        goto done;
    plan_cores_find(work);
    const struct plan_choice *best = plan_choose(work, 1);
    if (!best) {
        status = sets_refuse(work, err);
        goto done;
    }
    plan_draft_make(work, best->stages, best->replicas, out);
    plan_reason_set(work, out);
done:
    free(work);
    return status;
}
