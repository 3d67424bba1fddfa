/* engine_internal.h: what the engine's own files share. engine.c opens and closes;
 * engine_model.c checks what belongs together; engine_submit.c lets calls in; engine_tokenize.c
 * turns texts into requests; engine_score.c turns outputs into answers; engine_info.c tells.
 * engine_classify.c and engine_fill_mask.c hold what differs between tasks. */
#ifndef BERTD_ENGINE_INTERNAL_H
#define BERTD_ENGINE_INTERNAL_H

#include <stdatomic.h>

#include "engine/base/limits.h"
#include "engine/base/thread.h"
#include "engine/base/topology.h"
#include "engine/engine.h"
#include "engine/flow/admission.h"
#include "engine/flow/batcher.h"
#include "engine/flow/deadlines.h"
#include "engine/flow/pipeline.h"
#include "engine/flow/plan.h"
#include "engine/flow/rate.h"
#include "engine/flow/trace.h"
#include "engine/flow/turns.h"
#include "engine/flow/watchdog.h"
#include "engine/model/model.h"
#include "engine/nodes.h"
#include "engine/text/tokenizer.h"

struct task_steps;

/* What a call keeps of its spec. */
struct call_settings {
    bool truncate, window;
    enum truncation_side side;
    uint32_t window_stride;
    struct turns *texts; /* where its inputs wait */
    const struct task_steps *steps;
    struct classify_options classify; /* activation: never AUTO */
    /* Fill-mask, resolved when all inputs are tokenized: */
    struct ranking ranking;
    struct fill_mask_target *targets; /* [targets_count], or NULL */
    int32_t *target_ids;              /* [targets_count] */
    uint32_t targets_count;
};

/* One tokenizer thread and its working memory. */
struct tokenizer_worker {
    struct engine *engine;
    struct turns *texts; /* which inputs it takes */
    struct thread thread;
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
    int32_t *window_ids; /* [tokens_max] */
    uint8_t *window_type_ids;
};

/* What differs between tasks on a call's way. Steps that a task has no need of are NULL. */
struct task_steps {
    enum engine_task task;
    bool windows; /* long texts may be cut into windows */

    /* Submitting thread: checks the task's options; adds what the call's block must have room for.
     * Error: INVALID_VALUE. */
    enum status (*measure)(const struct engine *engine, const struct call_spec *spec,
                           struct call_needs *needs, struct error *err);
    /* Submitting thread, after measure: adds the reads of one input, which has `room` tokens at
     * most and, if it is a text, `bytes` bytes once it is normalised. */
    void (*bound_reads)(const struct engine *engine, const struct engine_input *input,
                        uint64_t room, uint64_t bytes, struct call_needs *needs);
    /* Submitting thread: the options into the call's settings; `texts` is the room that measure
     * asked for. */
    void (*fill)(const struct engine *engine, const struct call_spec *spec, struct call *call,
                 char *texts);

    /* Tokenizer thread: lists what the head is to read of a request whose ids are in the call.
     * Errors: INVALID_VALUE, CALL_TOO_LARGE. */
    enum status (*read)(const struct engine *engine, struct input *input, struct request *request,
                        struct error *err);
    /* Tokenizer thread, once for each call before its requests are queued. */
    enum status (*prepare)(struct tokenizer_worker *worker, struct call *call, struct error *err);

    /* Last stage: keeps a row's outputs, then, once all rows of the call are there, scores an
     * input; false when a number is not finite. */
    void (*keep)(const struct engine *engine, const struct microbatch *microbatch, uint32_t row);
    bool (*score)(const struct engine *engine, struct input *input);

    /* Any thread, after `done`: the task's part of the answer. */
    void (*answer)(const struct input *input, struct call_answer *out);
};
extern const struct task_steps task_classify, task_fill_mask;

/* Immutable after open but for the flow's own state and the counters. */
struct engine {
    struct model *model;
    const struct task_steps *steps; /* of the model's task */
    struct tokenizer *tokenizer;
    char *mask_token; /* NULL: the tokenizer has none */
    struct nodes *nodes;
    struct cpus cpus;
    struct topology machine; /* that the plan is for */
    struct plan plan;
    bool no_joining;
    char *plan_text, *plan_json;
    struct engine_info info;

    struct admission admission;
    struct deadlines *deadlines;
    /* Inputs that wait for a tokenizer thread, weight in bytes. Calls with a long text wait for a
     * thread of their own, so that nobody else waits for a megabyte to be cut. */
    struct turns *texts, *long_texts;
    struct batcher batcher;
    struct pipeline *pipeline;
    struct watchdog *watchdog;
    struct trace *trace; /* or NULL */
    struct rate rate;
    struct tokenizer_worker *workers;
    uint32_t workers_count;

    _Atomic uint64_t inputs, tokens, truncated; /* answered with success */
};

/* engine_model.c */

/* Whether every id of the tokenizer has a row in the model, and a text's special tokens have room
 * in the limit that the model's files set, which is *tokens_max. */
enum status engine_fit(const struct model *model, const struct tokenizer *tokenizer,
                       uint32_t *tokens_max, struct error *err);
enum activation engine_activation(const struct model_config *config);

/* Fills cpus, machine and plan from the nodes. */
enum status engine_make_plan(struct engine *engine, const struct plan_options *options,
                             uint32_t microbatch_tokens, struct error *err);

/* Packs the weights on the nodes where the plan has the virtual graphs that read them. */
enum status engine_pack_weights(struct engine *engine, struct error *err);

/* engine_tokenize.c */
enum status engine_tokenizers_start(struct engine *engine, uint32_t threads, struct error *err);
void engine_tokenizers_stop(struct engine *engine);

/* One text, or with its pair, as the model takes it. Errors: as tokenizer_encode(). */
enum status engine_encode(const struct engine *engine, struct tokenizer_scratch *scratch,
                          struct view text, const struct view *pair, enum truncation_side side,
                          struct encoding *out, struct error *err);

/* A tokenizer whose template gives a type that the model has no row for must not make the embedding
 * read past its table. Error: INVALID_VALUE. */
enum status engine_check_types(const struct engine *engine, const uint8_t *type_ids,
                               uint32_t tokens, struct error *err);

/* engine_classify.c */

/* Logits to scores in place; see compute/activation.h. False when a logit is not finite.
 * `activation` is not AUTO. */
bool score_activate(enum activation activation, float *values, uint32_t count);

/* engine_score.c */

/* The steps of a task. */
const struct task_steps *task_find(enum model_task task);

/* For the pipeline: keeps the outputs, answers the calls that are complete. */
void engine_complete(void *engine, struct microbatch *microbatch);

#endif
