/* pipeline.c: building, starting, warming up and joining the stages. */
#include "engine/flow/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/flow/place.h"
#include "engine/flow/request.h"
#include "engine/flow/trace.h"

static enum status replica_open(struct pipeline *pipeline, uint32_t index) {
    const struct pipeline_options *options = &pipeline->options;
    const struct plan *plan = options->plan;
    struct replica *replica = &pipeline->replicas[index];
    const int node = place_get_node(plan, index, 0);
    replica->microbatches = calloc(plan->max_in_flight, sizeof(struct microbatch *));
    if (!replica->microbatches || queue_open(plan->max_in_flight, &replica->pool) != STATUS_OK)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i + 1 < plan->stages_count; i++)
        if (queue_open(1, &replica->links[i]) != STATUS_OK)
            return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < plan->max_in_flight; i++) {
        struct microbatch **microbatch = &replica->microbatches[replica->microbatches_count];
        if (microbatch_open(&options->room, node, microbatch) != STATUS_OK)
            return STATUS_NO_MEMORY;
        replica->microbatches_count++;
        queue_push(replica->pool, *microbatch);
    }
    replica->warm_left = options->warm_tokens > 0 ? PIPELINE_WARM_PASSES : 0;
    return STATUS_OK;
}

static void replica_free(struct replica *replica) {
    for (uint32_t i = 0; i < replica->microbatches_count; i++)
        microbatch_free(replica->microbatches[i]);
    for (uint32_t i = 0; i < LIMIT_STAGES; i++)
        queue_free(replica->links[i]);
    queue_free(replica->pool);
    free(replica->microbatches);
}

static void stage_place(struct pipeline *pipeline, uint32_t replica_index, uint32_t index) {
    const struct plan_stage *planned = &pipeline->options.plan->stages[index];
    struct replica *replica = &pipeline->replicas[replica_index];
    struct stage *stage = &pipeline->stages[replica_index * pipeline->stages_count + index];
    stage_init(stage, pipeline);
    memcpy(stage->name, planned->name, sizeof stage->name);
    if (pipeline->options.trace)
        trace_set_name(pipeline->options.trace, replica_index * pipeline->stages_count + index,
                       stage->name);
    stage->replica = replica_index;
    stage->index = index;
    stage->upstream = index == 0 ? replica->pool : replica->links[index - 1];
    stage->trace = pipeline->options.trace;
    stage->downstream = index + 1 == pipeline->stages_count ? replica->pool : replica->links[index];
}

/* Waits until every started stage has its scratch or has failed, then lets them go or stop. */
static void stages_release(struct pipeline *pipeline, uint32_t started, struct error *failed) {
    uint32_t all = pipeline->stages_count * pipeline->replicas_count;
    pthread_mutex_lock(&pipeline->lock);
    while (pipeline->stages_ready < started)
        pthread_cond_wait(&pipeline->changed, &pipeline->lock);
    if (failed->status == STATUS_OK)
        *failed = pipeline->failed;
    pipeline->go = failed->status == STATUS_OK;
    pipeline->stop = !pipeline->go;
    pthread_cond_broadcast(&pipeline->changed);
    uint32_t passes = pipeline->go && pipeline->options.warm_tokens > 0
                          ? pipeline->replicas_count * PIPELINE_WARM_PASSES
                          : 0;
    while (started == all && pipeline->passes_done < passes)
        pthread_cond_wait(&pipeline->changed, &pipeline->lock);
    pthread_mutex_unlock(&pipeline->lock);
}

static enum status pipeline_start(struct pipeline *pipeline, struct error *err) {
    struct error failed = {.status = STATUS_OK, .input = -1};
    uint32_t started = 0, all = pipeline->stages_count * pipeline->replicas_count;
    for (; started < all; started++) {
        struct stage *stage = &pipeline->stages[started];
        char name[THREAD_NAME_BYTES + 16];
        snprintf(name, sizeof name, "%s/%u", stage->name, stage->replica);
        if (thread_start(&stage->thread, name, stage_run, stage, &failed) != STATUS_OK)
            break;
    }
    stages_release(pipeline, started, &failed);
    if (failed.status != STATUS_OK && err)
        *err = failed;
    return failed.status;
}

enum status pipeline_open(const struct pipeline_options *options, struct pipeline **out,
                          struct error *err) {
    const struct plan *plan = options->plan;
    struct pipeline *pipeline = calloc(1, sizeof *pipeline);
    enum status status = STATUS_OK;
    *out = NULL;
    if (!pipeline)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the pipeline");
    pipeline->options = *options;
    pipeline->stages_count = plan->stages_count;
    pthread_mutex_init(&pipeline->lock, NULL);
    pthread_cond_init(&pipeline->changed, NULL);
    pipeline->stages =
        calloc((size_t)plan->replicas * plan->stages_count, sizeof *pipeline->stages);
    pipeline->replicas = calloc(plan->replicas, sizeof *pipeline->replicas);
    if (!pipeline->stages || !pipeline->replicas)
        status = STATUS_NO_MEMORY;
    while (status == STATUS_OK && pipeline->replicas_count < plan->replicas) {
        uint32_t replica = pipeline->replicas_count++;
        status = replica_open(pipeline, replica);
        for (uint32_t i = 0; i < plan->stages_count; i++)
            stage_place(pipeline, replica, i);
    }
    if (status != STATUS_OK)
        error_set(err, status, "no memory for %u microbatches of %u tokens in each of %u replicas",
                  plan->max_in_flight, options->room.tokens_max, plan->replicas);
    else
        status = team_open(&pipeline->options, &pipeline->team, err);
    if (status == STATUS_OK)
        status = pipeline_start(pipeline, err);
    if (status != STATUS_OK)
        pipeline_close(pipeline);
    else
        *out = pipeline;
    return status;
}

void pipeline_close(struct pipeline *pipeline) {
    if (!pipeline)
        return;
    for (uint32_t i = 0; i < pipeline->replicas_count * pipeline->stages_count; i++)
        thread_join(&pipeline->stages[i].thread);
    team_close(pipeline->team);
    for (uint32_t i = 0; i < pipeline->replicas_count * pipeline->stages_count; i++)
        stage_free(&pipeline->stages[i]);
    for (uint32_t i = 0; i < pipeline->replicas_count; i++)
        replica_free(&pipeline->replicas[i]);
    free(pipeline->replicas);
    free(pipeline->stages);
    pthread_cond_destroy(&pipeline->changed);
    pthread_mutex_destroy(&pipeline->lock);
    free(pipeline);
}

bool pipeline_stage_ready(struct pipeline *pipeline, const struct error *failed) {
    pthread_mutex_lock(&pipeline->lock);
    if (failed && pipeline->failed.status == STATUS_OK)
        pipeline->failed = *failed;
    pipeline->stages_ready++;
    pthread_cond_broadcast(&pipeline->changed);
    while (!pipeline->go && !pipeline->stop)
        pthread_cond_wait(&pipeline->changed, &pipeline->lock);
    bool go = pipeline->go;
    pthread_mutex_unlock(&pipeline->lock);
    return go;
}

/* Rows of token id 0 and no request. */
static void microbatch_fill_warm(struct microbatch *microbatch,
                                 const struct pipeline_options *options) {
    uint32_t left = options->warm_tokens;
    memset(microbatch->ids, 0, left * sizeof *microbatch->ids);
    memset(microbatch->type_ids, 0, left);
    microbatch->tokens = microbatch->rows = 0;
    microbatch->starts[0] = microbatch->reads_starts[0] = 0;
    while (left > 0 && microbatch->rows < microbatch->rows_max) {
        uint32_t tokens = left < options->sequence_max ? left : options->sequence_max;
        left -= tokens;
        microbatch->reads[microbatch->rows] = microbatch->tokens;
        microbatch->requests[microbatch->rows++] = NULL;
        microbatch->reads_starts[microbatch->rows] = microbatch->rows;
        microbatch->tokens += tokens;
        microbatch->starts[microbatch->rows] = microbatch->tokens;
    }
}

/* Says in whose hands the requests are. */
static void requests_mark(struct microbatch *microbatch, uint32_t replica) {
    for (uint32_t row = 0; row < microbatch->rows; row++)
        atomic_store(&microbatch->requests[row]->replica, replica);
}

static void replica_wait(struct pipeline *pipeline, const struct replica *replica) {
    pthread_mutex_lock(&pipeline->lock);
    while (atomic_load(&replica->stuck))
        pthread_cond_wait(&pipeline->changed, &pipeline->lock);
    pthread_mutex_unlock(&pipeline->lock);
}

bool pipeline_take(struct pipeline *pipeline, uint32_t replica_index,
                   struct microbatch *microbatch) {
    struct replica *replica = &pipeline->replicas[replica_index];
    microbatch->number = replica->number++;
    if (replica->warm_left > 0) {
        replica->warm_left--;
        microbatch_fill_warm(microbatch, &pipeline->options);
        return true;
    }
    if (atomic_load(&replica->stuck))
        replica_wait(pipeline, replica);
    if (!pipeline->options.take(pipeline->options.source, microbatch))
        return false;
    requests_mark(microbatch, REQUEST_IN_REPLICA(replica_index));
    team_count_in(pipeline->team);
    return true;
}

void pipeline_set_stuck(struct pipeline *pipeline, uint32_t replica_index, bool stuck) {
    struct replica *replica = &pipeline->replicas[replica_index];
    if (atomic_load(&replica->stuck) == stuck)
        return;
    pthread_mutex_lock(&pipeline->lock);
    atomic_store(&replica->stuck, stuck);
    pthread_cond_broadcast(&pipeline->changed);
    pthread_mutex_unlock(&pipeline->lock);
}

uint32_t pipeline_waiting(const struct pipeline *pipeline) {
    return pipeline->options.waiting(pipeline->options.source);
}

void pipeline_complete(struct pipeline *pipeline, struct microbatch *microbatch) {
    if (microbatch->requests[0]) {
        requests_mark(microbatch, 0);
        team_count_out(pipeline->team);
        pipeline->options.complete(pipeline->options.source, microbatch);
        return;
    }
    pthread_mutex_lock(&pipeline->lock);
    pipeline->passes_done++;
    pthread_cond_broadcast(&pipeline->changed);
    pthread_mutex_unlock(&pipeline->lock);
}
