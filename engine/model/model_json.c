/* model_json.c: jansson with a limit on the file's size and with messages that name the field. */
#include "engine/model/model_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/file.h"

enum status model_json_parse(struct view text, const char *path, enum model_json_integers integers,
                             json_t **out, struct error *err) {
    *out = NULL;
    json_error_t error;
    size_t flags = JSON_REJECT_DUPLICATES;
    if (integers == MODEL_JSON_REAL)
        flags |= JSON_DECODE_INT_AS_REAL;
    json_t *root = json_loadb(text.data, text.bytes, flags, &error);
    if (root == NULL) {
        if (json_error_code(&error) == json_error_out_of_memory)
            return error_set(err, STATUS_NO_MEMORY, "%s: no memory to parse it", path);
        return error_set(err, STATUS_BAD_FILE, "%s: not valid JSON, line %d, column %d: %s", path,
                         error.line, error.column, error.text);
    }
    if (!json_is_object(root)) {
        json_decref(root);
        return error_set(err, STATUS_BAD_FILE, "%s: the JSON is not an object", path);
    }
    *out = root;
    return STATUS_OK;
}

enum status model_json_read(const char *path, size_t bytes_max, bool optional,
                            enum model_json_integers integers, json_t **out, struct error *err) {
    *out = NULL;
    if (optional && !file_exists(path))
        return STATUS_OK;
    char *data;
    size_t bytes;
    enum status status = file_read(path, bytes_max, &data, &bytes, err);
    if (status != STATUS_OK)
        return status;
    status = model_json_parse((struct view){data, bytes}, path, integers, out, err);
    free(data);
    return status;
}

void model_json_format(const json_t *value, char text[MODEL_JSON_TEXT_BYTES]) {
    /* Long values are cut by bytes, so everything outside ASCII is escaped. */
    char *whole = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    int wanted = snprintf(text, MODEL_JSON_TEXT_BYTES, "%s", whole ? whole : "a value");
    if (wanted >= MODEL_JSON_TEXT_BYTES)
        snprintf(text + MODEL_JSON_TEXT_BYTES - 4, 4, "...");
    free(whole);
}

enum status model_json_refuse(const struct model_json *file, const char *field, const json_t *value,
                              enum status status, const char *wanted, struct error *err) {
    char text[MODEL_JSON_TEXT_BYTES];
    model_json_format(value, text);
    return error_set(err, status, "%s: %s is %s, %s", file->path, field, text, wanted);
}

/* The field's value, or NULL when it is absent or null. */
static const json_t *field_get(const struct model_json *file, const char *field) {
    const json_t *value = json_object_get(file->root, field);
    return json_is_null(value) ? NULL : value;
}

enum status model_json_u32(const struct model_json *file, const char *field, uint32_t min,
                           uint32_t max, uint32_t *out, struct error *err) {
    const json_t *value = field_get(file, field);
    if (value == NULL)
        return STATUS_OK;
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < (json_int_t)min || number > (json_int_t)max) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "not a whole number from %" PRIu32 " to %" PRIu32, min,
                 max);
        return model_json_refuse(file, field, value, STATUS_BAD_FILE, wanted, err);
    }
    *out = (uint32_t)number;
    return STATUS_OK;
}

enum status model_json_bool(const struct model_json *file, const char *field, bool *out,
                            struct error *err) {
    const json_t *value = field_get(file, field);
    if (value == NULL)
        return STATUS_OK;
    if (!json_is_boolean(value))
        return model_json_refuse(file, field, value, STATUS_BAD_FILE, "not true or false", err);
    *out = json_is_true(value);
    return STATUS_OK;
}

enum status model_json_string(const struct model_json *file, const char *field, const char **out,
                              struct error *err) {
    const json_t *value = field_get(file, field);
    if (value == NULL)
        return STATUS_OK;
    if (!json_is_string(value))
        return model_json_refuse(file, field, value, STATUS_BAD_FILE, "not a string", err);
    *out = json_string_value(value);
    return STATUS_OK;
}
