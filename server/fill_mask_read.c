/* fill_mask_read.c: checks every field of a fill-mask body once, naming the one that is wrong. */
#include "server/fill_mask_read.h"

#include <stdio.h>

#include "server/fill_mask.h"
#include "server/json_read.h"

static const char *const body_fields[] = {CALL_BODY_FIELDS, "top_k", "targets"};
enum { BODY_FIELDS_COUNT = sizeof body_fields / sizeof body_fields[0] };

/* A string, or an array of strings. */
static bool read_targets(struct fill_mask_call *call, struct api_error *err) {
    const json_t *value = json_object_get(call->body.document, "targets");
    if (!value || json_is_null(value))
        return true;
    if (!json_is_array(value) && !json_is_string(value))
        return api_error_set(err, API_INVALID_TYPE, "targets",
                             "'targets' must be an array of strings, not %s",
                             json_read_type_name(value));
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    if (count == 0 || count > LIMIT_CALL_TARGETS)
        return api_error_set(err, API_INVALID_VALUE, "targets",
                             "'targets' has %zu entries; allowed: 1 to %u", count,
                             LIMIT_CALL_TARGETS);
    struct view *targets = arena_calloc(&call->body.arena, count, sizeof *targets);
    if (!targets)
        return api_error_set(err, API_INTERNAL, NULL, "%s", status_meaning(STATUS_NO_MEMORY));
    for (size_t i = 0; i < count; i++) {
        const json_t *target = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(target)) {
            char param[API_PARAM_BYTES];
            snprintf(param, sizeof param, "targets[%zu]", i);
            return api_error_set(err, API_INVALID_TYPE, param, "'%s' must be a string, not %s",
                                 param, json_read_type_name(target));
        }
        targets[i] = json_read_view(target);
    }
    call->options.targets = targets;
    call->options.targets_count = (uint32_t)count;
    if (!fill_mask_distinct(targets, &call->options.targets_count))
        return api_error_set(err, API_INTERNAL, NULL, "%s", status_meaning(STATUS_NO_MEMORY));
    return true;
}

static bool read_body(const struct call_rules *rules, struct fill_mask_call *call,
                      struct api_error *err) {
    int64_t top_k = FILL_MASK_TOP_K;
    if (!json_read_whole_in(call->body.document, "top_k", 1, INT64_MAX, &top_k, err) ||
        !read_targets(call, err))
        return false;
    call->options.top_k = top_k < UINT32_MAX ? (uint32_t)top_k : UINT32_MAX;
    return call_body_read_inputs(rules, &call->body, err);
}

bool fill_mask_read(struct view body, const struct call_rules *rules, struct fill_mask_call *out,
                    struct api_error *err) {
    *out = (struct fill_mask_call){.options = {.top_k = FILL_MASK_TOP_K}};
    if (call_body_open(body, rules, body_fields, BODY_FIELDS_COUNT, &out->body, err) &&
        read_body(rules, out, err))
        return true;
    call_body_free(&out->body);
    return false;
}
