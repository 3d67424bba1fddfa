/* engine_info.c: what the engine tells about itself. Any thread. */
#include "engine/engine_internal.h"

const struct engine_info *engine_get_info(const struct engine *engine) {
    return &engine->info;
}

const char *engine_plan_text(const struct engine *engine) {
    return engine->plan_text;
}

const char *engine_plan_json(const struct engine *engine) {
    return engine->plan_json;
}

void engine_get_statistics(struct engine *engine, struct engine_statistics *out) {
    *out = (struct engine_statistics){
        .inputs = atomic_load(&engine->inputs),
        .tokens = atomic_load(&engine->tokens),
        .truncated = atomic_load(&engine->truncated),
        .queue_tokens = atomic_load(&engine->admission.queue_tokens),
        .calls_in_flight = atomic_load(&engine->admission.calls_in_flight),
        .stuck_stage = watchdog_get_stuck(engine->watchdog),
        .drain_tokens_per_second = rate_get(&engine->rate),
        .microbatch_tokens = &engine->batcher.microbatch_tokens,
        .microbatch_inputs = &engine->batcher.microbatch_inputs,
    };
}

bool engine_get_stage(struct engine *engine, uint32_t index, struct stage_statistics *out) {
    struct pipeline *pipeline = engine->pipeline;
    struct stage_times times;
    if (index >= pipeline->stages_count * pipeline->replicas_count)
        return false;
    struct stage *stage = &pipeline->stages[index];
    stage_get_times(stage, &times);
    *out = (struct stage_statistics){
        .name = stage->name,
        .replica = stage->replica,
        .stage = stage->index,
        .busy_ns = times.ns[STAGE_BUSY],
        .starved_ns = times.ns[STAGE_STARVED],
        .blocked_ns = times.ns[STAGE_BLOCKED],
        .completing_ns = times.completing_ns,
        .ready_ns = times.ready_ns,
        .microbatches = times.microbatches,
        .tokens = times.tokens,
    };
    return true;
}
