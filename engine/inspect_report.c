/* inspect_report.c: what `bertd check` and `bertd plan` say about a model directory. */
#include <stdlib.h>

#include "engine/base/limits.h"
#include "engine/engine_internal.h"
#include "engine/inspect.h"
#include "engine/model/model_name.h"

/* The report with what its pointers point at. `report` is the first member. */
struct inspect_whole {
    struct inspect_report report;
    struct model_report model_report;
    struct inspect_tensor *tensors;
    struct model *model;
    struct arena arena; /* of the name and the revision */
};

const char *inspect_use_name(enum inspect_use use) {
    static const char *const names[] = {"used", "unused", "missing"};
    return names[use];
}

static enum status tensors_list(struct inspect_whole *whole) {
    static const enum inspect_use uses[] = {
        [TENSOR_USED] = INSPECT_USED,
        [TENSOR_UNUSED] = INSPECT_UNUSED,
        [TENSOR_MISSING] = INSPECT_MISSING,
    };
    const struct model_report *from = &whole->model_report;
    struct inspect_report *report = &whole->report;
    uint32_t *counts[] = {&report->used_count, &report->unused_count, &report->missing_count};
    whole->tensors = calloc(from->tensors_count + 1, sizeof *whole->tensors);
    if (!whole->tensors)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < from->tensors_count; i++) {
        const struct model_tensor_report *tensor = &from->tensors[i];
        enum inspect_use use = uses[tensor->use];
        whole->tensors[i] = (struct inspect_tensor){tensor->name, use, tensor->detail};
        (*counts[use])++;
    }
    report->tensors = whole->tensors;
    report->tensors_count = from->tensors_count;
    report->family = from->family;
    report->task = from->task;
    report->servable = from->servable;
    report->error = from->error;
    return STATUS_OK;
}

static void model_describe(struct inspect_report *report, const struct model *model) {
    const struct model_config *config = model_get_config(model);
    report->labels = config->labels;
    report->labels_count = config->labels_count;
    report->thresholds = config->thresholds;
    report->activation = engine_activation(config);
    report->hidden_size = config->hidden_size;
    report->layers_count = config->layers_count;
    report->attn_heads = config->attn_heads;
    report->intermediate_size = config->intermediate_size;
    report->vocab_size = config->vocab_size;
    report->positions_max = config->positions_max;
    report->tokens_max = config->tokens_max;
}

/* Notes the first reason why the checkpoint cannot be served. */
static void refuse(struct inspect_report *report, const struct error *err) {
    if (report->servable)
        report->error = *err;
    report->servable = false;
}

/* Opens all of it as serving would, without starting anything. */
static void model_try(struct inspect_whole *whole, const char *dir) {
    struct inspect_report *report = &whole->report;
    struct tokenizer *tokenizer = NULL;
    struct nodes *nodes = NULL;
    struct error err;
    if (report->servable && model_open(dir, &whole->model, &err) != STATUS_OK)
        refuse(report, &err);
    if (whole->model)
        model_describe(report, whole->model);
    if (tokenizer_open(dir, &tokenizer, &err) != STATUS_OK)
        refuse(report, &err);
    else
        report->tokenizer_size = tokenizer_ids_count(tokenizer);
    if (whole->model && tokenizer &&
        engine_fit(whole->model, tokenizer, &report->tokens_max, &err) != STATUS_OK)
        refuse(report, &err);
    if (report->servable && nodes_open(whole->model, "f32", &nodes, &err) != STATUS_OK)
        refuse(report, &err);
    if (nodes) {
        uint32_t count;
        const struct part *parts = nodes_parts(nodes, &count);
        for (uint32_t i = 0; i < count; i++)
            report->weights_bytes += parts[i].weights_bytes;
    }
    nodes_close(nodes);
    tokenizer_close(tokenizer);
}

/* The name does not depend on what is in the directory. It stays "" of one that is not there. */
static void name_find(struct inspect_whole *whole, const char *dir) {
    const char *name, *revision;
    if (model_name_find(dir, &whole->arena, &name, &revision, NULL) != STATUS_OK)
        return;
    whole->report.name = name;
    whole->report.revision = revision;
}

enum status inspect_report_open(const char *dir, const struct inspect_report **out) {
    struct inspect_whole *whole = calloc(1, sizeof *whole);
    *out = NULL;
    if (!whole)
        return STATUS_NO_MEMORY;
    whole->report.name = whole->report.revision = "";
    arena_init(&whole->arena, LIMIT_MODEL_ARENA_BYTES);
    name_find(whole, dir);
    if (model_report_open(dir, &whole->model_report) != STATUS_OK) {
        arena_free(&whole->arena);
        free(whole);
        return STATUS_NO_MEMORY;
    }
    if (tensors_list(whole) != STATUS_OK) {
        inspect_report_close(&whole->report);
        return STATUS_NO_MEMORY;
    }
    model_try(whole, dir);
    *out = &whole->report;
    return STATUS_OK;
}

void inspect_report_close(const struct inspect_report *report) {
    /* The report is the first member of what was allocated, and never was constant. */
    struct inspect_whole *whole = (struct inspect_whole *)(uintptr_t)report;
    if (!whole)
        return;
    model_close(whole->model);
    free(whole->tensors);
    model_report_close(&whole->model_report);
    arena_free(&whole->arena);
    free(whole);
}

struct inspect_plan {
    struct engine engine; /* only model, nodes and plan are set */
};

enum status inspect_plan_open(const char *dir, const char *dtype,
                              const struct plan_options *options, uint32_t microbatch_tokens,
                              struct inspect_plan **out, struct error *err) {
    struct inspect_plan *inspect = calloc(1, sizeof *inspect);
    *out = NULL;
    if (!inspect)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a plan");
    struct engine *engine = &inspect->engine;
    enum status status = model_open(dir, &engine->model, err);
    if (status == STATUS_OK)
        status = nodes_open(engine->model, dtype ? dtype : "f32", &engine->nodes, err);
    if (status == STATUS_OK)
        status = engine_make_plan(engine, options, microbatch_tokens, err);
    if (status == STATUS_OK) {
        engine->plan_text = plan_to_text(&engine->plan);
        engine->plan_json = plan_to_json(&engine->plan);
        if (!engine->plan_text || !engine->plan_json)
            status = error_set(err, STATUS_NO_MEMORY, "no memory for the plan's text");
    }
    if (status != STATUS_OK)
        inspect_plan_close(inspect);
    else
        *out = inspect;
    return status;
}

const char *inspect_plan_text(const struct inspect_plan *inspect) {
    return inspect->engine.plan_text;
}

const char *inspect_plan_json(const struct inspect_plan *inspect) {
    return inspect->engine.plan_json;
}

void inspect_plan_close(struct inspect_plan *inspect) {
    if (!inspect)
        return;
    free(inspect->engine.plan_json);
    free(inspect->engine.plan_text);
    nodes_close(inspect->engine.nodes);
    model_close(inspect->engine.model);
    free(inspect);
}
