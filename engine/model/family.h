/* family.h: what a family of models calls its settings and tensors, as data.
 *
 * A family is a set of tables: which key of config.json holds which size, and which module of the
 * checkpoint fills which part of struct model_weights. config.c and binding.c read the tables; they
 * know no family by name. To add a family, write family_NAME.c with its tables and list it in
 * family.c; what tables cannot say becomes a hook here. Static memory, any thread. */
#ifndef BERTD_MODEL_FAMILY_H
#define BERTD_MODEL_FAMILY_H

#include "engine/model/model.h"

/* A size from config.json, found under the family's own key. */
struct family_setting {
    const char *key;
    size_t offset;     /* of a uint32_t in struct model_config */
    uint32_t fallback; /* what transformers takes when the key is absent */
    uint32_t min, max;
};

/* Sizes that a tensor's shape is checked against. */
enum family_size {
    SIZE_HIDDEN,
    SIZE_INTERMEDIATE,
    SIZE_VOCAB,
    SIZE_POSITIONS,
    SIZE_TYPES,
    SIZE_LABELS
};

/* MODULE_TABLE: NAME.weight [out, in]. MODULE_LINEAR: NAME.weight [out, in], NAME.bias [out].
 * MODULE_NORM: NAME.weight and NAME.bias [out], in old checkpoints NAME.gamma and NAME.beta. */
enum family_module_kind { MODULE_TABLE, MODULE_LINEAR, MODULE_NORM };

struct family_module {
    const char *name;
    enum family_module_kind kind;
    size_t offset; /* of a tensor, linear_weights or norm_weights in its owner */
    enum family_size out, in;
    bool outside; /* of the base model: its name never has the family's prefix */
};

struct family_modules {
    const struct family_module *modules;
    uint32_t count;
};

/* A decoder over the vocabulary. Its weight [V, H] is that of the word embeddings unless the
 * checkpoint has another one of this name; the first of the biases [V] that is there counts. */
struct family_decoder {
    const char *weight;
    const char *biases[2];
};

/* One kind of head. Modules belong to struct model_weights. */
struct family_head {
    const char *architecture; /* as config.json's architectures has it */
    enum model_task task;
    struct family_modules modules;
    enum activation_function pooler_function;
    const struct family_decoder *decoder; /* NULL: none */
};

/* Tensors that may stand in the checkpoint and are not read: the start of the name after the
 * prefix, and why. */
struct family_ignored {
    const char *start;
    const char *reason;
};

struct family {
    const char *name;   /* model_type of config.json */
    const char *prefix; /* of the base model's tensors in a checkpoint that has a head: "bert." */
    const struct family_setting *settings;
    uint32_t settings_count;
    const char *activation_key; /* of the feed-forward part's function; absent: erf GELU */
    const char *norm_eps_key;
    float norm_eps_fallback;
    struct family_modules embeddings; /* offsets in struct model_weights */
    const char *layer_prefix;         /* before the layer's number: "encoder.layer." */
    struct family_modules layer;      /* offsets in struct layer_weights; names after "NUMBER." */
    const struct family_head *heads;
    uint32_t heads_count;
    const struct family_ignored *ignored;
    uint32_t ignored_count;
};

/* The family of that model_type, or NULL. */
const struct family *family_find(const char *model_type);

/* The names of all families with commas between them, for messages. */
const char *family_names(void);

/* The family's head of that architecture, or NULL. */
const struct family_head *family_find_head(const struct family *family, const char *architecture);

/* The family that has a head of that architecture, with the head; or NULL. */
const struct family *family_find_by_architecture(const char *architecture,
                                                 const struct family_head **head);

extern const struct family family_bert;

#endif
