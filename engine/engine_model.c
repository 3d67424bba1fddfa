/* engine_model.c: what follows from the model's files: whether tokenizer and weights belong
 * together, the limit, the activation, the plan. */
#include <stdio.h>

#include "engine/engine_internal.h"

enum status engine_fit(const struct model *model, const struct tokenizer *tokenizer,
                       uint32_t *tokens_max, struct error *err) {
    const struct model_config *config = model_get_config(model);
    uint32_t ids = tokenizer_ids_count(tokenizer),
             least = tokenizer_special_count(tokenizer, false);
    if (ids > config->vocab_size)
        return error_set(err, STATUS_BAD_FILE,
                         "the tokenizer has token ids up to %u, the model's word embeddings only "
                         "have %u rows",
                         ids - 1, config->vocab_size);
    *tokens_max = config->tokens_max;
    if (*tokens_max < least || *tokens_max == 0)
        return error_set(err, STATUS_BAD_FILE,
                         "the limit of %u tokens has no room for the %u special tokens of a text",
                         *tokens_max, least);
    return STATUS_OK;
}

enum activation engine_activation(const struct model_config *config) {
    switch (config->problem_type) {
    case PROBLEM_REGRESSION:
        return ACTIVATION_NONE;
    case PROBLEM_MULTI_LABEL:
        return ACTIVATION_SIGMOID;
    case PROBLEM_SINGLE_LABEL:
        return ACTIVATION_SOFTMAX;
    case PROBLEM_NONE:
        break;
    }
    return config->labels_count == 1 ? ACTIVATION_SIGMOID : ACTIVATION_SOFTMAX;
}

enum status engine_make_plan(struct engine *engine, const struct plan_options *options,
                             struct error *err) {
    struct plan_wishes wishes = {
        .layers_count = model_get_config(engine->model)->layers_count,
        .cpus = engine->cpus_text,
        .reason = engine->plan_reason,
        .stages = options->stages,
        .layers_per_stage = options->layers_per_stage,
        .replicas = options->replicas,
        .no_pipelining = options->no_pipelining,
        .max_in_flight = options->max_in_flight,
    };
    wishes.parts = nodes_parts(engine->nodes, &wishes.parts_count);
    cpus_find(NULL, &engine->cpus);
    cpus_to_text(&engine->cpus, engine->cpus_text, sizeof engine->cpus_text);
    wishes.cores = options->cores > 0 ? options->cores : engine->cpus.cores;
    if (options->cores > 0)
        snprintf(engine->plan_reason, sizeof engine->plan_reason, "planned for %u cores, as asked",
                 options->cores);
    else
        snprintf(engine->plan_reason, sizeof engine->plan_reason, "%s", engine->cpus.reason);
    return plan_make(&wishes, &engine->plan, err);
}
