/* classify_read.c: checks every field of a classify body once, naming the one that is wrong. */
#include "server/classify_read.h"

#include <math.h>
#include <stdio.h>

#include "server/json_read.h"

static const char *const body_fields[] = {CALL_BODY_FIELDS, "top_k", "threshold", "activation",
                                          "window"};
static const char *const window_fields[] = {"stride", "aggregate"};
enum {
    BODY_FIELDS_COUNT = sizeof body_fields / sizeof body_fields[0],
    WINDOW_FIELDS_COUNT = sizeof window_fields / sizeof window_fields[0]
};

/* In the order of the enums of engine.h. */
const char *const classify_activation_words[] = {"auto", "softmax", "sigmoid", "none", NULL};
static const char *const aggregate_words[] = {"max", "mean", NULL};

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
    int64_t stride = CLASSIFY_STRIDE_DEFAULT;
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

static bool read_body(const struct call_rules *rules, struct classify_call *call,
                      struct api_error *err) {
    const json_t *body = call->body.document;
    int64_t top_k = 0;
    if (!json_read_whole_in(body, "top_k", 1, INT64_MAX, &top_k, err) ||
        !read_threshold(body, rules->info, call, err) ||
        !json_read_choice(body, "activation", classify_activation_words, &call->activation, err) ||
        !read_window(body, call, err))
        return false;
    call->cut.top_k = top_k < UINT32_MAX ? (uint32_t)top_k : 0;
    return call_body_read_inputs(rules, &call->body, err);
}

bool classify_read(struct view body, const struct call_rules *rules, struct classify_call *out,
                   struct api_error *err) {
    *out = (struct classify_call){.window = false};
    if (call_body_open(body, rules, body_fields, BODY_FIELDS_COUNT, &out->body, err) &&
        read_body(rules, out, err))
        return true;
    call_body_free(&out->body);
    return false;
}
