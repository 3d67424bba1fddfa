/* inspect.h: what the command-line tools ask about a model directory without serving it: whether it
 * is servable and why not, and which plan it would get.
 *
 * Handles belong to one thread at a time. What a getter or a result points at lives as long as the
 * handle, or until the next call where that is said. */
#ifndef BERTD_INSPECT_H
#define BERTD_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/engine.h"

/* Is this checkpoint servable? Opening the report fails only for want of memory; what is wrong
 * with the checkpoint stands in it. */
enum inspect_use { INSPECT_USED, INSPECT_UNUSED, INSPECT_MISSING };
const char *inspect_use_name(enum inspect_use use); /* "used", "unused", "missing" */

struct inspect_tensor {
    const char *name;
    enum inspect_use use;
    const char *detail; /* type and shape, or why it is missing or unused */
};

struct inspect_report {
    bool servable;                        /* the model and its tokenizer, and both fit together */
    struct error error;                   /* the first reason why not */
    const char *name;                     /* last part of the directory, or a Hub id */
    const char *revision;                 /* or "" */
    const char *family, *task;            /* as far as they could be found out; never NULL */
    const struct inspect_tensor *tensors; /* by name */
    uint32_t tensors_count, used_count, unused_count, missing_count;
    /* The rest is set when the model itself can be opened; else zero and NULL. */
    const char *const *labels;
    uint32_t labels_count;
    const float *thresholds;    /* of labels, NAN: no own one; or NULL */
    enum activation activation; /* what ACTIVATION_AUTO stands for */
    uint32_t hidden_size, layers_count, attn_heads, intermediate_size;
    uint32_t vocab_size;     /* rows of the word embeddings */
    uint32_t positions_max;  /* rows of the position embeddings */
    uint32_t tokens_max;     /* the limit that serving has, special tokens included */
    uint64_t weights_bytes;  /* in memory, as served; 0 when not servable */
    uint32_t tokenizer_size; /* largest token id plus one; 0: the tokenizer cannot be opened */
};
enum status inspect_report_open(const char *dir, const struct inspect_report **out);
void inspect_report_close(const struct inspect_report *report); /* NULL is allowed */

/* The plan that engine_open() would use with the same options. Errors: as engine_open(). */
struct inspect_plan;
enum status inspect_plan_open(const char *dir, const char *dtype,
                              const struct plan_options *options, uint32_t microbatch_tokens,
                              struct inspect_plan **out, struct error *err);
const char *inspect_plan_text(const struct inspect_plan *plan); /* many lines */
const char *inspect_plan_json(const struct inspect_plan *plan); /* one line */
void inspect_plan_close(struct inspect_plan *plan);             /* NULL is allowed */

/* What the engine has to work with on this machine. */
struct inspect_machine {
    char library[64];       /* of the matrix products, with its version */
    char cpu_features[160]; /* of those that matter to them, with blanks between */
    const char *auto_dtype; /* what the dtype `auto` takes; static */
};
void inspect_machine_find(struct inspect_machine *out);

#endif
