/* call_read.c: the fields that every call has: inputs, model, truncation. */
#include "server/call_read.h"

#include <stdio.h>

#include "server/json_read.h"

/* Room for the ids and inputs of the largest body that json_read_document() lets through. */
enum { ARENA_BYTES_MAX = 256 << 20 };

static const char *const pair_fields[] = {"text", "text_pair"};
enum { PAIR_FIELDS_COUNT = sizeof pair_fields / sizeof pair_fields[0] };

/* In the order of enum truncation_side. */
static const char *const side_words[] = {"right", "left", NULL};

static bool no_memory(struct api_error *err) {
    return api_error_set(err, API_INTERNAL, NULL, "%s", status_meaning(STATUS_NO_MEMORY));
}

static bool read_ids(struct call_body *call, const json_t *array, const char *param,
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

bool call_read_text(const json_t *value, const char *param, struct engine_input *out,
                    struct api_error *err) {
    if (json_is_object(value))
        return read_pair(value, param, out, err);
    if (!json_is_string(value))
        return api_error_set(err, API_INVALID_TYPE, param,
                             "'%s' must be a text or a pair object, not %s", param,
                             json_read_type_name(value));
    *out = (struct engine_input){.text = json_read_view(value)};
    return true;
}

/* One input: a string, a pair object or an array of token ids. */
static bool read_input(struct call_body *call, const json_t *value, const char *param,
                       struct engine_input *out, struct api_error *err) {
    if (json_is_string(value) || json_is_object(value))
        return call_read_text(value, param, out, err);
    if (json_is_array(value) && json_array_size(value) == 0)
        return api_error_set(err, API_EMPTY_INPUT, param, "'%s' is an empty array", param);
    if (json_is_array(value) && json_is_number(json_array_get(value, 0)))
        return read_ids(call, value, param, out, err);
    return api_error_set(
        err, API_INVALID_TYPE, param,
        "'%s' must be a text, a pair object or an array of token ids, not %s", param,
        json_is_array(value) ? "an array of something else" : json_read_type_name(value));
}

static bool read_inputs(struct call_body *call, const json_t *value, uint32_t inputs_max,
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

bool call_body_open(struct view body, const struct call_rules *rules, const char *const *fields,
                    size_t fields_count, struct call_body *out, struct api_error *err) {
    *out = (struct call_body){.truncate = rules->truncate};
    arena_init(&out->arena, ARENA_BYTES_MAX);
    if (!json_read_document(body, &out->document, err))
        return false;
    if (!json_is_object(out->document))
        return api_error_set(err, API_INVALID_TYPE, NULL, "the body must be an object, not %s",
                             json_read_type_name(out->document));
    if (!json_read_known(out->document, fields, fields_count, NULL, err))
        return false;
    const json_t *input = json_object_get(out->document, "input");
    const json_t *inputs = json_object_get(out->document, "inputs");
    if (input && inputs)
        return api_error_set(err, API_INVALID_VALUE, "inputs",
                             "'input' and 'inputs' are the same field; give one of them");
    if (!input && !inputs)
        return api_error_set(err, API_MISSING_FIELD, "input", "'input' is missing");
    return read_model(out->document, rules->model_name, err);
}

bool call_body_read_inputs(const struct call_rules *rules, struct call_body *call,
                           struct api_error *err) {
    const json_t *body = call->document, *input = json_object_get(body, "input");
    if (!json_read_bool(body, "truncate", &call->truncate, err) ||
        !json_read_choice(body, "truncation_side", side_words, &call->side, err))
        return false;
    return read_inputs(call, input ? input : json_object_get(body, "inputs"), rules->inputs_max,
                       err);
}

void call_body_free(struct call_body *body) {
    if (!body)
        return;
    json_decref(body->document);
    body->document = NULL;
    arena_free(&body->arena);
    body->inputs = NULL;
}
