/* config.c: reads config.json by the family's tables, and the limits and thresholds beside it. */
#include "engine/model/config.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/path.h"
#include "engine/model/labels.h"
#include "engine/model/model_json.h"
#include "engine/model/token_limit.h"

static const struct {
    const char *name;
    enum activation_function function;
} activations[] = {
    {"gelu", FUNCTION_GELU_ERF},
    {"gelu_python", FUNCTION_GELU_ERF},
    {"gelu_new", FUNCTION_GELU_TANH},
    {"gelu_pytorch_tanh", FUNCTION_GELU_TANH},
    {"gelu_fast", FUNCTION_GELU_TANH},
    {"gelu_accurate", FUNCTION_GELU_TANH},
    {"gelu_python_tanh", FUNCTION_GELU_TANH},
    {"relu", FUNCTION_RELU},
};

static const struct {
    const char *name;
    enum problem_type type;
} problems[] = {
    {"regression", PROBLEM_REGRESSION},
    {"single_label_classification", PROBLEM_SINGLE_LABEL},
    {"multi_label_classification", PROBLEM_MULTI_LABEL},
};

/* Sets config->head, and the family where model_type does not say it, from `architectures`. */
static enum status read_architectures(const struct model_json *file, const char *model_type,
                                      struct config *config, struct error *err) {
    json_t *list = json_object_get(file->root, "architectures"), *item;
    size_t i;
    if (list == NULL || json_is_null(list) || (json_is_array(list) && json_array_size(list) == 0))
        return STATUS_OK;
    if (!json_is_array(list))
        return model_json_refuse(file, "architectures", list, STATUS_BAD_FILE, "not an array", err);
    json_array_foreach(list, i, item) {
        const char *name = json_string_value(item);
        if (name == NULL || config->head != NULL)
            continue;
        if (config->family != NULL) {
            config->head = family_find_head(config->family, name);
        } else if (model_type == NULL) {
            config->family = family_find_by_architecture(name, &config->head);
        }
    }
    if (config->family != NULL && config->head == NULL) {
        char wanted[256];
        size_t bytes = (size_t)snprintf(wanted, sizeof wanted, "supported:");
        for (i = 0; i < config->family->heads_count && bytes < sizeof wanted; i++)
            bytes += (size_t)snprintf(wanted + bytes, sizeof wanted - bytes, "%s %s", i ? "," : "",
                                      config->family->heads[i].architecture);
        return model_json_refuse(file, "architectures", list, STATUS_UNSUPPORTED, wanted, err);
    }
    return STATUS_OK;
}

static enum status read_family(const struct model_json *file, struct config *config,
                               struct error *err) {
    const char *model_type = NULL;
    enum status status = model_json_string(file, "model_type", &model_type, err);
    if (status == STATUS_OK && model_type != NULL)
        config->family = family_find(model_type);
    if (status == STATUS_OK)
        status = read_architectures(file, model_type, config, err);
    if (status != STATUS_OK || config->family != NULL)
        return status;
    return error_set(err, STATUS_UNSUPPORTED, "%s: model_type is %s%.100s%s, supported: %s",
                     file->path, model_type ? "\"" : "", model_type ? model_type : "missing",
                     model_type ? "\"" : "", family_names());
}

static enum status read_sizes(const struct model_json *file, const struct family *family,
                              struct model_config *values, struct error *err) {
    for (uint32_t i = 0; i < family->settings_count; i++) {
        const struct family_setting *setting = &family->settings[i];
        uint32_t value = setting->fallback;
        enum status status =
            model_json_u32(file, setting->key, setting->min, setting->max, &value, err);
        if (status != STATUS_OK)
            return status;
        memcpy((char *)values + setting->offset, &value, sizeof value);
    }
    if (values->hidden_size % values->attn_heads != 0)
        return error_set(err, STATUS_BAD_FILE,
                         "%s: hidden size %u is not a multiple of %u attention heads", file->path,
                         values->hidden_size, values->attn_heads);
    return STATUS_OK;
}

static enum status read_activation(const struct model_json *file, const char *key,
                                   enum activation_function *out, struct error *err) {
    const char *name = "gelu";
    enum status status = model_json_string(file, key, &name, err);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (strcmp(activations[i].name, name) == 0) {
            *out = activations[i].function;
            return STATUS_OK;
        }
    }
    return model_json_refuse(file, key, json_object_get(file->root, key), STATUS_UNSUPPORTED,
                             "supported are gelu, gelu_new, gelu_pytorch_tanh and relu", err);
}

static enum status read_norm_eps(const struct model_json *file, const struct family *family,
                                 float *out, struct error *err) {
    const json_t *value = json_object_get(file->root, family->norm_eps_key);
    *out = family->norm_eps_fallback;
    if (value == NULL || json_is_null(value))
        return STATUS_OK;
    *out = (float)json_number_value(value);
    if (json_is_number(value) && *out > 0 && *out <= 1)
        return STATUS_OK;
    return model_json_refuse(file, family->norm_eps_key, value, STATUS_BAD_FILE,
                             "not a number above 0 and at most 1", err);
}

static enum status read_problem(const struct model_json *file, enum problem_type *out,
                                struct error *err) {
    const char *name = NULL;
    enum status status = model_json_string(file, "problem_type", &name, err);
    *out = PROBLEM_NONE;
    if (status != STATUS_OK || name == NULL)
        return status;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        if (strcmp(problems[i].name, name) == 0) {
            *out = problems[i].type;
            return STATUS_OK;
        }
    }
    return model_json_refuse(file, "problem_type", json_object_get(file->root, "problem_type"),
                             STATUS_BAD_FILE,
                             "not regression, single_label_classification or "
                             "multi_label_classification",
                             err);
}

/* Null, and the -1 that some tools write, mean none. */
static enum status read_pad_id(const struct model_json *file, struct model_config *values,
                               struct error *err) {
    uint32_t pad_id = 0;
    const json_t *value = json_object_get(file->root, "pad_token_id");
    if (json_is_null(value) || (json_is_integer(value) && json_integer_value(value) == -1)) {
        values->pad_id = -1;
        return STATUS_OK;
    }
    enum status status =
        model_json_u32(file, "pad_token_id", 0, values->vocab_size - 1, &pad_id, err);
    values->pad_id = (int32_t)pad_id;
    return status;
}

/* Refuses by name what would make the same weights compute something else. */
static enum status refuse_variants(const struct model_json *file, struct error *err) {
    static const char *const flags[] = {"is_decoder", "add_cross_attention", "is_encoder_decoder"};
    static const char *const absent[] = {"pruned_heads", "quantization_config"};
    const char *positions = "absolute";
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        bool flag = false;
        enum status status = model_json_bool(file, flags[i], &flag, err);
        if (status != STATUS_OK)
            return status;
        if (flag)
            return model_json_refuse(file, flags[i], json_true(), STATUS_UNSUPPORTED,
                                     "which is not supported", err);
    }
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        const json_t *value = json_object_get(file->root, absent[i]);
        if (value != NULL && !json_is_null(value) &&
            !(json_is_object(value) && json_object_size(value) == 0))
            return model_json_refuse(file, absent[i], value, STATUS_UNSUPPORTED,
                                     "which is not supported", err);
    }
    enum status status = model_json_string(file, "position_embedding_type", &positions, err);
    if (status == STATUS_OK && strcmp(positions, "absolute") != 0)
        return model_json_refuse(file, "position_embedding_type",
                                 json_object_get(file->root, "position_embedding_type"),
                                 STATUS_UNSUPPORTED, "only \"absolute\" is supported", err);
    return status;
}

static enum status read_config(const struct model_json *file, struct arena *arena,
                               struct config *out, struct error *err) {
    struct model_config *values = &out->values;
    enum status status = read_family(file, out, err);
    if (status == STATUS_OK)
        status = refuse_variants(file, err);
    if (status == STATUS_OK)
        status = read_sizes(file, out->family, values, err);
    if (status == STATUS_OK)
        status = read_activation(file, out->family->activation_key, &values->activation, err);
    if (status == STATUS_OK)
        status = read_norm_eps(file, out->family, &values->norm_eps, err);
    if (status == STATUS_OK)
        status = read_problem(file, &values->problem_type, err);
    if (status == STATUS_OK)
        status = read_pad_id(file, values, err);
    values->tied = true;
    if (status == STATUS_OK)
        status = model_json_bool(file, "tie_word_embeddings", &values->tied, err);
    if (status == STATUS_OK)
        status = labels_read(file, arena, values, err);
    values->tokens_max = token_limit_positions(out->family ? out->family->name : NULL,
                                               values->positions_max, values->pad_id);
    return status;
}

enum status config_parse(struct view text, const char *path, struct arena *arena,
                         struct config *out, struct error *err) {
    *out = (struct config){0};
    struct model_json file = {.path = path};
    enum status status = model_json_parse(text, path, MODEL_JSON_EXACT, &file.root, err);
    if (status == STATUS_OK)
        status = read_config(&file, arena, out, err);
    json_decref(file.root);
    return status;
}

static enum status read_thresholds(const char *dir, struct arena *arena,
                                   struct model_config *values, struct error *err) {
    char path[PATH_MAX];
    struct model_json file = {.path = path};
    enum status status = path_join(dir, "thresholds.json", path, err);
    if (status == STATUS_OK)
        status =
            model_json_read(path, LIMIT_CONFIG_FILE_BYTES, true, MODEL_JSON_REAL, &file.root, err);
    if (status == STATUS_OK && file.root != NULL)
        status = labels_read_thresholds(&file, arena, values, err);
    json_decref(file.root);
    return status;
}

enum status config_open(const char *dir, struct arena *arena, struct config *out,
                        struct error *err) {
    *out = (struct config){0};
    char path[PATH_MAX];
    struct model_json file = {.path = path};
    enum status status = path_join(dir, "config.json", path, err);
    if (status == STATUS_OK)
        status = model_json_read(path, LIMIT_CONFIG_FILE_BYTES, false, MODEL_JSON_EXACT, &file.root,
                                 err);
    if (status == STATUS_OK)
        status = read_config(&file, arena, out, err);
    json_decref(file.root);
    if (status == STATUS_OK)
        status = token_limit_read(dir, &out->values.tokens_max, err);
    if (status == STATUS_OK)
        status = read_thresholds(dir, arena, &out->values, err);
    return status;
}
