/* plan_contention.c: how much slower stages run that share a CPU set with more threads than it has
 * cores for.
 *
 * A mean-field estimate: thread j is busy for a part u[j] of the time, independent of the others;
 * while k of the others are busy it has min(1, cores / (k + 1)) of its full speed. So it runs at
 *   v[j] = sum over k of P(k others busy) * min(1, cores / (k + 1))
 * on average, takes service / v[j] for a token, and u[j] is that over the period of its replica,
 * which the longest of them sets. Repeated until nothing moves. */
#include "engine/flow/plan_internal.h"

enum { THREADS_MAX = 16, ROUNDS_MAX = 60 };
static const double settled = 1e-4;

struct thread_load {
    uint32_t replica;
    const struct plan_stage *stage;
    const struct plan_place *place;
    double service, busy;
};

static uint32_t threads_list(const struct plan *plan, struct thread_load *threads) {
    uint32_t count = 0;
    if ((uint64_t)plan->replicas * plan->stages_count > THREADS_MAX)
        return 0;
    for (uint32_t r = 0; r < plan->replicas; r++)
        for (uint32_t i = 0; i < plan->stages_count; i++)
            threads[count++] = (struct thread_load){
                .replica = r,
                .stage = &plan->stages[i],
                .place = plan_get_place(plan, r, plan->stages[i].vg),
                .service = plan_stage_period(plan, r, &plan->stages[i]),
            };
    return count;
}

/* Part of the time that thread `i` makes cores scarce for thread `j`. With one microbatch in
 * flight the threads of a replica take turns, so the first on the set stands for all of them. */
static double busy_for(const struct plan *plan, const struct thread_load *threads, uint32_t count,
                       uint32_t i, uint32_t j) {
    double busy = 0;
    if (i == j || threads[i].place->first != threads[j].place->first)
        return 0;
    if (plan->max_in_flight > 1)
        return threads[i].busy;
    if (threads[i].replica == threads[j].replica)
        return 0;
    for (uint32_t t = 0; t < count; t++) {
        if (threads[t].replica != threads[i].replica ||
            threads[t].place->first != threads[i].place->first)
            continue;
        if (t < i)
            return 0;
        busy += threads[t].busy;
    }
    return busy < 1 ? busy : 1;
}

/* v[j] of the above. */
static double thread_speed(const struct plan *plan, const struct thread_load *threads,
                           uint32_t count, uint32_t j) {
    double chance[THREADS_MAX + 1] = {1}, speed = 0;
    uint32_t others = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double busy = busy_for(plan, threads, count, i, j);
        if (busy <= 0)
            continue;
        others++;
        for (uint32_t k = others; k > 0; k--)
            chance[k] += (chance[k - 1] - chance[k]) * busy;
        chance[0] *= 1 - busy;
    }
    for (uint32_t k = 0; k <= others; k++) {
        const double wanted = (k + 1.0) * plan->stage_threads;
        const double cores = threads[j].place->cores;
        speed += chance[k] * (wanted > cores ? cores / wanted : 1);
    }
    return speed;
}

/* Whether the periods moved. */
static bool round_run(const struct plan *plan, struct thread_load *threads, uint32_t count,
                      double *periods) {
    double took[THREADS_MAX], sum[LIMIT_REPLICAS] = {0}, longest[LIMIT_REPLICAS] = {0};
    bool moved = false;
    for (uint32_t j = 0; j < count; j++) {
        const uint32_t r = threads[j].replica;
        took[j] = threads[j].service / thread_speed(plan, threads, count, j);
        sum[r] += took[j];
        longest[r] = took[j] > longest[r] ? took[j] : longest[r];
    }
    for (uint32_t r = 0; r < plan->replicas; r++) {
        double period = sum[r] / plan->max_in_flight;
        period = longest[r] > period ? longest[r] : period;
        moved |= period > periods[r] * (1 + settled) || period < periods[r] * (1 - settled);
        periods[r] = period;
    }
    for (uint32_t j = 0; j < count; j++)
        threads[j].busy =
            periods[threads[j].replica] > 0 ? took[j] / periods[threads[j].replica] : 0;
    return moved;
}

void plan_contention_apply(const struct plan *plan, double *periods) {
    struct thread_load threads[THREADS_MAX];
    double estimated[LIMIT_REPLICAS];
    const uint32_t count = threads_list(plan, threads);
    for (uint32_t r = 0; r < plan->replicas; r++)
        estimated[r] = periods[r];
    for (uint32_t j = 0; j < count; j++)
        threads[j].busy = threads[j].service / periods[threads[j].replica];
    for (uint32_t round = 0; round < ROUNDS_MAX && count > 0; round++)
        if (!round_run(plan, threads, count, estimated))
            break;
    for (uint32_t r = 0; r < plan->replicas; r++)
        periods[r] = estimated[r] > periods[r] ? estimated[r] : periods[r];
}
