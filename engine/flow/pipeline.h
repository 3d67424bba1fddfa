/* pipeline.h: the stages of all replicas, the queues between them, the pool of microbatches.
 *
 * Each replica has its own pool of max_in_flight microbatches, so a stage that lags holds up its
 * stage 0, and in the end admission. Without pipelining the pool has one. */
#ifndef BERTD_FLOW_PIPELINE_H
#define BERTD_FLOW_PIPELINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/queue.h"
#include "engine/base/status.h"
#include "engine/flow/microbatch.h"
#include "engine/flow/plan.h"
#include "engine/flow/stage.h"
#include "engine/flow/team.h"
#include "engine/flow/team_run.h"

struct pipeline_options {
    const struct plan *plan;
    struct microbatch_room room; /* of each microbatch */
    uint32_t warm_tokens;        /* each stage runs this many before the start; 0: none */
    uint32_t sequence_max;       /* in rows of at most so many tokens */
    const void *context;         /* of the functions that follow */
    /* Working memory of one stage in the memory of a node (or MEMORY_NODE_ANY), opened and closed
     * on the stage's own thread. */
    enum status (*scratch_open)(const void *context, uint32_t tokens_max, int node, void **out,
                                struct error *err);
    void (*scratch_close)(const void *context, void *scratch);
    /* Runs consecutive parts of the model on a microbatch in place. On a stage's thread. */
    void (*run)(const void *context, uint32_t first_part, uint32_t parts_count, void *scratch,
                struct microbatch *microbatch, struct team_seat *seat);
    /* Fills a microbatch, waiting for work; false: the end. On the thread of a stage 0. */
    bool (*take)(void *source, struct microbatch *microbatch);
    /* Reads the outputs and gives up the requests. On the thread of a last stage. */
    void (*complete)(void *source, struct microbatch *microbatch);
    /* Tokens that wait at the source. Any thread. */
    uint32_t (*waiting)(void *source);
    void *source;
    bool no_joining;     /* idle cores do not help; see team.h */
    struct trace *trace; /* of plan->replicas * plan->stages_count tracks, or NULL: none */
};

struct replica {
    struct queue *pool;
    struct queue *links[LIMIT_STAGES]; /* links[i]: from stage i to stage i + 1 */
    struct microbatch **microbatches;  /* [max_in_flight] */
    uint32_t microbatches_count;
    uint64_t number;    /* of the next microbatch; stage 0 only */
    uint32_t warm_left; /* passes to warm up with; stage 0 only */
    atomic_bool stuck;  /* takes nothing new; the watchdog's word */
};

struct pipeline {
    struct pipeline_options options;
    uint32_t stages_count, replicas_count; /* stages of one replica */
    struct stage *stages;                  /* [replicas_count * stages_count] */
    struct replica *replicas;
    struct team *team;

    pthread_mutex_t lock; /* covers the start, and changes of a replica's `stuck` */
    pthread_cond_t changed;
    uint32_t stages_ready, passes_done;
    bool go, stop;
    struct error failed; /* status OK: none */
};

/* Starts all threads and, with warm_tokens, has every replica compute PIPELINE_WARM_PASSES
 * microbatches, after which stage.warm_ns is the best time of each stage. Returns when all stages
 * wait for work. Errors: NO_MEMORY, or what scratch_open() says. */
enum { PIPELINE_WARM_PASSES = 2 };
enum status pipeline_open(const struct pipeline_options *options, struct pipeline **out,
                          struct error *err);

/* Joins all threads. The source must have ended, and no replica may be stuck. NULL is allowed. */
void pipeline_close(struct pipeline *pipeline);

/* For stage threads only: reports that the scratch is there (or not) and waits for the start.
 * False: the pipeline does not start. */
bool pipeline_stage_ready(struct pipeline *pipeline, const struct error *failed);

/* For stage 0: fills the microbatch, first for warming up, then from the source. */
bool pipeline_take(struct pipeline *pipeline, uint32_t replica, struct microbatch *microbatch);

/* For the watchdog: the replica takes nothing from the source while it is stuck. */
void pipeline_set_stuck(struct pipeline *pipeline, uint32_t replica, bool stuck);

/* For a stage 0: tokens that wait at the source. */
uint32_t pipeline_waiting(const struct pipeline *pipeline);

/* For the last stage: the microbatch is computed. */
void pipeline_complete(struct pipeline *pipeline, struct microbatch *microbatch);

#endif
