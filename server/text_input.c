/* text_input.c: turns arguments or lines into inputs, before anything reaches the engine. */
#include "server/text_input.h"

#include <jansson.h>
#include <stdlib.h>

#include "engine/base/limits.h"

void text_input_init(struct text_input *input, const struct options_rest *arguments, FILE *file,
                     bool jsonl) {
    *input = (struct text_input){
        .arguments = *arguments, .from_arguments = arguments->count > 0, .jsonl = jsonl};
    line_reader_init(&input->lines, file);
}

void text_item_free(struct text_item *item) {
    json_decref(item->json);
    free(item->ids);
    *item = (struct text_item){.json = NULL};
}

void text_input_free(struct text_input *input) {
    text_item_free(&input->item);
    line_reader_free(&input->lines);
}

bool text_input_check_end(const struct text_input *input, const struct command *command) {
    if (input->lines.failed)
        fprintf(stderr, "bertd %s: the input could not be read to its end (line %llu)\n",
                command->name, (unsigned long long)input->lines.lines_read + 1);
    return !input->lines.failed;
}

static struct view view_of_json(const json_t *string) {
    return (struct view){json_string_value(string), json_string_length(string)};
}

/* Reads {"text", "text_pair"}; a pair that is null is none. */
static enum status read_object(json_t *object, unsigned allowed, struct text_item *out,
                               struct error *err) {
    static const char *const names[] = {"text", "text_pair"};
    const char *key;
    json_t *value;
    bool has_text = false;
    json_object_foreach(object, key, value) {
        bool is_text = strcmp(key, names[0]) == 0;
        bool is_known = is_text || strcmp(key, names[1]) == 0;
        if (!is_known && (allowed & TEXT_ALLOWS_FIELDS))
            continue;
        const char *nearest = is_known ? NULL : options_nearest(key, names, 2);
        if (!is_known)
            return error_set(err, STATUS_INVALID_VALUE,
                             "unknown field '%.64s'%s%s%s; the fields are: text, text_pair", key,
                             nearest ? ", the nearest is '" : "", nearest ? nearest : "",
                             nearest ? "'" : "");
        if (!is_text && json_is_null(value))
            continue;
        if (!json_is_string(value))
            return error_set(err, STATUS_INVALID_VALUE, "%s must be a string", key);
        if (is_text)
            out->text = view_of_json(value);
        else
            out->text_pair = view_of_json(value);
        has_text = has_text || is_text;
    }
    return has_text ? STATUS_OK : error_set(err, STATUS_INVALID_VALUE, "the field text is missing");
}

static enum status read_ids(const json_t *array, struct text_item *out, struct error *err) {
    const size_t count = json_array_size(array);
    if (count == 0)
        return error_set(err, STATUS_INVALID_VALUE, "the array of token ids is empty");
    if (!(out->ids = calloc(count, sizeof *out->ids)))
        return error_set(err, STATUS_NO_MEMORY, "%s", status_meaning(STATUS_NO_MEMORY));
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id > INT32_MAX)
            return error_set(err, STATUS_INVALID_VALUE,
                             "element %zu of the array is no token id of the vocabulary", i);
        out->ids[i] = (int32_t)id;
    }
    out->ids_count = (uint32_t)count;
    return STATUS_OK;
}

enum status text_item_from_json(json_t *value, unsigned allowed, struct text_item *out,
                                struct error *err) {
    *out = (struct text_item){.json = NULL};
    enum status status = STATUS_OK;
    if (json_is_string(value))
        out->text = view_of_json(value);
    else if (json_is_object(value))
        status = read_object(value, allowed, out, err);
    else if (json_is_array(value) && (allowed & TEXT_ALLOWS_IDS))
        status = read_ids(value, out, err);
    else
        status = error_set(err, STATUS_INVALID_VALUE,
                           "an input must be a string%s an object with text and text_pair%s",
                           allowed & TEXT_ALLOWS_IDS ? "," : " or",
                           allowed & TEXT_ALLOWS_IDS ? ", or an array of token ids" : "");
    if (status == STATUS_OK)
        out->json = json_incref(value);
    else
        text_item_free(out);
    return status;
}

static enum status parse_item(struct view json, unsigned allowed, struct text_item *out,
                              struct error *err) {
    *out = (struct text_item){.json = NULL};
    json_error_t error;
    json_t *value = json_loadb(json.data, json.bytes,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        bool is_utf8 = json_error_code(&error) != json_error_invalid_utf8;
        return error_set(err, is_utf8 ? STATUS_INVALID_VALUE : STATUS_INVALID_UTF8,
                         "not JSON: %s (column %d)", error.text, error.column);
    }
    enum status status = text_item_from_json(value, allowed, out, err);
    json_decref(value);
    return status;
}

static bool is_blank(struct view line) {
    for (size_t i = 0; i < line.bytes; i++)
        if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r')
            return false;
    return true;
}

/* The next text, of an argument or a line, before JSON is looked at. */
static enum text_input_result next_raw(struct text_input *input, struct view *out,
                                       struct error *err) {
    if (input->from_arguments) {
        if (input->next_argument == input->arguments.count)
            return TEXT_INPUT_END;
        *out = view_of(input->arguments.arguments[input->next_argument++]);
        return TEXT_INPUT_ITEM;
    }
    for (;;) {
        switch (line_reader_next(&input->lines, out)) {
        case LINE_END:
            return TEXT_INPUT_END;
        case LINE_TOO_LONG:
            error_set(err, STATUS_INPUT_TOO_LONG, "the line has more than %llu bytes",
                      LIMIT_LINE_BYTES);
            return TEXT_INPUT_BAD;
        case LINE_READ:
            if (!input->jsonl || !is_blank(*out))
                return TEXT_INPUT_ITEM;
        }
    }
}

enum text_input_result text_input_next(struct text_input *input, struct text_item *out,
                                       struct error *err) {
    struct view raw;
    text_item_free(&input->item);
    enum text_input_result result = next_raw(input, &raw, err);
    *out = (struct text_item){.text = {"", 0}};
    if (result != TEXT_INPUT_ITEM)
        return result;
    if (!input->jsonl) {
        input->item.text = raw;
    } else if (parse_item(raw, input->allowed, &input->item, err) != STATUS_OK) {
        out->text = raw;
        return TEXT_INPUT_BAD;
    }
    if (input->item.ids)
        input->item.text = raw;
    *out = input->item;
    return TEXT_INPUT_ITEM;
}
