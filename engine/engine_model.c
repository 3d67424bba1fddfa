/* engine_model.c: what follows from the model's files: whether tokenizer and weights belong
 * together, the limit, the activation, the plan. */
#include <stdlib.h>

#include "engine/engine_internal.h"
#include "engine/flow/place.h"

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
    if (!tokenizer_keeps_limit(tokenizer))
        return error_set(
            err, STATUS_UNSUPPORTED,
            "the tokenizer's post-processor repeats a text or adds more special tokens "
            "than truncation leaves room for, so no limit can be kept");
    if (model_get_task(model) == TASK_FILL_MASK && tokenizer_get_mask(tokenizer) < 0)
        return error_set(err, STATUS_BAD_FILE,
                         "the tokenizer has no mask token, which a fill-mask model needs");
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

/* The machine that is here, or the one that is to be imagined. */
static enum status machine_find(struct engine *engine, const struct topology_wish *wish,
                                struct error *err) {
    struct topology here;
    cpus_find(NULL, &engine->cpus);
    topology_find(NULL, &engine->cpus, &engine->machine);
    if (wish->cores == 0 && wish->smt == 0 && wish->nodes == 0 && wish->l2_bytes == 0 &&
        wish->l3_bytes == 0)
        return STATUS_OK;
    here = engine->machine;
    return topology_make(wish, &here, &engine->machine, err);
}

enum status engine_make_plan(struct engine *engine, const struct plan_options *options,
                             uint32_t microbatch_tokens, struct error *err) {
    struct plan_wishes wishes = {
        .machine = &engine->machine,
        .layers_count = model_get_config(engine->model)->layers_count,
        .stages = options->stages,
        .layers_per_stage = options->layers_per_stage,
        .virtual_graphs = options->virtual_graphs,
        .pin = options->pin,
        .replicas = options->replicas,
        .stage_threads = options->stage_threads,
        .no_pipelining = options->no_pipelining,
        .max_in_flight = options->max_in_flight,
        .microbatch_tokens = microbatch_tokens,
    };
    engine->no_joining = options->no_joining;
    enum status status = machine_find(engine, &options->machine, err);
    if (status != STATUS_OK)
        return status;
    status = nodes_measure(engine->nodes, err);
    if (status != STATUS_OK)
        return status;
    nodes_set_decoder_chunks(engine->nodes, options->decoder_chunks);
    wishes.parts = nodes_parts(engine->nodes, &wishes.parts_count);
    return plan_make(&wishes, &engine->plan, err);
}

enum status engine_pack_weights(struct engine *engine, struct error *err) {
    const struct plan *plan = &engine->plan;
    struct parts_place *places = calloc(plan->replicas * plan->stages_count, sizeof *places);
    uint32_t count = 0;
    if (!places)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the places of the weights");
    for (uint32_t replica = 0; replica < plan->replicas; replica++) {
        for (uint32_t i = 0; i < plan->stages_count; i++) {
            const struct plan_stage *stage = &plan->stages[i];
            places[count++] = (struct parts_place){stage->first_part, stage->parts_count,
                                                   place_get_node(plan, replica, i)};
        }
    }
    enum status status = nodes_pack(engine->nodes, places, count, err);
    free(places);
    return status;
}
