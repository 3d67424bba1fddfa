/* engine.h: the inference engine as a library: open, submit, cancel, statistics, close.
 *
 * A call carries 1..N inputs and is admitted or refused as a whole. Its answer arrives by one
 * callback on an engine thread. All functions may be called from any thread unless they say
 * otherwise; engine_open() and engine_close() from one thread only. */
#ifndef BERTD_ENGINE_H
#define BERTD_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/histogram.h"
#include "engine/base/status.h"
#include "engine/base/topology.h"
#include "engine/base/view.h"
#include "engine/tasks.h"

struct engine;
struct call;

enum truncation_side { TRUNCATION_RIGHT, TRUNCATION_LEFT };

/* What may be said about the plan (design: the pipeline). Zero and NULL mean "choose for me". */
struct plan_options {
    uint32_t stages;              /* encoder stages */
    const char *layers_per_stage; /* "2,2,-1" */
    const char *virtual_graphs;   /* "0,1,0": of each encoder stage and of the head */
    const char *pin;              /* "0-3;4-7": CPU sets */
    uint32_t replicas;
    uint32_t stage_threads;       /* the team of each stage */
    bool no_pipelining;           /* one microbatch in flight for each replica */
    bool no_joining;              /* idle cores do not help with a single microbatch */
    uint32_t max_in_flight;       /* microbatches in flight for each replica */
    uint32_t decoder_chunks;      /* slices of the vocabulary in a masked-language head */
    struct topology_wish machine; /* to plan for; all zero: the one that is here */
};

struct engine_options {
    const char *model_dir;
    const char *dtype; /* "f32", "bf16", "int8" or "auto"; NULL is "f32" */
    struct plan_options plan;
    uint32_t microbatch_tokens; /* 0: chosen so that a stage's turn is about 10 ms */
    uint64_t queue_tokens_max;  /* 0: half a second of measured work */
    uint32_t call_tokens_max;   /* by exact count; 0: LIMIT_CALL_TOKENS */
    uint32_t tokenizer_threads; /* 0: chosen */
    bool all_rows;              /* for measuring: the last layer computes what no head reads too */
    uint32_t stage_timeout_ms;  /* 0: LIMIT_STAGE_TIMEOUT_MS; a stage without progress is stuck */
    const char *trace_path;     /* NULL: none; written by engine_close() for Perfetto */
};

/* Opens the model, builds the plan, packs the weights, starts the threads and runs one forward
 * pass of each replica. On failure nothing is left behind and *out is NULL. The strings of
 * `options` are not kept. Errors: IO, BAD_FILE, UNSUPPORTED, INVALID_VALUE, NO_MEMORY. */
enum status engine_open(const struct engine_options *options, struct engine **out,
                        struct error *err);

/* Stops taking calls: engine_submit() answers DRAINING from here on. */
void engine_drain(struct engine *engine);

/* Answers every call that is left with DRAINING, joins all threads and frees all. Calls that the
 * caller still holds stay readable until released. With a stuck stage, whose thread cannot be
 * joined, the engine stays in memory as it is. Error: IO when the trace could not be written, which
 * is logged. NULL is allowed. */
enum status engine_close(struct engine *engine);

/* One input: either a text, or a text and its pair, or token ids used as given. */
struct engine_input {
    struct view text;
    struct view text_pair; /* data NULL: no pair */
    const int32_t *ids;    /* not NULL: ids_count token ids, text is ignored */
    uint32_t ids_count;
};

struct call_spec {
    const struct engine_input *inputs;
    uint32_t inputs_count;     /* 1 or more */
    bool truncate;             /* false: an input over the limit fails the call */
    enum truncation_side side; /* which end is cut */
    bool window;               /* long texts in overlapping windows */
    uint32_t window_stride;    /* overlap of two windows in tokens */
    enum engine_task task;     /* must be the model's */
    struct classify_options classify;
    struct fill_mask_options fill_mask;
    uint64_t client;      /* whose turn: equal for one connection or key */
    uint64_t deadline_ns; /* clock_now_ns() scale; 0: none */
    /* Called once, on an engine thread, when call_outcome() and the rest can be read. Must not
     * block. Not called when engine_submit() fails. May run before engine_submit() returns. */
    void (*done)(struct call *call, void *context);
    void *context;
};

/* Admits the call or refuses it at once. Texts and ids are copied. On OK, *out is a reference that
 * the caller gives back with call_release(). Errors: INVALID_VALUE (an id outside the vocabulary,
 * a stride that leaves no room), INVALID_UTF8, INPUT_TOO_LONG, CALL_TOO_LARGE, QUEUE_FULL,
 * DRAINING, STAGE_STUCK, NO_MEMORY; err->input names the input where there is one. Errors that
 * need the exact token count, masks or targets arrive by `done`. */
enum status engine_submit(struct engine *engine, const struct call_spec *spec, struct call **out,
                          struct error *err);

/* Ends the call with CANCELLED if it is not answered yet; `done` runs (here or elsewhere) once. */
void call_cancel(struct call *call);

/* Gives the reference back. NULL is allowed. */
void call_release(struct call *call);

/* One input's answer, which lives with the call; of the tasks' parts the call's own is set. */
struct call_answer {
    const float *scores; /* text classification: [engine_info.labels_count] */
    struct fill_mask_answer fill_mask;
    uint32_t tokens;  /* what the model saw, special tokens included, summed over windows */
    uint32_t windows; /* 1 without windows */
    bool truncated;
};

/* After `done`: the outcome with its message, the answers, and where the time went. */
enum status call_outcome(const struct call *call, struct error *err);
void call_get_answer(const struct call *call, uint32_t input, struct call_answer *out);

/* The targets of a fill-mask call, after `done` with success. Their texts live with the
 * call, their tokens with the engine. */
const struct fill_mask_target *call_get_targets(const struct call *call, uint32_t *count);

/* How the answer reads with `id` in place of mask number `mask`, as transformers' pipeline shows
 * it: special tokens are left out unless there are other masks. On success both texts are the
 * caller's to free(). Takes as long as the text is; any thread. Errors: INPUT_TOO_LONG, NO_MEMORY.
 */
enum status engine_fill_mask_read(const struct engine *engine,
                                  const struct fill_mask_answer *answer, uint32_t mask, int32_t id,
                                  struct fill_mask_texts *out, struct error *err);

/* Where the call's time went, in nanoseconds, after `done`. */
struct call_times {
    uint64_t tokenize_ns, queue_ns, compute_ns;
};
void call_get_times(const struct call *call, struct call_times *out);

/* What the model is. Immutable, lives as long as the engine. */
struct engine_info {
    const char *name, *family, *task, *dtype, *revision;
    enum engine_task task_kind; /* what `task` names */
    const char *mask_token;     /* as texts spell it; NULL: the tokenizer has none */
    int32_t mask_id;            /* -1: none */
    const char *const *labels;  /* K label names by index */
    const float *thresholds;    /* K thresholds from thresholds.json, or NULL; NAN: no own one */
    uint32_t labels_count;
    enum activation activation; /* what ACTIVATION_AUTO stands for here; never AUTO */
    uint32_t tokens_max;        /* special tokens included */
    uint32_t special_tokens;    /* of a single text */
    uint32_t vocab_size;
    uint32_t hidden_size, layers_count;
    uint32_t stages_count, replicas_count; /* stages: threads of one replica */
    uint32_t microbatch_tokens;
    uint64_t queue_tokens_max;
    uint32_t call_tokens_max;
    uint32_t tokenizer_threads; /* besides the one for long texts */
    uint32_t stage_timeout_ms;
    uint64_t weights_bytes;
    double tokens_per_second; /* measured at start, all replicas */
};
const struct engine_info *engine_get_info(const struct engine *engine);

/* The allocation table as text, and as one line of JSON. Live as long as the engine. */
const char *engine_plan_text(const struct engine *engine);
const char *engine_plan_json(const struct engine *engine);

struct stage_statistics {
    const char *name; /* "stage 0", "head" */
    uint32_t replica, stage;
    uint64_t busy_ns, starved_ns, blocked_ns, microbatches, tokens;
    uint64_t completing_ns; /* of busy_ns: after the parts of the model */
    uint64_t ready_ns;      /* of starved and blocked: while the next turn could have begun */
};

struct engine_statistics {
    uint64_t inputs, tokens, truncated; /* answered so far */
    uint64_t queue_tokens;              /* admitted and not yet taken by stage 0 */
    uint64_t calls_in_flight;
    double drain_tokens_per_second; /* recent rate, for Retry-After */
    const struct histogram *microbatch_tokens, *microbatch_inputs;
    const char *stuck_stage; /* NULL: none */
};
void engine_get_statistics(struct engine *engine, struct engine_statistics *out);

/* Statistics of stage `index` of 0..stages_count*replicas_count-1; false past the end. */
bool engine_get_stage(struct engine *engine, uint32_t index, struct stage_statistics *out);

#endif
