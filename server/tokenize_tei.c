/* tokenize_tei.c: /tokenize and /decode as text-embeddings-inference has them: its field names,
 * its answers without an object around them, unknown fields ignored. */
#include <stdio.h>
#include <stdlib.h>

#include "server/json_read.h"
#include "server/tokenize_input.h"

/* A field that must be there. */
static json_t *find(const json_t *body, const char *name, struct api_error *err) {
    json_t *value = json_object_get(body, name);
    if (!value)
        api_error_set(err, API_MISSING_FIELD, name, "missing field `%s`", name);
    return value;
}

static void write_token(const struct engine_tokens *tokens, uint32_t i, struct json_writer *out) {
    bool special = tokens->special_tokens_mask[i];
    json_put_begin_object(out);
    json_put_key(out, "id");
    json_put_integer(out, tokens->ids[i]);
    json_put_key(out, "text");
    json_put_string_view(out, special ? tokens->tokens[i] : tokens->texts[i]);
    json_put_key(out, "special");
    json_put_bool(out, special);
    json_put_key(out, "start");
    if (special)
        json_put_null(out);
    else
        json_put_unsigned(out, tokens->starts[i]);
    json_put_key(out, "stop");
    if (special)
        json_put_null(out);
    else
        json_put_unsigned(out, tokens->ends[i]);
    json_put_end_object(out);
}

static bool write_input(const json_t *value, const char *param,
                        const struct engine_tokenize_options *options,
                        const struct tokenize_rules *rules, struct engine_tokenizer *tokenizer,
                        uint64_t *total, struct json_writer *out, struct api_error *err) {
    struct engine_tokens tokens;
    struct error fault = {.input = -1};
    if (!json_is_string(value))
        return api_error_set(err, API_INVALID_TYPE, param, "`%s` must be a string, not %s", param,
                             json_read_type_name(value));
    if (json_string_length(value) == 0)
        return api_error_set(err, API_EMPTY_INPUT, param, "`%s` cannot be empty", param);
    if (engine_tokenize(tokenizer, json_read_view(value), NULL, options, &tokens, &fault) !=
        STATUS_OK)
        return api_error_from_engine(err, &fault, false);
    *total += tokens.count;
    if (!tokenize_check_tokens(*total, rules, err))
        return false;
    json_put_begin_array(out);
    for (uint32_t i = 0; i < tokens.count; i++)
        write_token(&tokens, i, out);
    json_put_end_array(out);
    return true;
}

static bool tokenize_body(const json_t *body, const struct tokenize_rules *rules,
                          struct engine_tokenizer *tokenizer, struct json_writer *out,
                          struct api_error *err) {
    struct engine_tokenize_options options = {true, false, TRUNCATION_RIGHT};
    const json_t *prompt = json_object_get(body, "prompt_name");
    uint64_t total = 0;
    json_t *inputs = find(body, "inputs", err);
    if (!inputs || !json_read_bool(body, "add_special_tokens", &options.add_special_tokens, err))
        return false;
    if (prompt && !json_is_null(prompt))
        return api_error_set(err, API_NO_PROMPTS, "prompt_name",
                             "`prompt_name` is given, but the model has no prompts");
    bool many = json_is_array(inputs);
    size_t count = many ? json_array_size(inputs) : 1;
    if (count == 0)
        return api_error_set(err, API_EMPTY_INPUT, "inputs", "`inputs` cannot be empty");
    if (!tokenize_check_inputs(count, rules, "inputs", err))
        return false;
    json_put_begin_array(out);
    for (size_t i = 0; i < count; i++) {
        char param[32] = "inputs";
        if (many)
            snprintf(param, sizeof param, "inputs[%zu]", i);
        if (!write_input(many ? json_array_get(inputs, i) : inputs, param, &options, rules,
                         tokenizer, &total, out, err))
            return false;
    }
    json_put_end_array(out);
    return true;
}

bool tokenize_run_tei(struct view body, const struct tokenize_rules *rules,
                      struct engine_tokenizer *tokenizer, struct json_writer *out,
                      struct api_error *err) {
    json_t *document;
    if (!tokenize_read_body(body, &document, err))
        return false;
    bool good = tokenize_body(document, rules, tokenizer, out, err);
    json_decref(document);
    return good;
}

static bool write_text(const json_t *ids, const char *param, bool skip,
                       struct engine_tokenizer *tokenizer, struct json_writer *out,
                       struct api_error *err) {
    char *text;
    size_t bytes;
    if (!json_is_array(ids))
        return api_error_set(err, API_INVALID_TYPE, param,
                             "`%s` must be an array of token ids, not %s", param,
                             json_read_type_name(ids));
    if (json_array_size(ids) == 0)
        return api_error_set(err, API_EMPTY_INPUT, param, "`input_ids` cannot be empty");
    if (!tokenize_decode_ids(ids, param, skip, false, tokenizer, &text, &bytes, err))
        return false;
    json_put_string_view(out, (struct view){text, bytes});
    free(text);
    return true;
}

static bool detokenize_body(const json_t *body, const struct tokenize_rules *rules,
                            struct engine_tokenizer *tokenizer, struct json_writer *out,
                            struct api_error *err) {
    bool skip = true;
    const json_t *ids = find(body, "ids", err);
    if (!ids || !json_read_bool(body, "skip_special_tokens", &skip, err))
        return false;
    bool many = json_is_array(json_array_get(ids, 0));
    size_t count = many ? json_array_size(ids) : 1;
    if (!tokenize_check_inputs(count, rules, "ids", err))
        return false;
    json_put_begin_array(out);
    for (size_t i = 0; i < count; i++) {
        char param[32] = "ids";
        if (many)
            snprintf(param, sizeof param, "ids[%zu]", i);
        if (!write_text(many ? json_array_get(ids, i) : ids, param, skip, tokenizer, out, err))
            return false;
    }
    json_put_end_array(out);
    return true;
}

bool detokenize_run_tei(struct view body, const struct tokenize_rules *rules,
                        struct engine_tokenizer *tokenizer, struct json_writer *out,
                        struct api_error *err) {
    json_t *document;
    if (!tokenize_read_body(body, &document, err))
        return false;
    bool good = detokenize_body(document, rules, tokenizer, out, err);
    json_decref(document);
    return good;
}
