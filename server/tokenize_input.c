/* tokenize_input.c: bodies of the tokenizer routes, checked; ids into texts. */
#include "server/tokenize_input.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/json_read.h"

bool tokenize_read_body(struct view body, json_t **out, struct api_error *err) {
    if (!json_read_document(body, out, err))
        return false;
    if (json_is_object(*out))
        return true;
    api_error_set(err, API_INVALID_TYPE, NULL, "the body must be an object, not %s",
                  json_read_type_name(*out));
    json_decref(*out);
    *out = NULL;
    return false;
}

bool tokenize_check_inputs(size_t count, const struct tokenize_rules *rules, const char *param,
                           struct api_error *err) {
    return count <= rules->inputs_max ||
           api_error_set(err, API_TOO_MANY_INPUTS, param, "the call has %zu inputs; allowed: %u",
                         count, rules->inputs_max);
}

bool tokenize_check_tokens(uint64_t count, const struct tokenize_rules *rules,
                           struct api_error *err) {
    return count <= rules->tokens_max ||
           api_error_set(err, API_CALL_TOO_LARGE, NULL,
                         "the call has more than the %u tokens that are allowed",
                         rules->tokens_max);
}

static bool read_ids(const json_t *array, const char *param, int32_t *ids, struct api_error *err) {
    size_t i;
    json_t *value;
    json_array_foreach(array, i, value) {
        char element[API_PARAM_BYTES];
        int64_t id;
        if (json_read_whole(value, &id) && id >= 0 && id <= UINT32_MAX) {
            ids[i] = id <= INT32_MAX ? (int32_t)id : -1;
            continue;
        }
        snprintf(element, sizeof element, "%s[%zu]", param, i);
        return json_is_number(value)
                   ? api_error_set(err, API_INVALID_VALUE, element,
                                   "'%s' must be a whole number from 0 to %u", element, UINT32_MAX)
                   : api_error_set(err, API_INVALID_TYPE, element,
                                   "'%s' must be a token id, not %s", element,
                                   json_read_type_name(value));
    }
    return true;
}

bool tokenize_decode_ids(const json_t *array, const char *param, bool skip_special_tokens,
                         bool clean_up, struct engine_tokenizer *tokenizer, char **text,
                         size_t *bytes, struct api_error *err) {
    size_t count = json_array_size(array); /* LIMIT_JSON_VALUES keeps it small */
    int32_t *ids = malloc((count + 1) * sizeof *ids);
    struct error fault = {.status = STATUS_NO_MEMORY, .input = -1};
    bool good = ids != NULL;
    if (!good) {
        api_error_from_engine(err, &fault, false);
    } else if ((good = read_ids(array, param, ids, err))) {
        good = engine_detokenize(tokenizer, ids, (uint32_t)count, skip_special_tokens, clean_up,
                                 text, bytes, &fault) == STATUS_OK;
        if (!good)
            api_error_from_engine(err, &fault, false);
    }
    free(ids);
    return good;
}
