/* engine_internal.h: what the engine's own files share. engine.c opens and closes;
 * engine_model.c checks what belongs together; engine_submit.c lets calls in; engine_tokenize.c
 * turns texts into requests; engine_score.c turns logits into answers; engine_info.c tells. */
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

/* What a call keeps of its spec. */
struct call_settings {
    bool truncate, window;
    enum truncation_side side;
    uint32_t window_stride;
    enum aggregate aggregate;
    enum activation activation; /* never AUTO */
    struct turns *texts;        /* where its inputs wait */
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

/* Immutable after open but for the flow's own state and the counters. */
struct engine {
    struct model *model;
    struct tokenizer *tokenizer;
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

/* engine_score.c */

/* Logits to scores in place; see compute/activation.h. False when a logit is not finite.
 * `activation` is not AUTO. */
bool score_activate(enum activation activation, float *values, uint32_t count);

/* For the pipeline: keeps the outputs, answers the calls that are complete. */
void engine_complete(void *engine, struct microbatch *microbatch);

#endif
