/* stage.h: one thread that runs some consecutive parts of the model on one microbatch at a time.
 *
 * Loop: take a microbatch from upstream, run the parts in place, give it downstream. Stage 0 takes
 * empty microbatches from the replica's pool and has the source fill them; the last stage hands
 * them to `complete` and back to the pool. A microbatch of which nobody wants an answer any more
 * passes without being computed.
 *
 * When the source ends, stage 0 ends and closes its queue, so that the end runs down the line. */
#ifndef BERTD_FLOW_STAGE_H
#define BERTD_FLOW_STAGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/queue.h"
#include "engine/base/status.h"
#include "engine/base/thread.h"
#include "engine/flow/microbatch.h"

enum stage_state { STAGE_STARVED, STAGE_BUSY, STAGE_BLOCKED, STAGE_STATES };

/* What the thread spent its time on. */
struct stage_times {
    uint64_t ns[STAGE_STATES];
    uint64_t completing_ns; /* of busy: after the parts of the model */
    uint64_t ready_ns;      /* of starved and blocked: while the next turn could have begun */
    uint64_t microbatches, tokens; /* computed, without warming up */
};

struct pipeline;
struct trace;

struct stage {
    char name[THREAD_NAME_BYTES]; /* "stage 0", "head" */
    uint32_t replica, index;
    struct pipeline *pipeline;
    struct queue *upstream;   /* of stage 0: the pool */
    struct queue *downstream; /* of the last stage: the pool */
    struct thread thread;
    struct trace *trace; /* NULL: none */
    uint64_t warm_ns;    /* shortest run over a warming microbatch; written before it is complete */

    pthread_mutex_t lock; /* covers what follows */
    enum stage_state state;
    uint64_t since_ns;                /* when the state began */
    uint64_t entered;                 /* states so far */
    const struct microbatch *running; /* while busy */
    struct stage_times times;
};

/* Sets up what does not depend on others; stage_free() undoes it. */
void stage_init(struct stage *stage, struct pipeline *pipeline);
void stage_free(struct stage *stage);

/* The thread's main function; `context` is the stage. */
void stage_run(void *context);

/* A number that stays the same only while the stage finishes no part of its work; false when it is
 * not busy. Any thread. */
bool stage_get_progress(struct stage *stage, uint64_t *progress);

/* Times up to now, the running state included. Any thread. */
void stage_get_times(struct stage *stage, struct stage_times *out);

#endif
