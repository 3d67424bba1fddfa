/* family_bert.c: the tables of BERT (Devlin et al. 2018), as transformers names its parts. */
#include "engine/model/family.h"

#define COUNT(array)    (sizeof(array) / sizeof(array)[0])
#define SETTING(field)  offsetof(struct model_config, field)
#define IN_MODEL(field) offsetof(struct model_weights, field)
#define IN_LAYER(field) offsetof(struct layer_weights, field)
#define TOKEN_TYPES_MAX 256 /* type ids are bytes */

static const struct family_setting settings[] = {
    {"vocab_size", SETTING(vocab_size), 30522, 1, LIMIT_VOCABULARY},
    {"hidden_size", SETTING(hidden_size), 768, 1, LIMIT_HIDDEN_SIZE},
    {"num_hidden_layers", SETTING(layers_count), 12, 1, LIMIT_LAYERS},
    {"num_attention_heads", SETTING(attn_heads), 12, 1, LIMIT_HIDDEN_SIZE},
    {"intermediate_size", SETTING(intermediate_size), 3072, 1, LIMIT_INTERMEDIATE_SIZE},
    {"max_position_embeddings", SETTING(positions_max), 512, 2, LIMIT_POSITIONS},
    {"type_vocab_size", SETTING(types_count), 2, 1, TOKEN_TYPES_MAX},
};

static const struct family_module embeddings[] = {
    {"embeddings.word_embeddings", MODULE_TABLE, IN_MODEL(word_embeddings), SIZE_VOCAB, SIZE_HIDDEN,
     false},
    {"embeddings.position_embeddings", MODULE_TABLE, IN_MODEL(position_embeddings), SIZE_POSITIONS,
     SIZE_HIDDEN, false},
    {"embeddings.token_type_embeddings", MODULE_TABLE, IN_MODEL(type_embeddings), SIZE_TYPES,
     SIZE_HIDDEN, false},
    {"embeddings.LayerNorm", MODULE_NORM, IN_MODEL(embeddings_norm), SIZE_HIDDEN, SIZE_HIDDEN,
     false},
};

static const struct family_module layer[] = {
    {"attention.self.query", MODULE_LINEAR, IN_LAYER(query), SIZE_HIDDEN, SIZE_HIDDEN, false},
    {"attention.self.key", MODULE_LINEAR, IN_LAYER(key), SIZE_HIDDEN, SIZE_HIDDEN, false},
    {"attention.self.value", MODULE_LINEAR, IN_LAYER(value), SIZE_HIDDEN, SIZE_HIDDEN, false},
    {"attention.output.dense", MODULE_LINEAR, IN_LAYER(attention_output), SIZE_HIDDEN, SIZE_HIDDEN,
     false},
    {"attention.output.LayerNorm", MODULE_NORM, IN_LAYER(attention_norm), SIZE_HIDDEN, SIZE_HIDDEN,
     false},
    {"intermediate.dense", MODULE_LINEAR, IN_LAYER(intermediate), SIZE_INTERMEDIATE, SIZE_HIDDEN,
     false},
    {"output.dense", MODULE_LINEAR, IN_LAYER(output), SIZE_HIDDEN, SIZE_INTERMEDIATE, false},
    {"output.LayerNorm", MODULE_NORM, IN_LAYER(output_norm), SIZE_HIDDEN, SIZE_HIDDEN, false},
};

static const struct family_module sequence_head[] = {
    {"pooler.dense", MODULE_LINEAR, IN_MODEL(pooler), SIZE_HIDDEN, SIZE_HIDDEN, false},
    {"classifier", MODULE_LINEAR, IN_MODEL(classifier), SIZE_LABELS, SIZE_HIDDEN, true},
};

static const struct family_module masked_head[] = {
    {"cls.predictions.transform.dense", MODULE_LINEAR, IN_MODEL(transform), SIZE_HIDDEN,
     SIZE_HIDDEN, true},
    {"cls.predictions.transform.LayerNorm", MODULE_NORM, IN_MODEL(transform_norm), SIZE_HIDDEN,
     SIZE_HIDDEN, true},
};

/* Where both biases are there and differ, transformers computes with the decoder's. */
static const struct family_decoder decoder = {
    "cls.predictions.decoder.weight",
    {"cls.predictions.decoder.bias", "cls.predictions.bias"},
};

static const struct family_head heads[] = {
    {.architecture = "BertForSequenceClassification",
     .task = TASK_TEXT_CLASSIFICATION,
     .modules = {sequence_head, COUNT(sequence_head)},
     .pooler_function = FUNCTION_TANH},
    {.architecture = "BertForMaskedLM",
     .task = TASK_FILL_MASK,
     .modules = {masked_head, COUNT(masked_head)},
     .decoder = &decoder},
    /* The same head beside one that tells which sentence comes next. */
    {.architecture = "BertForPreTraining",
     .task = TASK_FILL_MASK,
     .modules = {masked_head, COUNT(masked_head)},
     .decoder = &decoder},
};

static const struct family_ignored ignored[] = {
    {"embeddings.position_ids", "a buffer of numbers in order"},
    {"embeddings.token_type_ids", "a buffer of zeros"},
    {"cls.predictions.", "of the masked-language head"},
    {"cls.seq_relationship.", "of the next-sentence head"},
    {"pooler.", "of a pooler that this head does not read"},
};

const struct family family_bert = {
    .name = "bert",
    .prefix = "bert.",
    .settings = settings,
    .settings_count = COUNT(settings),
    .activation_key = "hidden_act",
    .norm_eps_key = "layer_norm_eps",
    .norm_eps_fallback = 1e-12f,
    .embeddings = {embeddings, COUNT(embeddings)},
    .layer_prefix = "encoder.layer.",
    .layer = {layer, COUNT(layer)},
    .heads = heads,
    .heads_count = COUNT(heads),
    .ignored = ignored,
    .ignored_count = COUNT(ignored),
};
