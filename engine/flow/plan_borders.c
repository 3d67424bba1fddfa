/* plan_borders.c: where the stages end, in thirds of layers.
 *
 * With a core for each virtual graph the best borders are those whose heaviest graph is lightest;
 * dynamic programming over (stages, thirds) finds them exactly:
 *   best[n][t] = least over k of max(best[n-1][k], cost of thirds k..t and their hand-over)
 * where the first stage carries the embedding and the head too. Where several stages share a CPU
 * set, all borders are tried when they are few; else these are the start of descents that move
 * thirds between any two stages. */
#include <string.h>

#include "engine/flow/plan_internal.h"

enum { WAYS_MAX = 3000 };

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

/* What the best plan so far reaches. */
struct reached {
    double rate, squares;
};

/* Takes the draft of these thirds if it is better. */
static bool thirds_try(struct plan_work *work, struct plan *plan, const uint32_t *thirds,
                       struct reached *reached) {
    double squares;
    plan_stages_set(plan, thirds);
    plan_predict(work->wishes, plan);
    if (!draft_is_better(plan, reached->rate, reached->squares, &squares))
        return false;
    *reached = (struct reached){plan->tokens_per_second, squares};
    return true;
}

/* The next way to share out `all` thirds, the last stage taking the rest; false after the last. */
static bool thirds_next(uint32_t *thirds, uint32_t stages, uint32_t all) {
    for (uint32_t i = stages - 1; i-- > 0;) {
        uint32_t sum = ++thirds[i];
        for (uint32_t k = 0; k + 1 < stages; k++) {
            if (k > i)
                thirds[k] = 1;
            sum += k != i ? thirds[k] : 0;
        }
        if (sum < all) {
            thirds[stages - 1] = all - sum;
            return true;
        }
    }
    return false;
}

/* Ways to cut `all` thirds into so many stages, or WAYS_MAX + 1 for more. */
static uint32_t ways_count(uint32_t all, uint32_t stages) {
    uint64_t ways = 1;
    for (uint32_t i = 1; i < stages && ways <= WAYS_MAX; i++)
        ways = ways * (all - i) / i;
    return ways <= WAYS_MAX ? (uint32_t)ways : WAYS_MAX + 1;
}

static void borders_try_all(struct plan_work *work, struct plan *plan, uint32_t *thirds) {
    const uint32_t stages = plan->encoder_stages, all = thirds_count(work);
    struct reached reached = {0, 0};
    uint32_t tried[LIMIT_STAGES];
    for (uint32_t i = 0; i < stages; i++)
        tried[i] = i + 1 < stages ? 1 : all - (stages - 1);
    do {
        if (thirds_try(work, plan, tried, &reached))
            memcpy(thirds, tried, stages * sizeof *thirds);
    } while (thirds_next(tried, stages, all));
}

/* Moves thirds from stage `from` to stage `to`, those between shift along; keeps the best number
 * of them. Whether that was better than none. */
static bool thirds_move(struct plan_work *work, struct plan *plan, uint32_t from, uint32_t to,
                        uint32_t *thirds, struct reached *reached) {
    const uint32_t has = thirds[from], gets = thirds[to];
    uint32_t best = 0;
    for (uint32_t moved = 1; moved < has; moved++) {
        thirds[from] = has - moved;
        thirds[to] = gets + moved;
        if (thirds_try(work, plan, thirds, reached))
            best = moved;
    }
    thirds[from] = has - best;
    thirds[to] = gets + best;
    return best > 0;
}

/* Moves thirds between any two stages while that helps. */
static struct reached borders_descend(struct plan_work *work, struct plan *plan, uint32_t *thirds) {
    enum { ROUNDS_MAX = 100 };
    struct reached reached = {0, 0};
    bool moved = true;
    thirds_try(work, plan, thirds, &reached);
    for (uint32_t round = 0; moved && round < ROUNDS_MAX; round++) {
        moved = false;
        for (uint32_t from = 0; from < plan->encoder_stages; from++)
            for (uint32_t to = 0; to < plan->encoder_stages; to++)
                if (from != to)
                    moved |= thirds_move(work, plan, from, to, thirds, &reached);
    }
    return reached;
}

/* Several moves at a time, another choice for each `kick`. */
static void thirds_kick(uint32_t *thirds, uint32_t stages, uint32_t kick) {
    for (uint32_t i = 0; i < stages; i++) {
        const uint32_t from = (kick * 7 + i * 5) % stages;
        const uint32_t to = (from + 1 + (kick + i * i) % (stages - 1)) % stages;
        const uint32_t moved = thirds[from] > 1 + kick % 3 ? 1 + kick % 3 : thirds[from] - 1;
        thirds[from] -= moved;
        thirds[to] += moved;
    }
}

/* A descent ends where no single move helps; others from about there may end higher. */
static void borders_search(struct plan_work *work, struct plan *plan, uint32_t *thirds) {
    enum { KICKS = 200 };
    const uint32_t stages = plan->encoder_stages;
    struct reached best = borders_descend(work, plan, thirds);
    uint32_t tried[LIMIT_STAGES];
    for (uint32_t kick = 1; kick <= KICKS / stages; kick++) {
        memcpy(tried, thirds, stages * sizeof *thirds);
        thirds_kick(tried, stages, kick);
        const struct reached reached = borders_descend(work, plan, tried);
        if (reached.rate <= best.rate * (1 + 1e-9))
            continue;
        best = reached;
        memcpy(thirds, tried, stages * sizeof *thirds);
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
    if (stages == 1 || (plan->own_cores && work->hand.vgs_count == 0))
        return;
    if (ways_count(thirds_count(work), stages) <= WAYS_MAX)
        borders_try_all(work, plan, thirds);
    else
        borders_search(work, plan, thirds);
}
