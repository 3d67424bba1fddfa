/* text_input.c: turns arguments or lines into inputs, before anything reaches the engine. */
#include "server/text_input.h"

#include <jansson.h>

#include "engine/base/limits.h"

void text_input_init(struct text_input *input, const struct options_rest *arguments, FILE *file,
                     bool jsonl) {
    *input = (struct text_input){
        .arguments = *arguments, .from_arguments = arguments->count > 0, .jsonl = jsonl};
    line_reader_init(&input->lines, file);
}

void text_item_free(struct text_item *item) {
    json_decref(item->json);
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
static enum status read_object(json_t *object, bool lenient, struct text_item *out,
                               struct error *err) {
    const char *key;
    json_t *value;
    bool has_text = false;
    json_object_foreach(object, key, value) {
        bool is_text = strcmp(key, "text") == 0;
        bool is_known = is_text || strcmp(key, "text_pair") == 0;
        if (!is_known && lenient)
            continue;
        if (!is_known)
            return error_set(err, STATUS_INVALID_VALUE,
                             "unknown field '%.64s', allowed: text, text_pair", key);
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

enum status text_item_from_json(json_t *value, bool lenient, struct text_item *out,
                                struct error *err) {
    *out = (struct text_item){.json = NULL};
    enum status status = STATUS_OK;
    if (json_is_string(value))
        out->text = view_of_json(value);
    else if (json_is_object(value))
        status = read_object(value, lenient, out, err);
    else
        status = error_set(err, STATUS_INVALID_VALUE,
                           "an input must be a string or an object with text and text_pair");
    if (status == STATUS_OK)
        out->json = json_incref(value);
    return status;
}

static enum status parse_item(struct view json, bool lenient, struct text_item *out,
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
    enum status status = text_item_from_json(value, lenient, out, err);
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
    } else if (parse_item(raw, input->lenient, &input->item, err) != STATUS_OK) {
        out->text = raw;
        return TEXT_INPUT_BAD;
    }
    *out = input->item;
    return TEXT_INPUT_ITEM;
}
