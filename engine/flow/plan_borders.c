/* plan_borders.c: where the stages end, in thirds of layers.
 *
 * With a core for each virtual graph the best borders are those whose heaviest graph is lightest;
 * dynamic programming over (stages, thirds) finds them exactly:
 *   best[n][t] = least over k of max(best[n-1][k], cost of thirds k..t and their hand-over)
 * where the first stage carries the embedding and the head too. Where several stages share a CPU
 * set, these borders are the start of a descent that moves one border at a time. */
#include <string.h>

#include "engine/flow/plan_internal.h"

static const struct part *thirds_of(const struct plan_work *work) {
    return work->wishes->parts + 1;
}

static uint32_t thirds_count(const struct plan_work *work) {
    return work->wishes->layers_count * PLAN_THIRDS;
}

/* Fills before[] and row 0: all of the first stage. */
static void row_first(struct plan_work *work) {
    const struct part *thirds = thirds_of(work);
    const uint32_t count = thirds_count(work);
    double around = work->wishes->parts[0].cost;
    work->before[0] = 0;
    for (uint32_t t = 0; t < count; t++)
        work->before[t + 1] = work->before[t] + thirds[t].cost;
    for (uint32_t i = 1 + count; i < work->wishes->parts_count; i++)
        around += work->wishes->parts[i].cost;
    around += plan_handover_ns(&thirds[count - 1], PLAN_MICROBATCH_TOKENS_MIN);
    for (uint32_t t = 1; t <= count; t++)
        work->best[0][t] = around + work->before[t];
}

/* Fills cut[0..stages-1]: cut[n][t] is where stage n begins when it ends at t. */
static void cuts_find(struct plan_work *work, uint32_t stages) {
    const uint32_t count = thirds_count(work);
    row_first(work);
    for (uint32_t n = 1; n < stages; n++) {
        const double *upper = work->best[(n - 1) % 2];
        double *row = work->best[n % 2];
        for (uint32_t t = n + 1; t <= count; t++) {
            row[t] = -1;
            for (uint32_t k = n; k < t; k++) {
                double own = work->before[t] - work->before[k] +
                             plan_handover_ns(&thirds_of(work)[k - 1], PLAN_MICROBATCH_TOKENS_MIN);
                double most = own > upper[k] ? own : upper[k];
                if (row[t] < 0 || most < row[t]) {
                    row[t] = most;
                    work->cut[n][t] = (uint16_t)k;
                }
            }
        }
    }
    work->cut_stages = stages;
}

/* Whether a draft is better: more throughput, or as much with a smaller sum of squared loads. */
static bool draft_is_better(const struct plan *draft, double rate, double squares,
                            double *new_squares) {
    *new_squares = 0;
    for (uint32_t vg = 0; vg < draft->vgs_count; vg++) {
        double load = plan_vg_load(draft, vg);
        *new_squares += load * load;
    }
    if (draft->tokens_per_second > rate * (1 + 1e-9))
        return true;
    return draft->tokens_per_second > rate * (1 - 1e-9) && *new_squares < squares * (1 - 1e-9);
}

/* Moves single borders while that helps. */
static void borders_descend(struct plan_work *work, struct plan *plan, uint32_t *thirds) {
    double rate = 0, squares = 0, tried;
    enum { ROUNDS_MAX = 100 };
    plan_stages_set(plan, thirds);
    plan_predict(work->wishes, plan);
    rate = plan->tokens_per_second;
    (void)draft_is_better(plan, rate, 0, &squares);
    bool moved = true;
    for (uint32_t round = 0; moved && round < ROUNDS_MAX; round++) {
        moved = false;
        for (uint32_t b = 0; b + 1 < plan->encoder_stages; b++) {
            const uint32_t both = thirds[b] + thirds[b + 1];
            uint32_t best = thirds[b];
            for (uint32_t first = 1; first < both; first++) {
                thirds[b] = first;
                thirds[b + 1] = both - first;
                plan_stages_set(plan, thirds);
                plan_predict(work->wishes, plan);
                if (draft_is_better(plan, rate, squares, &tried)) {
                    best = first;
                    rate = plan->tokens_per_second;
                    squares = tried;
                    moved = true;
                }
            }
            thirds[b] = best;
            thirds[b + 1] = both - best;
        }
    }
}

void plan_borders_find(struct plan_work *work, struct plan *plan, uint32_t *thirds) {
    const uint32_t stages = plan->encoder_stages;
    uint32_t end = thirds_count(work);
    if (work->hand.has_thirds) {
        memcpy(thirds, work->hand.thirds, stages * sizeof *thirds);
        return;
    }
    if (work->cut_stages < stages)
        cuts_find(work, stages > work->stages_max ? stages : work->stages_max);
    for (uint32_t n = stages; n-- > 0;) {
        uint32_t begin = n > 0 ? work->cut[n][end] : 0;
        thirds[n] = end - begin;
        end = begin;
    }
    if (stages > 1 && (work->hand.vgs_count > 0 || !plan->pinned || work->hand.sets_count > 0))
        borders_descend(work, plan, thirds);
}
