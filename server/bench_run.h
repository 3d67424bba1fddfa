/* bench_run.h: one measurement of `bertd bench`: a number of clients, each of which sends its next
 * input when the answer to the last one has come (a closed loop), for a given time or work. */
#ifndef BERTD_BENCH_RUN_H
#define BERTD_BENCH_RUN_H

#include <stdint.h>

#include "engine/engine.h"
#include "server/bench_load.h"

/* One stage's share of the measured time: busy (of it after the parts of the model: completing),
 * waiting for input, waiting for room (of both while the next turn could have begun: ready). */
struct bench_stage {
    const char *name;
    uint32_t replica;
    double busy, completing, starved, blocked, ready; /* 0..1 */
};

struct bench_result {
    double seconds;
    uint64_t texts, tokens;        /* real tokens, special ones included */
    uint64_t microbatches;         /* turns of all stages */
    double p50_ms, p90_ms, p99_ms; /* from submission to completion */
    struct bench_stage *stages;    /* those of all replicas */
    uint32_t stages_count;
};

/* How long to measure: `passes` times as many answers as there are inputs, so that all runs do the
 * same work (but for answers that overtake each other); with 0, for `duration_ns`. */
struct bench_span {
    uint64_t duration_ns;
    uint64_t passes; /* at most LIMIT_BENCH_PASSES */
};

/* Warms up for a tenth of the duration (at least a fifth of a second), then measures. The engine's
 * queue must take all clients at once. Errors: NO_MEMORY, and that of any call that fails. */
enum status bench_run(struct engine *engine, const struct bench_load *load, uint32_t clients,
                      struct bench_span span, struct bench_result *out, struct error *err);
void bench_result_free(struct bench_result *result);

#endif
