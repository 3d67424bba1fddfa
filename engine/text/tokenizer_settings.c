/* tokenizer_settings.c: see tokenizer_settings.h. */
#include "engine/text/tokenizer_settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/limits.h"

static const char *const ROLE_FIELDS[SPECIAL_ROLES] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

/* ---- the files ---- */

static enum status read_optional(const char *dir, const char *name, json_t **out,
                                 struct error *err) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return error_set(err, STATUS_IO, "the path of the model directory is too long");
    return file_exists(path) ? json_file_read(path, true, out, err) : STATUS_OK;
}

static struct view string_of(const json_t *document, const char *field) {
    const json_t *value = json_object_get(document, field);
    return json_is_string(value) ? json_view(value) : view_of("");
}

enum status tokenizer_settings_open(const char *dir, struct tokenizer_settings *out,
                                    struct error *err) {
    memset(out, 0, sizeof *out);
    enum status status = read_optional(dir, "tokenizer_config.json", &out->config, err);
    if (status == STATUS_OK)
        status = read_optional(dir, "config.json", &out->model, err);
    if (status == STATUS_OK && json_object_get(out->config, "added_tokens_decoder") == NULL) {
        status = read_optional(dir, "special_tokens_map.json", &out->map, err);
        if (status == STATUS_OK)
            status = read_optional(dir, "added_tokens.json", &out->added, err);
    }
    if (status != STATUS_OK) {
        tokenizer_settings_close(out);
        return status;
    }
    struct view name = string_of(out->config, "tokenizer_class");
    if (name.bytes == 0)
        name = string_of(out->model, "tokenizer_class");
    if (name.bytes > 4 && memcmp(name.data + name.bytes - 4, "Fast", 4) == 0)
        name.bytes -= 4;
    out->class_name = name;
    out->model_type = string_of(out->model, "model_type");
    return STATUS_OK;
}

void tokenizer_settings_close(struct tokenizer_settings *settings) {
    if (settings != NULL) {
        json_decref(settings->config);
        json_decref(settings->map);
        json_decref(settings->added);
        json_decref(settings->model);
        memset(settings, 0, sizeof *settings);
    }
}

enum status tokenizer_settings_flag(const struct tokenizer_settings *settings, const char *name,
                                    bool *out, struct error *err) {
    struct json_place place = {settings->config, "tokenizer_config.json", err, 0};
    return json_field_bool_optional(place, name, out);
}

/* ---- one token ---- */

/* A string, or an object with content and flags. */
static enum status read_token(json_t *value, const char *name, bool special,
                              struct special_token *out, struct error *err) {
    struct json_place place = {value, name, err, 0};
    *out = (struct special_token){.token.special = special, .is_object = json_is_object(value)};
    if (json_is_string(value)) {
        out->content = json_view(value);
        return STATUS_OK;
    }
    if (!out->is_object)
        return json_field_fault(place, "", STATUS_BAD_FILE, "is not a token");
    const json_t *normalized = json_object_get(value, "normalized");
    out->says_normalized = json_is_boolean(normalized);
    enum status status = json_field_view(place, "content", &out->content);
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"single_word", &out->token.single_word},
                 {"lstrip", &out->token.lstrip},
                 {"rstrip", &out->token.rstrip},
                 {"normalized", &out->token.normalized},
                 {"special", &out->token.special}};
    for (size_t i = 0; status == STATUS_OK && i < sizeof flags / sizeof *flags; i++)
        status = json_field_bool_optional(place, flags[i].name, flags[i].flag);
    return status;
}

enum status tokenizer_settings_read_roles(struct tokenizer_settings *settings,
                                          const char *const usual[SPECIAL_ROLES],
                                          struct error *err) {
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < SPECIAL_ROLES; i++) {
        const char *field = ROLE_FIELDS[i];
        json_t *value = json_object_get(settings->map, field);
        if (value == NULL)
            value = json_object_get(settings->config, field);
        settings->roles[i] =
            (struct special_token){.content = view_of(usual[i]), .token.special = true};
        if (value != NULL && json_is_null(value))
            return error_set(err, STATUS_UNSUPPORTED, "%s is null, which is not supported", field);
        if (value != NULL)
            status = read_token(value, field, true, &settings->roles[i], err);
        settings->roles[i].token.special = true;
    }
    return status;
}

/* ---- all tokens ---- */

/* The tokens to add, in the order of their first mention. */
struct token_plan {
    const struct tokenizer_settings *settings;
    struct special_token *tokens;
    size_t count, capacity;
    size_t numbered;        /* the first ones, by id, which later mentions do not change */
    struct vocabulary seen; /* content -> place in tokens */
    struct error *err;
};

static bool is_role(const struct tokenizer_settings *settings, struct view content) {
    for (int i = 0; i < SPECIAL_ROLES; i++)
        if (view_equals(settings->roles[i].content, content))
            return true;
    return false;
}

/* Enters a token, or what a later mention of it says. */
static enum status plan_token(struct token_plan *plan, const struct special_token *token) {
    int32_t place = vocabulary_find(&plan->seen, token->content);
    if (place >= 0) {
        if ((size_t)place >= plan->numbered)
            plan->tokens[place] = *token;
        return STATUS_OK;
    }
    if (plan->count == plan->capacity) {
        size_t capacity = plan->capacity == 0 ? 64 : plan->capacity * 2;
        struct special_token *tokens = reallocarray(plan->tokens, capacity, sizeof *tokens);
        if (tokens == NULL)
            return error_set(plan->err, STATUS_NO_MEMORY, "no memory for the added tokens");
        plan->tokens = tokens;
        plan->capacity = capacity;
    }
    plan->tokens[plan->count++] = *token;
    return vocabulary_append(&plan->seen, token->content, plan->err);
}

static enum status add_planned(const struct token_plan *plan, struct tokenizer *tokenizer) {
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < plan->count; i++) {
        const struct special_token *token = &plan->tokens[i];
        struct added_token own = token->token;
        own.special = own.special || is_role(plan->settings, token->content);
        if (!token->says_normalized)
            own.normalized = !own.special;
        status = tokenizer_add_token(tokenizer, own, -1, token->content, plan->err);
        if (status != STATUS_OK)
            error_prefix(plan->err, "added token \"%.*s\"", view_shown(token->content),
                         token->content.data);
    }
    return status;
}

/* The extra tokens that a file lists; NULL: none does. */
static json_t *listed_extra(const struct tokenizer_settings *settings) {
    json_t *const lists[] = {json_object_get(settings->map, "extra_special_tokens"),
                             json_object_get(settings->config, "extra_special_tokens"),
                             json_object_get(settings->config, "additional_special_tokens")};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (json_is_array(lists[i]))
            return lists[i];
    return NULL;
}

static bool is_listed(const json_t *list, struct view content) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        if (json_is_object(entry))
            entry = json_object_get(entry, "content");
        if (json_is_string(entry) && view_equals(json_view(entry), content))
            return true;
    }
    return false;
}

struct numbered_token {
    double id;
    struct special_token token;
};

static int by_id(const void *a, const void *b) {
    double left = ((const struct numbered_token *)a)->id;
    double right = ((const struct numbered_token *)b)->id;
    return (left > right) - (left < right);
}

/* An entry of added_tokens_decoder, "7": {...}, or of added_tokens.json, "<x>": 7. */
static enum status read_numbered(const struct tokenizer_settings *settings, struct view key,
                                 json_t *value, struct numbered_token *out, struct error *err) {
    if (settings->added == NULL) {
        out->id = strtod(key.data, NULL);
        return read_token(value, "added_tokens_decoder", false, &out->token, err);
    }
    if (!json_is_number(value))
        return error_set(err, STATUS_BAD_FILE, "added_tokens.json: \"%.*s\" has no number",
                         view_shown(key), key.data);
    bool special = is_role(settings, key) || is_listed(listed_extra(settings), key);
    *out = (struct numbered_token){json_number_value(value),
                                   {.content = key, .token.special = special}};
    return STATUS_OK;
}

static enum status plan_numbered(struct token_plan *plan) {
    const struct tokenizer_settings *settings = plan->settings;
    json_t *all = settings->added != NULL
                      ? settings->added
                      : json_object_get(settings->config, "added_tokens_decoder");
    size_t count = 0;
    struct numbered_token *tokens = calloc(json_object_size(all) + 1, sizeof *tokens);
    if (tokens == NULL)
        return error_set(plan->err, STATUS_NO_MEMORY, "no memory for the added tokens");
    enum status status = STATUS_OK;
    for (void *at = json_object_iter(all); status == STATUS_OK && at != NULL;
         at = json_object_iter_next(all, at)) {
        struct view key = {json_object_iter_key(at), json_object_iter_key_len(at)};
        status =
            read_numbered(settings, key, json_object_iter_value(at), &tokens[count++], plan->err);
    }
    if (status == STATUS_OK)
        qsort(tokens, count, sizeof *tokens, by_id);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        status = plan_token(plan, &tokens[i].token);
    plan->numbered = plan->count;
    free(tokens);
    return status;
}

static enum status plan_list(struct token_plan *plan, const json_t *list) {
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);
        struct special_token token;
        status =
            read_token(entry, "extra_special_tokens", json_is_string(entry), &token, plan->err);
        if (status == STATUS_OK)
            status = plan_token(plan, &token);
    }
    return status;
}

enum status tokenizer_settings_add_tokens(const struct tokenizer_settings *settings,
                                          struct tokenizer *tokenizer,
                                          const struct special_token *extra, size_t extra_count,
                                          struct error *err) {
    struct token_plan plan = {.settings = settings, .err = err};
    vocabulary_init(&plan.seen);
    const json_t *list = listed_extra(settings);
    if (list == NULL && extra == NULL)
        list = json_object_get(settings->map, "additional_special_tokens");
    enum status status = plan_numbered(&plan);
    for (int i = 0; status == STATUS_OK && i < SPECIAL_ROLES; i++)
        status = plan_token(&plan, &settings->roles[i]);
    if (status == STATUS_OK)
        status = plan_list(&plan, list);
    for (size_t i = 0; status == STATUS_OK && list == NULL && i < extra_count; i++)
        status = plan_token(&plan, &extra[i]);
    if (status == STATUS_OK)
        status = add_planned(&plan, tokenizer);
    vocabulary_free(&plan.seen);
    free(plan.tokens);
    return status;
}
