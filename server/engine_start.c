/* engine_start.c: the same first steps for all commands that open a model. */
#include "server/engine_start.h"

#include <stdio.h>

#include "engine/base/log.h"

/* In the order of DTYPE_CHOICES. */
static const char *const dtypes[] = {"f32", "bf16", "int8", "auto"};

int engine_start_fail(const struct command *command, const struct error *err) {
    char message[OPTIONS_NAMED_BYTES];
    options_name_sources(command, err->message, message);
    fprintf(stderr, "bertd %s: %s\n", command->name, message);
    return err->status == STATUS_INVALID_VALUE ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED;
}

bool engine_start_find(const struct command *command, const struct engine_settings *settings,
                       struct model_source *out, int *exit_status) {
    struct error err;
    if (model_source_find(settings->model, out, &err) == STATUS_OK)
        return true;
    *exit_status = engine_start_fail(command, &err);
    return false;
}

void engine_start_options(const struct engine_settings *settings, const struct model_source *source,
                          struct engine_options *out) {
    *out = (struct engine_options){
        .model_dir = source->dir,
        .dtype = dtypes[settings->dtype],
        .plan = {.stages = (uint32_t)settings->stages,
                 .layers_per_stage = settings->layers_per_stage,
                 .virtual_graphs = settings->virtual_graphs,
                 .pin = settings->pin,
                 .stage_threads = (uint32_t)settings->stage_threads,
                 .replicas = (uint32_t)settings->replicas,
                 .no_pipelining = settings->no_pipelining,
                 .no_joining = settings->no_joining,
                 .max_in_flight = (uint32_t)settings->max_in_flight,
                 .decoder_chunks = (uint32_t)settings->decoder_chunks,
                 .machine = {.cores = (uint32_t)settings->machine.cores,
                             .nodes = (uint32_t)settings->machine.nodes,
                             .smt = (uint32_t)settings->machine.smt,
                             .l2_bytes = settings->machine.l2_bytes,
                             .l3_bytes = settings->machine.l3_bytes}},
        .microbatch_tokens = (uint32_t)settings->microbatch_tokens,
        .tokenizer_threads = (uint32_t)settings->tokenizer_threads,
        .all_rows = settings->all_rows,
        .stage_timeout_ms = (uint32_t)settings->stage_timeout_ms,
        .trace_path = settings->trace,
    };
}

struct engine *engine_start(const struct command *command, const struct engine_settings *settings,
                            uint64_t queue_tokens_max, int *exit_status) {
    struct model_source source;
    struct engine_options options;
    struct engine *engine = NULL;
    struct error err;
    log_init(LOG_WARN, LOG_FORMAT_TEXT); /* these commands answer; they do not report */
    if (!engine_start_find(command, settings, &source, exit_status))
        return NULL;
    engine_start_options(settings, &source, &options);
    options.queue_tokens_max = queue_tokens_max;
    if (engine_open(&options, &engine, &err) != STATUS_OK)
        *exit_status = engine_start_fail(command, &err);
    return engine;
}
