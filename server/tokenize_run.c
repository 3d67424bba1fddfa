/* tokenize_run.c: /v1/tokenize and /v1/detokenize. */
#include "server/tokenize_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/call_read.h"
#include "server/json_read.h"
#include "server/tokenize_input.h"

static const char *const tokenize_fields[] = {
    "input", "inputs", "model", "add_special_tokens", "truncate", "truncation_side"};
static const char *const detokenize_fields[] = {"ids", "model", "skip_special_tokens"};
static const char *const side_words[] = {"right", "left", NULL};

void tokenize_write_fields(const struct engine_tokens *tokens, struct json_writer *out) {
    json_put_key(out, "ids");
    json_put_begin_array(out);
    for (uint32_t i = 0; i < tokens->count; i++)
        json_put_integer(out, tokens->ids[i]);
    json_put_end_array(out);
    json_put_key(out, "tokens");
    json_put_begin_array(out);
    for (uint32_t i = 0; i < tokens->count; i++)
        json_put_string_view(out, tokens->tokens[i]);
    json_put_end_array(out);
    json_put_key(out, "offsets");
    json_put_begin_array(out);
    for (uint32_t i = 0; i < tokens->count; i++) {
        json_put_begin_array(out);
        json_put_unsigned(out, tokens->starts[i]);
        json_put_unsigned(out, tokens->ends[i]);
        json_put_end_array(out);
    }
    json_put_end_array(out);
    json_put_key(out, "type_ids");
    json_put_begin_array(out);
    for (uint32_t i = 0; i < tokens->count; i++)
        json_put_unsigned(out, tokens->type_ids[i]);
    json_put_end_array(out);
    json_put_key(out, "special_tokens_mask");
    json_put_begin_array(out);
    for (uint32_t i = 0; i < tokens->count; i++)
        json_put_unsigned(out, tokens->special_tokens_mask[i]);
    json_put_end_array(out);
    json_put_key(out, "truncated");
    json_put_bool(out, tokens->truncated);
}

static bool read_model(const json_t *body, const char *model_name, struct api_error *err) {
    const json_t *value = json_object_get(body, "model");
    if (!value || json_is_null(value))
        return true;
    if (!json_is_string(value))
        return api_error_set(err, API_INVALID_TYPE, "model", "'model' must be a string, not %s",
                             json_read_type_name(value));
    return view_equals_c(json_read_view(value), model_name) ||
           api_error_set(err, API_MODEL_NOT_FOUND, "model",
                         "there is no model '%.64s'; there is '%.128s'", json_string_value(value),
                         model_name);
}

static bool write_item(const json_t *value, size_t index, bool many,
                       const struct engine_tokenize_options *options,
                       const struct tokenize_rules *rules, struct engine_tokenizer *tokenizer,
                       uint64_t *total, struct json_writer *out, struct api_error *err) {
    char param[32] = "input";
    struct engine_input input;
    struct engine_tokens tokens;
    struct error fault = {.input = -1};
    if (many)
        snprintf(param, sizeof param, "input[%zu]", index);
    if (!call_read_text(value, param, &input, err))
        return false;
    enum status status =
        engine_tokenize(tokenizer, input.text, input.text_pair.data ? &input.text_pair : NULL,
                        options, &tokens, &fault);
    if (status != STATUS_OK) {
        fault.input = (int)index;
        return api_error_from_engine(err, &fault, many);
    }
    *total += tokens.count;
    if (!tokenize_check_tokens(*total, rules, err))
        return false;
    json_put_begin_object(out);
    json_put_key(out, "index");
    json_put_unsigned(out, index);
    tokenize_write_fields(&tokens, out);
    json_put_end_object(out);
    return true;
}

static void write_head(const struct tokenize_rules *rules, struct json_writer *out) {
    json_put_begin_object(out);
    json_put_key(out, "object");
    json_put_string(out, "list");
    json_put_key(out, "model");
    json_put_string(out, rules->model_name);
    json_put_key(out, "data");
    json_put_begin_array(out);
}

static void write_tail(struct json_writer *out) {
    json_put_end_array(out);
    json_put_end_object(out);
}

/* The field "input", or "inputs", which means the same. */
static json_t *find_input(const json_t *body, struct api_error *err) {
    json_t *input = json_object_get(body, "input"), *inputs = json_object_get(body, "inputs");
    if (input && inputs)
        api_error_set(err, API_INVALID_VALUE, "inputs",
                      "'input' and 'inputs' are the same field; give one of them");
    else if (!input && !inputs)
        api_error_set(err, API_MISSING_FIELD, "input", "'input' is missing");
    else
        return input ? input : inputs;
    return NULL;
}

static bool tokenize_body(const json_t *body, const struct tokenize_rules *rules,
                          struct engine_tokenizer *tokenizer, struct json_writer *out,
                          struct api_error *err) {
    struct engine_tokenize_options options = {true, rules->truncate, TRUNCATION_RIGHT};
    uint32_t side = TRUNCATION_RIGHT;
    uint64_t total = 0;
    if (!json_read_known(body, tokenize_fields, sizeof tokenize_fields / sizeof *tokenize_fields,
                         NULL, err) ||
        !read_model(body, rules->model_name, err) ||
        !json_read_bool(body, "add_special_tokens", &options.add_special_tokens, err) ||
        !json_read_bool(body, "truncate", &options.truncate, err) ||
        !json_read_choice(body, "truncation_side", side_words, &side, err))
        return false;
    options.side = (enum truncation_side)side;
    json_t *input = find_input(body, err);
    if (!input)
        return false;
    bool many = json_is_array(input);
    size_t count = many ? json_array_size(input) : 1;
    if (count == 0)
        return api_error_set(err, API_EMPTY_INPUT, "input", "'input' is an empty array");
    if (!tokenize_check_inputs(count, rules, "input", err))
        return false;
    write_head(rules, out);
    for (size_t i = 0; i < count; i++)
        if (!write_item(many ? json_array_get(input, i) : input, i, many, &options, rules,
                        tokenizer, &total, out, err))
            return false;
    write_tail(out);
    return true;
}

bool tokenize_run_native(struct view body, const struct tokenize_rules *rules,
                         struct engine_tokenizer *tokenizer, struct json_writer *out,
                         struct api_error *err) {
    json_t *document;
    if (!tokenize_read_body(body, &document, err))
        return false;
    bool good = tokenize_body(document, rules, tokenizer, out, err);
    json_decref(document);
    return good;
}

static bool detokenize_many(const json_t *lists, bool skip, const struct tokenize_rules *rules,
                            struct engine_tokenizer *tokenizer, struct json_writer *out,
                            struct api_error *err) {
    if (!tokenize_check_inputs(json_array_size(lists), rules, "ids", err))
        return false;
    write_head(rules, out);
    for (size_t i = 0; i < json_array_size(lists); i++) {
        const json_t *ids = json_array_get(lists, i);
        char param[32], *text;
        size_t bytes;
        snprintf(param, sizeof param, "ids[%zu]", i);
        if (!json_is_array(ids))
            return api_error_set(err, API_INVALID_TYPE, param,
                                 "'%s' must be an array of token ids as those before it, not %s",
                                 param, json_read_type_name(ids));
        if (!tokenize_decode_ids(ids, param, skip, true, tokenizer, &text, &bytes, err))
            return false;
        json_put_begin_object(out);
        json_put_key(out, "index");
        json_put_unsigned(out, i);
        json_put_key(out, "text");
        json_put_string_view(out, (struct view){text, bytes});
        json_put_end_object(out);
        free(text);
    }
    write_tail(out);
    return true;
}

static bool detokenize_body(const json_t *body, const struct tokenize_rules *rules,
                            struct engine_tokenizer *tokenizer, struct json_writer *out,
                            struct api_error *err) {
    bool skip = true;
    if (!json_read_known(body, detokenize_fields,
                         sizeof detokenize_fields / sizeof *detokenize_fields, NULL, err) ||
        !read_model(body, rules->model_name, err) ||
        !json_read_bool(body, "skip_special_tokens", &skip, err))
        return false;
    const json_t *ids = json_object_get(body, "ids");
    if (!ids)
        return api_error_set(err, API_MISSING_FIELD, "ids", "'ids' is missing");
    if (!json_is_array(ids))
        return api_error_set(err, API_INVALID_TYPE, "ids",
                             "'ids' must be an array of token ids, not %s",
                             json_read_type_name(ids));
    if (json_is_array(json_array_get(ids, 0)))
        return detokenize_many(ids, skip, rules, tokenizer, out, err);
    char *text;
    size_t bytes;
    if (!tokenize_decode_ids(ids, "ids", skip, true, tokenizer, &text, &bytes, err))
        return false;
    json_put_begin_object(out);
    json_put_key(out, "text");
    json_put_string_view(out, (struct view){text, bytes});
    json_put_end_object(out);
    free(text);
    return true;
}

bool detokenize_run_native(struct view body, const struct tokenize_rules *rules,
                           struct engine_tokenizer *tokenizer, struct json_writer *out,
                           struct api_error *err) {
    json_t *document;
    if (!tokenize_read_body(body, &document, err))
        return false;
    bool good = detokenize_body(document, rules, tokenizer, out, err);
    json_decref(document);
    return good;
}
