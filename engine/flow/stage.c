/* stage.c: the loop of a stage thread, and the accounting of its time. */
#include "engine/flow/stage.h"

#include "engine/base/clock.h"
#include "engine/base/fault.h"
#include "engine/flow/call.h"
#include "engine/flow/pipeline.h"
#include "engine/flow/place.h"
#include "engine/flow/trace.h"

void stage_init(struct stage *stage, struct pipeline *pipeline) {
    stage->pipeline = pipeline;
    stage->warm_ns = UINT64_MAX;
    stage->state = STAGE_STARVED;
    stage->since_ns = clock_now_ns();
    pthread_mutex_init(&stage->lock, NULL);
}

void stage_free(struct stage *stage) {
    pthread_mutex_destroy(&stage->lock);
}

/* `running`: the microbatch of a busy stage, else NULL. Returns the time of the change. */
static uint64_t stage_enter(struct stage *stage, enum stage_state state,
                            const struct microbatch *running) {
    pthread_mutex_lock(&stage->lock);
    uint64_t now = clock_now_ns();
    stage->times.ns[stage->state] += now - stage->since_ns;
    stage->state = state;
    stage->since_ns = now;
    stage->running = running;
    stage->entered++;
    pthread_mutex_unlock(&stage->lock);
    return now;
}

bool stage_get_progress(struct stage *stage, uint64_t *progress) {
    pthread_mutex_lock(&stage->lock);
    bool busy = stage->state == STAGE_BUSY;
    *progress = stage->entered;
    if (busy)
        *progress += atomic_load_explicit(&stage->running->parts_done, memory_order_relaxed);
    pthread_mutex_unlock(&stage->lock);
    return busy;
}

void stage_get_times(struct stage *stage, struct stage_times *out) {
    pthread_mutex_lock(&stage->lock);
    *out = stage->times;
    out->ns[stage->state] += clock_now_ns() - stage->since_ns;
    pthread_mutex_unlock(&stage->lock);
}

static void stage_count(struct stage *stage, const struct microbatch *microbatch) {
    pthread_mutex_lock(&stage->lock);
    stage->times.microbatches++;
    stage->times.tokens += microbatch->tokens;
    pthread_mutex_unlock(&stage->lock);
}

/* Between two runs: completing the first, then the way to the second, if nothing had to come. */
static void stage_count_handover(struct stage *stage, uint64_t completing_ns, uint64_t ready_ns) {
    pthread_mutex_lock(&stage->lock);
    stage->times.completing_ns += completing_ns;
    stage->times.ready_ns += ready_ns;
    pthread_mutex_unlock(&stage->lock);
}

static bool microbatch_is_warming(const struct microbatch *microbatch) {
    return !microbatch->requests[0];
}

/* Whether anybody still waits for a row of it. An answered call stays answered, so once this is
 * false the stages after this one see the same, and none reads what was not computed. */
static bool microbatch_is_wanted(const struct microbatch *microbatch) {
    for (uint32_t row = 0; row < microbatch->rows; row++)
        if (!microbatch->requests[row] || !call_is_answered(microbatch->requests[row]->call))
            return true;
    return false;
}

static void stage_compute(struct stage *stage, void *scratch, struct microbatch *microbatch) {
    if (!microbatch_is_wanted(microbatch))
        return;
    uint64_t start = clock_now_ns();
    fault_stage_hang(stage->name, stage->replica);
    team_run_stage(stage->pipeline->team, stage->replica, stage->index, scratch, microbatch);
    if (!microbatch_is_warming(microbatch)) {
        stage_count(stage, microbatch);
        return;
    }
    uint64_t took = clock_now_ns() - start;
    if (took < stage->warm_ns)
        stage->warm_ns = took;
}

/* The next microbatch to compute, or NULL at the end. */
static struct microbatch *stage_take(struct stage *stage) {
    if (stage->index > 0) {
        stage_enter(stage, STAGE_STARVED, NULL);
        return queue_pop(stage->upstream);
    }
    /* The pool is empty when all microbatches are further down: that is being blocked. */
    stage_enter(stage, STAGE_BLOCKED, NULL);
    struct microbatch *microbatch = queue_pop(stage->upstream);
    stage_enter(stage, STAGE_STARVED, NULL);
    return pipeline_take(stage->pipeline, stage->replica, microbatch) ? microbatch : NULL;
}

/* What waits in front of the stage as it starts: microbatches, or tokens for a stage 0. */
static uint32_t stage_waiting(struct stage *stage) {
    return stage->index > 0 ? queue_depth(stage->upstream) : pipeline_waiting(stage->pipeline);
}

/* Whether the next microbatch is there already, and for a stage 0 something to fill it with. */
static bool stage_is_ready(struct stage *stage) {
    return queue_depth(stage->upstream) > 0 &&
           (stage->index > 0 || pipeline_waiting(stage->pipeline) > 0);
}

/* Hands the microbatch on. Whether the stage waits for nothing on the way to its next turn. */
static bool stage_give(struct stage *stage, struct microbatch *microbatch) {
    if (queue_try_push(stage->downstream, microbatch))
        return stage_is_ready(stage);
    queue_push(stage->downstream, microbatch);
    return false;
}

static void stage_loop(struct stage *stage, void *scratch) {
    bool last = stage->index + 1 == stage->pipeline->stages_count, ready = false;
    uint64_t computed_ns = 0, ended_ns = 0; /* of the turn before */
    for (struct microbatch *microbatch; (microbatch = stage_take(stage));) {
        struct trace_slice slice = {
            .number = microbatch->number, .rows = microbatch->rows, .tokens = microbatch->tokens};
        if (stage->trace)
            slice.waiting = stage_waiting(stage);
        slice.start_ns = stage_enter(stage, STAGE_BUSY, microbatch);
        stage_count_handover(stage, ended_ns - computed_ns, ready ? slice.start_ns - ended_ns : 0);
        stage_compute(stage, scratch, microbatch);
        computed_ns = clock_now_ns();
        if (last)
            pipeline_complete(stage->pipeline, microbatch);
        slice.end_ns = stage_enter(stage, STAGE_BLOCKED, NULL);
        if (stage->trace)
            trace_add(stage->trace, stage->replica * stage->pipeline->stages_count + stage->index,
                      &slice);
        ended_ns = slice.end_ns;
        ready = stage_give(stage, microbatch);
    }
    if (!last)
        queue_close(stage->downstream);
}

void stage_run(void *context) {
    struct stage *stage = context;
    const struct pipeline_options *options = &stage->pipeline->options;
    struct error err = {.status = STATUS_OK};
    void *scratch = NULL;
    const int node = place_enter(options->plan, stage->replica, stage->index);
    options->scratch_open(options->context, options->room.tokens_max, node, &scratch, &err);
    if (pipeline_stage_ready(stage->pipeline, err.status == STATUS_OK ? NULL : &err))
        stage_loop(stage, scratch);
    options->scratch_close(options->context, scratch);
}
