/* classify_read.c: checks every field of a classify body once, naming the one that is wrong. */
#include "server/classify_read.h"

#include <math.h>
#include <stdio.h>

#include "server/json_read.h"

/* Room for the ids and inputs of the largest body that json_read_document() lets through. */
enum { ARENA_BYTES_MAX = 256 << 20, STRIDE_DEFAULT = 64 };

static const char *const body_fields[] = {"input",    "inputs",          "model",
                                          "top_k",    "threshold",       "activation",
                                          "truncate", "truncation_side", "window"};
static const char *const pair_fields[] = {"text", "text_pair"};
static const char *const window_fields[] = {"stride", "aggregate"};
enum {
    BODY_FIELDS_COUNT = sizeof body_fields / sizeof body_fields[0],
    PAIR_FIELDS_COUNT = sizeof pair_fields / sizeof pair_fields[0],
    WINDOW_FIELDS_COUNT = sizeof window_fields / sizeof window_fields[0]
};

/* In the order of the enums of engine.h. */
const char *const classify_activation_words[] = {"auto", "softmax", "sigmoid", "none", NULL};
static const char *const side_words[] = {"right", "left", NULL};
static const char *const aggregate_words[] = {"max", "mean", NULL};

static bool no_memory(struct api_error *err) {
    return api_error_set(err, API_INTERNAL, NULL, "%s", status_meaning(STATUS_NO_MEMORY));
}

static bool read_ids(struct classify_call *call, const json_t *array, const char *param,
                     struct engine_input *out, struct api_error *err) {
    size_t count = json_array_size(array);
    int32_t *ids = arena_calloc(&call->arena, count, sizeof *ids);
    if (!ids)
        return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        char element[API_PARAM_BYTES];
        snprintf(element, sizeof element, "%s[%zu]", param, i);
        const json_t *value = json_array_get(array, i);
        if (!json_is_number(value))
            return api_error_set(err, API_INVALID_TYPE, element,
                                 "'%s' must be a token id as those before it, not %s", element,
                                 json_read_type_name(value));
        int64_t id;
        if (!json_read_whole(value, &id) || id < 0 || id > INT32_MAX)
            return api_error_set(err, API_INVALID_VALUE, element,
                                 "'%s' must be a token id of the vocabulary", element);
        ids[i] = (int32_t)id;
    }
    *out = (struct engine_input){.ids = ids, .ids_count = (uint32_t)count};
    return true;
}

static bool read_pair(const json_t *object, const char *param, struct engine_input *out,
                      struct api_error *err) {
    if (!json_read_known(object, pair_fields, PAIR_FIELDS_COUNT, param, err))
        return false;
    const json_t *text = json_object_get(object, "text");
    const json_t *pair = json_object_get(object, "text_pair");
    if (!json_is_string(text))
        return api_error_set(err, API_INVALID_TYPE, param,
                             "'%s' must be {\"text\": a string, \"text_pair\": a string}", param);
    if (pair && !json_is_null(pair) && !json_is_string(pair)) {
        char field[API_PARAM_BYTES];
        snprintf(field, sizeof field, "%s.text_pair", param);
        return api_error_set(err, API_INVALID_TYPE, field, "'%s' must be a string, not %s", field,
                             json_read_type_name(pair));
    }
    *out = (struct engine_input){.text = json_read_view(text)};
    if (json_is_string(pair))
        out->text_pair = json_read_view(pair);
    return true;
}

/* One input: a string, a pair object or an array of token ids. */
static bool read_input(struct classify_call *call, const json_t *value, const char *param,
                       struct engine_input *out, struct api_error *err) {
    if (json_is_string(value)) {
        *out = (struct engine_input){.text = json_read_view(value)};
        return true;
    }
    if (json_is_object(value))
        return read_pair(value, param, out, err);
    if (json_is_array(value) && json_array_size(value) == 0)
        return api_error_set(err, API_EMPTY_INPUT, param, "'%s' is an empty array", param);
    if (json_is_array(value) && json_is_number(json_array_get(value, 0)))
        return read_ids(call, value, param, out, err);
    return api_error_set(
        err, API_INVALID_TYPE, param,
        "'%s' must be a text, a pair object or an array of token ids, not %s", param,
        json_is_array(value) ? "an array of something else" : json_read_type_name(value));
}

static bool read_inputs(struct classify_call *call, const json_t *value, uint32_t inputs_max,
                        struct api_error *err) {
    call->many = json_is_array(value) && json_array_size(value) > 0 &&
                 !json_is_number(json_array_get(value, 0));
    size_t count = call->many ? json_array_size(value) : 1;
    if (count > inputs_max)
        return api_error_set(err, API_TOO_MANY_INPUTS, "input",
                             "the call has %zu inputs; allowed: %u", count, inputs_max);
    call->inputs = arena_calloc(&call->arena, count, sizeof *call->inputs);
    if (!call->inputs)
        return no_memory(err);
    call->inputs_count = (uint32_t)count;
    if (!call->many)
        return read_input(call, value, "input", &call->inputs[0], err);
    for (size_t i = 0; i < count; i++) {
        char param[32];
        snprintf(param, sizeof param, "input[%zu]", i);
        if (!read_input(call, json_array_get(value, i), param, &call->inputs[i], err))
            return false;
    }
    return true;
}

static bool read_model(const json_t *body, const char *model_name, struct api_error *err) {
    const json_t *value = json_object_get(body, "model");
    if (!value || json_is_null(value))
        return true;
    if (!json_is_string(value))
        return api_error_set(err, API_INVALID_TYPE, "model", "'model' must be a string, not %s",
                             json_read_type_name(value));
    if (!view_equals_c(json_read_view(value), model_name))
        return api_error_set(err, API_MODEL_NOT_FOUND, "model",
                             "there is no model '%.64s'; there is '%.128s'",
                             json_string_value(value), model_name);
    return true;
}

static bool read_threshold(const json_t *body, const struct engine_info *info,
                           struct classify_call *call, struct api_error *err) {
    const json_t *value = json_object_get(body, "threshold");
    if (!value || json_is_null(value))
        return true;
    if (json_is_number(value)) {
        call->cut.kind = THRESHOLD_VALUE;
        call->cut.threshold = (float)json_number_value(value);
        if (!isfinite(call->cut.threshold))
            return api_error_set(err, API_INVALID_VALUE, "threshold",
                                 "'threshold' is too large for a score");
        return true;
    }
    if (!json_is_string(value))
        return api_error_set(err, API_INVALID_TYPE, "threshold",
                             "'threshold' must be a number or \"model\", not %s",
                             json_read_type_name(value));
    if (!view_equals_c(json_read_view(value), "model"))
        return api_error_set(err, API_INVALID_VALUE, "threshold",
                             "'threshold' is '%.64s'; allowed: a number, \"model\"",
                             json_string_value(value));
    if (!info->thresholds)
        return api_error_set(err, API_INVALID_VALUE, "threshold",
                             "the model has no thresholds.json");
    call->cut.kind = THRESHOLD_MODEL;
    return true;
}

static bool read_window(const json_t *body, struct classify_call *call, struct api_error *err) {
    const json_t *value = json_object_get(body, "window");
    if (!value || json_is_null(value))
        return true;
    if (!json_is_object(value))
        return api_error_set(err, API_INVALID_TYPE, "window", "'window' must be an object, not %s",
                             json_read_type_name(value));
    int64_t stride = STRIDE_DEFAULT;
    if (!json_read_known(value, window_fields, WINDOW_FIELDS_COUNT, "window", err))
        return false;
    if (!json_read_whole_in(value, "stride", 0, LIMIT_POSITIONS, &stride, err) ||
        !json_read_choice(value, "aggregate", aggregate_words, &call->aggregate, err)) {
        char field[API_PARAM_BYTES];
        snprintf(field, sizeof field, "window.%.64s", err->param);
        snprintf(err->param, sizeof err->param, "%s", field);
        return false;
    }
    call->window = true;
    call->window_stride = (uint32_t)stride;
    return true;
}

static bool read_body(const json_t *body, const struct classify_rules *rules,
                      struct classify_call *call, struct api_error *err) {
    if (!json_is_object(body))
        return api_error_set(err, API_INVALID_TYPE, NULL, "the body must be an object, not %s",
                             json_read_type_name(body));
    if (!json_read_known(body, body_fields, BODY_FIELDS_COUNT, NULL, err))
        return false;
    const json_t *input = json_object_get(body, "input"), *inputs = json_object_get(body, "inputs");
    if (input && inputs)
        return api_error_set(err, API_INVALID_VALUE, "inputs",
                             "'input' and 'inputs' are the same field; give one of them");
    if (!input && !inputs)
        return api_error_set(err, API_MISSING_FIELD, "input", "'input' is missing");
    int64_t top_k = 0;
    if (!read_model(body, rules->model_name, err) ||
        !json_read_whole_in(body, "top_k", 1, INT64_MAX, &top_k, err) ||
        !read_threshold(body, rules->info, call, err) ||
        !json_read_choice(body, "activation", classify_activation_words, &call->activation, err) ||
        !json_read_bool(body, "truncate", &call->truncate, err) ||
        !json_read_choice(body, "truncation_side", side_words, &call->side, err) ||
        !read_window(body, call, err))
        return false;
    call->cut.top_k = top_k < UINT32_MAX ? (uint32_t)top_k : 0;
    return read_inputs(call, input ? input : inputs, rules->inputs_max, err);
}

bool classify_read(struct view body, const struct classify_rules *rules, struct classify_call *out,
                   struct api_error *err) {
    *out = (struct classify_call){.truncate = rules->truncate};
    arena_init(&out->arena, ARENA_BYTES_MAX);
    if (json_read_document(body, &out->document, err) && read_body(out->document, rules, out, err))
        return true;
    classify_call_free(out);
    return false;
}

void classify_call_free(struct classify_call *call) {
    if (!call)
        return;
    json_decref(call->document);
    call->document = NULL;
    arena_free(&call->arena);
    call->inputs = NULL;
}
