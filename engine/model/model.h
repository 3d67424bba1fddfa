/* model.h: a checkpoint as an immutable model: configuration, layer specs and weight views.
 *
 * Everything is checked once, in model_open(): sizes, shapes, types, labels, limits. What compute
 * reads afterwards needs no further check. The weights are views of the mapped files and keep the
 * files' own number formats; compute widens and packs them. Immutable after open, any thread.
 *
 * Dimension letters: H hidden size, A attention heads, D head dimension, I intermediate size,
 * L layers, V vocabulary size, P maximum positions, T2 token types, K labels. */
#ifndef BERTD_MODEL_MODEL_H
#define BERTD_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/model/tensor.h"

struct linear_weights {
    struct tensor weight; /* [out, in] */
    struct tensor bias;   /* [out] */
};

struct norm_weights {
    struct tensor weight; /* [H] gamma */
    struct tensor bias;   /* [H] beta */
};

/* y = norm(x + attention(x)); z = norm(y + output(activation(intermediate(y)))) */
struct layer_weights {
    struct linear_weights query, key, value; /* [H, H] */
    struct linear_weights attention_output;  /* [H, H] */
    struct norm_weights attention_norm;
    struct linear_weights intermediate; /* [I, H] */
    struct linear_weights output;       /* [H, I] */
    struct norm_weights output_norm;
};

enum activation_function {
    FUNCTION_GELU_ERF,
    FUNCTION_GELU_TANH,
    FUNCTION_RELU,
    FUNCTION_TANH,
    FUNCTION_NONE
};
enum model_task { TASK_TEXT_CLASSIFICATION, TASK_FILL_MASK };
enum { MODEL_TASKS_COUNT = TASK_FILL_MASK + 1 };
enum problem_type { PROBLEM_NONE, PROBLEM_REGRESSION, PROBLEM_SINGLE_LABEL, PROBLEM_MULTI_LABEL };

struct model_config {
    uint32_t hidden_size, attn_heads, intermediate_size, layers_count; /* H, A, I, L */
    uint32_t vocab_size, positions_max, types_count, labels_count;     /* V, P, T2, K */
    uint32_t tokens_max; /* longest sequence, special tokens included (files' least limit) */
    float norm_eps;
    enum activation_function activation; /* of the feed-forward part */
    enum problem_type problem_type;
    bool
        tied; /* the decoder over the vocabulary is the word embeddings, if the file has no other */
    const char *const *labels; /* [K] by index; K is 0 where the task has no labels */
    const float *thresholds;   /* [K] from thresholds.json, NAN where it has none; or NULL */
    int32_t pad_id;
};

struct model_weights {
    struct tensor word_embeddings;     /* [V, H] */
    struct tensor position_embeddings; /* [P, H] */
    struct tensor type_embeddings;     /* [T2, H] */
    struct norm_weights embeddings_norm;
    struct layer_weights *layers; /* [L] */
    struct linear_weights pooler; /* [H, H], then pooler_function */
    enum activation_function pooler_function;
    struct linear_weights classifier; /* [K, H] */
    /* Fill-mask: transform, the activation function of the layers, norm, decoder. */
    struct linear_weights transform; /* [H, H] */
    struct norm_weights transform_norm;
    struct linear_weights decoder; /* [V, H]; its weight may be word_embeddings */
};

struct model;

/* Opens config.json and the safetensors file(s) of a directory. On failure *out is NULL and `err`
 * names the file, the field and the value. Errors: IO, BAD_FILE, UNSUPPORTED, NO_MEMORY. */
enum status model_open(const char *dir, struct model **out, struct error *err);
void model_close(struct model *model);

const struct model_config *model_get_config(const struct model *model);
const struct model_weights *model_get_weights(const struct model *model);
const char *model_get_name(const struct model *model);     /* last part of the directory */
const char *model_get_family(const struct model *model);   /* "bert" */
const char *model_get_revision(const struct model *model); /* commit of a Hub snapshot, or "" */
enum model_task model_get_task(const struct model *model);
const char *model_task_name(enum model_task task); /* "text-classification", "fill-mask" */

/* Tells the system that the mapped pages of this tensor are not needed again soon. */
void model_drop_pages(const struct model *model, const struct tensor *tensor);

/* What `bertd check` lists: every tensor of the files, and every one that is missing. */
enum tensor_use { TENSOR_USED, TENSOR_UNUSED, TENSOR_MISSING };
struct model_tensor_report {
    const char *name;
    enum tensor_use use;
    char detail[128]; /* type and shape, or why it is missing or unused */
};
struct model_report {
    struct model_tensor_report *tensors; /* by name */
    uint32_t tensors_count;
    char family[64], task[64]; /* as far as they could be found out */
    bool servable;
    struct error error; /* when not servable */
};
/* Never fails on a bad checkpoint: the report says what is wrong. Error: NO_MEMORY. */
enum status model_report_open(const char *dir, struct model_report *out);
void model_report_close(struct model_report *report);

#endif
