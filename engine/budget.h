/* budget.h: where the time goes between a text and its scores, for `bertd bench --budget`.
 *
 * A budget is of one load: microbatches filled from some inputs, run by the calling thread alone,
 * through the engine's own functions. Times are sums over all the microbatches. */
#ifndef BERTD_BUDGET_H
#define BERTD_BUDGET_H

#include <stdint.h>

#include "engine/base/status.h"
#include "engine/engine.h"

enum { BUDGET_PARTS_MAX = 20, BUDGET_MICROBATCHES_MAX = 16 };

/* What sets the floor of a part. */
enum budget_bound {
    BUDGET_NO_BOUND,   /* no floor is known */
    BUDGET_ARITHMETIC, /* useful operations at the peak of their type */
    BUDGET_WEIGHTS,    /* the part's weights, read once for each microbatch */
    BUDGET_CACHE       /* rows that come and go, in the core's own caches */
};
const char *budget_bound_name(enum budget_bound bound); /* "arithmetic"; "" of none */

struct budget_part {
    const char *name;
    double ns, least_ns;
    enum budget_bound bound;
};

struct budget {
    /* The last part is `unaccounted`: the pass less all others. Below 0 by the noise of the
     * measurement, which finds pass and parts in different runs. */
    struct budget_part parts[BUDGET_PARTS_MAX];
    uint32_t parts_count;
    double pass_ns; /* the best run without a clock between parts */
    uint32_t microbatches, texts;
    uint64_t tokens;
    double tokenize_ns; /* of the texts; 0: the inputs are token ids */
    /* Of one core, in the same minutes. */
    const char *peak_name;         /* instruction set; "" where the peak is not known */
    double peak_flops;             /* operations a second of the engine's dtype; 0: not known */
    double peak_f32_flops;         /* the same of attention and head */
    double cache_bytes_per_second; /* a block of rows is updated in place */
    double read_bytes_per_second;  /* as many bytes as the weights are read in turn */
    uint64_t weights_bytes;        /* packed */
};

/* Fills up to BUDGET_MICROBATCHES_MAX microbatches as the batcher does when there is enough to do,
 * from the first inputs on, and runs them for `duration_ns` in turns with and without a clock
 * between parts; the best of each counts. Takes a second copy of the weights meanwhile. Nothing
 * else should run. Errors: INVALID_UTF8, INVALID_VALUE (an input), NO_MEMORY, INTERNAL. */
enum status engine_measure_budget(struct engine *engine, const struct engine_input *inputs,
                                  uint32_t count, uint64_t duration_ns, struct budget *out,
                                  struct error *err);

#endif
