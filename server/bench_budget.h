/* bench_budget.h: the budget of one load as `bertd bench --budget` shows it: where the time of a
 * forward pass goes, beside the floor, and what is spent around it. */
#ifndef BERTD_BENCH_BUDGET_H
#define BERTD_BENCH_BUDGET_H

#include "engine/budget.h"
#include "server/bench_front.h"
#include "server/bench_run.h"
#include "server/json_write.h"

struct bench_budget {
    struct budget budget;
    struct bench_front_result front;
    /* Of the engine's own run, in nanoseconds of all its stage threads for one token: from
     * one run of the model's parts to the next where there was work to go on with, and waiting
     * for work. */
    double handover_ns, idle_ns;
    double handover_turn_ns;  /* of one turn of a stage */
    double tokens_per_second; /* of that run */
};

/* `run` is of the same load and clients. Errors: as engine_measure_budget() and
 * bench_front_measure(). */
enum status bench_budget_measure(struct engine *engine, struct bench_front *front,
                                 const struct bench_load *load, uint32_t clients,
                                 const struct bench_result *run, uint64_t duration_ns,
                                 struct bench_budget *out, struct error *err);

/* As tables on standard output. */
void bench_budget_print(const struct bench_budget *budget, const char *load, uint32_t clients);

/* As one object. */
void bench_budget_put(const struct bench_budget *budget, struct json_writer *json);

#endif
