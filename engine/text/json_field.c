/* json_field.c: typed access to JSON objects; see json_field.h. */
#include "engine/text/json_field.h"

#include <stdlib.h>

#include "engine/base/file.h"
#include "engine/base/limits.h"

enum status json_document_parse(struct view text, bool huge_numbers, json_t **document,
                                struct error *err) {
    size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_error_t fault;
    *document = json_loadb(text.data, text.bytes,
                           flags | (huge_numbers ? JSON_DECODE_INT_AS_REAL : 0), &fault);
    if (*document == NULL)
        return error_set(err, STATUS_BAD_FILE, "line %d: %s", fault.line, fault.text);
    if (!json_is_object(*document)) {
        json_decref(*document);
        *document = NULL;
        return error_set(err, STATUS_BAD_FILE, "not a JSON object");
    }
    return STATUS_OK;
}

enum status json_file_read(const char *path, bool huge_numbers, json_t **document,
                           struct error *err) {
    char *data = NULL;
    size_t bytes = 0;
    *document = NULL;
    enum status status = file_read(path, LIMIT_TOKENIZER_FILE_BYTES, &data, &bytes, err);
    if (status != STATUS_OK)
        return status;
    status = json_document_parse((struct view){data, bytes}, huge_numbers, document, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", path);
    free(data);
    return status;
}

enum status json_field_fault(struct json_place place, const char *field, enum status status,
                             const char *reason) {
    const char *dot = place.name[0] != '\0' && field[0] != '\0' ? "." : "";
    return error_set(place.err, status, "%s%s%s %s", place.name, dot, field, reason);
}

/* The field, or NULL after an error about it. */
static json_t *required(struct json_place place, const char *field) {
    json_t *value = json_object_get(place.object, field);
    if (value == NULL)
        json_field_fault(place, field, STATUS_BAD_FILE, "is missing");
    return value;
}

static enum status wrong_type(struct json_place place, const char *field, const char *wanted) {
    return json_field_fault(place, field, STATUS_BAD_FILE, wanted);
}

struct view json_view(const json_t *string) {
    return (struct view){json_string_value(string), json_string_length(string)};
}

enum status json_field_view(struct json_place place, const char *field, struct view *out) {
    json_t *value = required(place, field);
    if (value == NULL)
        return STATUS_BAD_FILE;
    if (!json_is_string(value))
        return wrong_type(place, field, "is not a string");
    *out = json_view(value);
    return STATUS_OK;
}

enum status json_field_bool(struct json_place place, const char *field, bool *out) {
    json_t *value = required(place, field);
    if (value == NULL)
        return STATUS_BAD_FILE;
    if (!json_is_boolean(value))
        return wrong_type(place, field, "is not true or false");
    *out = json_is_true(value);
    return STATUS_OK;
}

enum status json_field_bool_optional(struct json_place place, const char *field, bool *out) {
    json_t *value = json_object_get(place.object, field);
    return value == NULL || json_is_null(value) ? STATUS_OK : json_field_bool(place, field, out);
}

enum status json_field_count(struct json_place place, const char *field, uint64_t max,
                             uint64_t *out) {
    json_t *value = required(place, field);
    if (value == NULL)
        return STATUS_BAD_FILE;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return wrong_type(place, field, "is not a whole number of 0 or more");
    if ((uint64_t)json_integer_value(value) > max)
        return wrong_type(place, field, "is too large");
    *out = (uint64_t)json_integer_value(value);
    return STATUS_OK;
}

enum status json_field_object(struct json_place place, const char *field, json_t **out) {
    json_t *value = required(place, field);
    if (value == NULL)
        return STATUS_BAD_FILE;
    if (!json_is_object(value))
        return wrong_type(place, field, "is not an object");
    *out = value;
    return STATUS_OK;
}

enum status json_field_array(struct json_place place, const char *field, json_t **out) {
    json_t *value = required(place, field);
    if (value == NULL)
        return STATUS_BAD_FILE;
    if (!json_is_array(value))
        return wrong_type(place, field, "is not an array");
    *out = value;
    return STATUS_OK;
}

enum status json_field_choice(struct json_place place, const char *field, const char *const *names,
                              size_t count, size_t *out) {
    struct view value;
    enum status status = json_field_view(place, field, &value);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        if (view_equals_c(value, names[i])) {
            *out = i;
            return STATUS_OK;
        }
    return json_field_fault(place, field, STATUS_UNSUPPORTED, "is not a known value");
}

enum status json_field_part(struct json_place place, const char *field, json_t **out) {
    json_t *value = json_object_get(place.object, field);
    *out = NULL;
    if (value == NULL || json_is_null(value))
        return STATUS_OK;
    return json_field_object(place, field, out);
}
