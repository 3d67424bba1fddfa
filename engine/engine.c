/* engine.c: opening and closing the engine: model, tokenizer, nodes, plan, threads, first pass.
 *
 * Threads: the deadlines' one, the tokenizers, and for each replica one for each stage. The order
 * of closing is the way of the data: first the calls, then the tokenizers, then the stages. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/engine_internal.h"

enum { WARM_TOKENS = 64 };

static enum status scratch_open(const void *nodes, uint32_t tokens_max, int node, void **out,
                                struct error *err) {
    return nodes_scratch_open(nodes, tokens_max, node, out, err);
}

static void scratch_close(const void *nodes, void *scratch) {
    nodes_scratch_close(nodes, scratch);
}

static bool source_take(void *engine, struct microbatch *microbatch) {
    return batcher_take(&((struct engine *)engine)->batcher, microbatch);
}

static uint32_t source_waiting(void *engine) {
    uint64_t tokens = atomic_load(&((struct engine *)engine)->admission.queue_tokens);
    return tokens < UINT32_MAX ? (uint32_t)tokens : UINT32_MAX;
}

static void info_set(struct engine *engine, const struct engine_options *options) {
    const struct model *model = engine->model;
    const struct model_config *config = model_get_config(model);
    struct engine_info *info = &engine->info;
    info->name = model_get_name(model);
    info->family = model_get_family(model);
    info->task = model_task_name(model_get_task(model));
    info->task_kind = engine->steps->task;
    info->mask_token = engine->mask_token;
    info->mask_id = tokenizer_get_mask(engine->tokenizer);
    info->dtype = nodes_get_dtype(engine->nodes);
    info->revision = model_get_revision(model);
    info->labels = config->labels;
    info->thresholds = config->thresholds;
    info->labels_count = config->labels_count;
    info->activation = engine_activation(config);
    info->special_tokens = tokenizer_special_count(engine->tokenizer, false);
    info->vocab_size = config->vocab_size;
    info->hidden_size = config->hidden_size;
    info->layers_count = config->layers_count;
    info->call_tokens_max =
        options->call_tokens_max > 0 ? options->call_tokens_max : LIMIT_CALL_TOKENS;
}

static enum status options_check(const struct engine_options *options, struct error *err) {
    if (options->microbatch_tokens > LIMIT_MICROBATCH_TOKENS)
        return error_set(err, STATUS_INVALID_VALUE, "--microbatch-tokens %u: at most %u",
                         options->microbatch_tokens, LIMIT_MICROBATCH_TOKENS);
    if (options->tokenizer_threads > LIMIT_TOKENIZER_THREADS)
        return error_set(err, STATUS_INVALID_VALUE, "--tokenizer-threads %u: at most %u",
                         options->tokenizer_threads, LIMIT_TOKENIZER_THREADS);
    return STATUS_OK;
}

static enum status mask_token_find(struct engine *engine, struct error *err) {
    const int32_t mask = tokenizer_get_mask(engine->tokenizer);
    if (mask < 0)
        return STATUS_OK;
    const struct view token = tokenizer_token(engine->tokenizer, mask);
    engine->mask_token = strndup(token.data, token.bytes);
    return engine->mask_token ? STATUS_OK
                              : error_set(err, STATUS_NO_MEMORY, "no memory for the mask token");
}

static enum status model_load(struct engine *engine, const struct engine_options *options,
                              struct error *err) {
    enum status status = options_check(options, err);
    if (status == STATUS_OK)
        status = model_open(options->model_dir, &engine->model, err);
    if (status == STATUS_OK)
        status = tokenizer_open(options->model_dir, &engine->tokenizer, err);
    if (status == STATUS_OK)
        status = engine_fit(engine->model, engine->tokenizer, &engine->info.tokens_max, err);
    if (status == STATUS_OK)
        status =
            nodes_open(engine->model, options->dtype ? options->dtype : "f32", &engine->nodes, err);
    if (status == STATUS_OK)
        nodes_set_all_rows(engine->nodes, options->all_rows);
    if (status == STATUS_OK)
        status = engine_make_plan(engine, &options->plan, options->microbatch_tokens, err);
    if (status == STATUS_OK)
        status = engine_pack_weights(engine, err);
    if (status != STATUS_OK)
        return status;
    status = mask_token_find(engine, err);
    if (status != STATUS_OK)
        return status;
    engine->steps = task_find(model_get_task(engine->model));
    info_set(engine, options);
    engine->info.stages_count = engine->plan.stages_count;
    engine->info.replicas_count = engine->plan.replicas;
    engine->info.weights_bytes = engine->plan.weights_bytes;
    engine->plan_text = plan_to_text(&engine->plan);
    engine->plan_json = plan_to_json(&engine->plan);
    if (!engine->plan_text || !engine->plan_json)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the plan's text");
    return STATUS_OK;
}

/* Tokens that a microbatch has room for; any single request must fit. */
static uint32_t microbatch_room(const struct engine *engine) {
    uint32_t room = engine->plan.microbatch_tokens;
    return room > engine->info.tokens_max ? room : engine->info.tokens_max;
}

/* Rows that a microbatch has room for: one for each token, unless there are very many labels. */
static uint32_t microbatch_rows(const struct engine *engine, uint32_t tokens_max) {
    const uint32_t width = nodes_outputs_width(engine->nodes);
    if (width == 0)
        return tokens_max;
    uint32_t rows_max = LIMIT_OUTPUTS_BYTES / sizeof(float) / width;
    return rows_max < 1 ? 1 : rows_max > tokens_max ? tokens_max : rows_max;
}

static enum status pipeline_start(struct engine *engine, uint32_t tokens_max, struct error *err) {
    const struct pipeline_options options = {
        .plan = &engine->plan,
        .room =
            {
                .tokens_max = tokens_max,
                .rows_max = microbatch_rows(engine, tokens_max),
                .width = engine->info.hidden_size,
                .intermediate_width =
                    engine->plan.splits_feed_forward ? nodes_intermediate_width(engine->nodes) : 0,
                .outputs_width = nodes_outputs_width(engine->nodes),
            },
        .warm_tokens = tokens_max < WARM_TOKENS ? tokens_max : WARM_TOKENS,
        .sequence_max = engine->info.tokens_max,
        .context = engine->nodes,
        .scratch_open = scratch_open,
        .scratch_close = scratch_close,
        .run = nodes_run,
        .take = source_take,
        .complete = engine_complete,
        .waiting = source_waiting,
        .source = engine,
        .no_joining = engine->no_joining,
        .trace = engine->trace,
    };
    return pipeline_open(&options, &engine->pipeline, err);
}

/* From the times of the warming passes: the rate, which the heaviest virtual graph of a replica
 * sets as long as there are cores for all. */
static double rate_measure(const struct engine *engine) {
    const struct pipeline *pipeline = engine->pipeline;
    double tokens = pipeline->options.warm_tokens, rate = 0, work_ns = 0;
    for (uint32_t r = 0; r < pipeline->replicas_count; r++) {
        const struct stage *stages = pipeline->stages + r * pipeline->stages_count;
        double vgs_ns[LIMIT_STAGES] = {0}, heaviest = 1;
        for (uint32_t i = 0; i < pipeline->stages_count; i++) {
            double *vg_ns = &vgs_ns[engine->plan.stages[i].vg];
            *vg_ns += (double)stages[i].warm_ns;
            work_ns += (double)stages[i].warm_ns;
            heaviest = *vg_ns > heaviest ? *vg_ns : heaviest;
        }
        rate += tokens / heaviest;
    }
    double cores_rate = tokens * engine->plan.machine->cores * pipeline->replicas_count /
                        (work_ns > 1 ? work_ns : 1);
    return (rate < cores_rate ? rate : cores_rate) * (double)NS_PER_S;
}

/* Sets the limits that were left to choose from what was measured. */
static void limits_choose(struct engine *engine, const struct engine_options *options) {
    struct engine_info *info = &engine->info;
    info->tokens_per_second = rate_measure(engine);
    info->queue_tokens_max = options->queue_tokens_max;
    if (info->queue_tokens_max == 0) {
        info->queue_tokens_max = (uint64_t)(info->tokens_per_second / 2);
        if (info->queue_tokens_max < LIMIT_QUEUE_TOKENS_MIN)
            info->queue_tokens_max = LIMIT_QUEUE_TOKENS_MIN;
    }
    info->microbatch_tokens = engine->plan.microbatch_tokens;
    batcher_set_budget(&engine->batcher, info->microbatch_tokens);
    engine->admission.queue_tokens_max = info->queue_tokens_max;
    rate_free(&engine->rate);
    rate_init(&engine->rate, info->tokens_per_second);
}

static enum status threads_start(struct engine *engine, const struct engine_options *options,
                                 struct error *err) {
    enum { TEXTS_QUANTUM_BYTES = 4096 };
    uint32_t tokens_max = microbatch_room(engine);
    uint32_t threads = options->tokenizer_threads;
    if (threads == 0)
        threads = 1 + engine->plan.machine->cores / 8;
    if (threads > LIMIT_TOKENIZER_THREADS)
        threads = LIMIT_TOKENIZER_THREADS;
    if (batcher_init(&engine->batcher, &engine->admission, LIMIT_CALLS,
                     microbatch_rows(engine, tokens_max), tokens_max,
                     engine->plan.encoder_stages * engine->plan.replicas) != STATUS_OK ||
        turns_open(LIMIT_CALLS, TEXTS_QUANTUM_BYTES, &engine->texts) != STATUS_OK ||
        turns_open(LIMIT_CALLS, TEXTS_QUANTUM_BYTES, &engine->long_texts) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the queues");
    engine->info.tokenizer_threads = threads;
    engine->info.stage_timeout_ms =
        options->stage_timeout_ms > 0 ? options->stage_timeout_ms : LIMIT_STAGE_TIMEOUT_MS;
    enum status status = deadlines_open(LIMIT_CALLS, &engine->deadlines, err);
    if (status == STATUS_OK && options->trace_path)
        status = trace_open(options->trace_path, engine->plan.replicas, engine->plan.stages_count,
                            &engine->trace, err);
    if (status == STATUS_OK)
        status = pipeline_start(engine, tokens_max, err);
    if (status == STATUS_OK)
        status = watchdog_open(engine->pipeline, engine->deadlines, &engine->admission,
                               engine->info.stage_timeout_ms * NS_PER_MS, &engine->watchdog, err);
    if (status != STATUS_OK)
        return status;
    limits_choose(engine, options);
    return engine_tokenizers_start(engine, threads, err);
}

enum status engine_open(const struct engine_options *options, struct engine **out,
                        struct error *err) {
    struct engine *engine = calloc(1, sizeof *engine);
    *out = NULL;
    if (!engine)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the engine");
    admission_init(&engine->admission, 0, LIMIT_CALLS);
    rate_init(&engine->rate, 0);
    enum status status = model_load(engine, options, err);
    if (status == STATUS_OK)
        status = threads_start(engine, options, err);
    if (status != STATUS_OK) {
        engine_close(engine);
        return status;
    }
    *out = engine;
    return STATUS_OK;
}

void engine_drain(struct engine *engine) {
    admission_drain(&engine->admission);
}

enum status engine_close(struct engine *engine) {
    struct error draining, failed;
    if (!engine)
        return STATUS_OK;
    error_set(&draining, STATUS_DRAINING, "the server stopped before the answer was ready");
    engine_drain(engine);
    if (engine->deadlines)
        deadlines_answer_all(engine->deadlines, &draining);
    admission_wait(&engine->admission);
    engine_tokenizers_stop(engine);
    if (engine->batcher.turns)
        batcher_close(&engine->batcher);
    const char *stuck = engine->watchdog ? watchdog_get_stuck(engine->watchdog) : NULL;
    if (stuck) {
        log_write(LOG_ERROR, "%s: ending without it", stuck);
        return STATUS_OK;
    }
    watchdog_close(engine->watchdog);
    pipeline_close(engine->pipeline);
    enum status status = trace_close(engine->trace, &failed);
    if (status != STATUS_OK)
        log_write(LOG_ERROR, "%s", failed.message);
    deadlines_close(engine->deadlines);
    batcher_free(&engine->batcher);
    turns_free(engine->long_texts);
    turns_free(engine->texts);
    rate_free(&engine->rate);
    admission_free(&engine->admission);
    free(engine->plan_json);
    free(engine->plan_text);
    free(engine->mask_token);
    nodes_close(engine->nodes);
    tokenizer_close(engine->tokenizer);
    model_close(engine->model);
    free(engine);
    return status;
}
