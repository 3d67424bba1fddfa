/* json_field.h: fields of a JSON file with the file and the field named in every error. Used by
 * the readers of tokenizer files. The values belong to the document. */
#ifndef BERTD_TEXT_JSON_FIELD_H
#define BERTD_TEXT_JSON_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

/* An object of the document and where it is: "model", "added_tokens[3]"; "" for the document. */
struct json_place {
    json_t *object;
    const char *name;
    struct error *err;
    int depth; /* of parts in parts */
};

/* Parses a text whose top is an object; *document is the caller's to json_decref(). With
 * `huge_numbers` integers come as reals, so that any size can be read. Error: BAD_FILE. */
enum status json_document_parse(struct view text, bool huge_numbers, json_t **document,
                                struct error *err);

/* The same for a file; messages name it. Errors: IO, BAD_FILE, NO_MEMORY. */
enum status json_file_read(const char *path, bool huge_numbers, json_t **document,
                           struct error *err);

/* Required fields. Error: BAD_FILE (missing, wrong type, out of range). */
enum status json_field_view(struct json_place place, const char *field, struct view *out);
enum status json_field_bool(struct json_place place, const char *field, bool *out);
enum status json_field_count(struct json_place place, const char *field, uint64_t max,
                             uint64_t *out);
enum status json_field_object(struct json_place place, const char *field, json_t **out);
enum status json_field_array(struct json_place place, const char *field, json_t **out);

/* A required string that is one of `names`; its index in *out. Errors: BAD_FILE, UNSUPPORTED. */
enum status json_field_choice(struct json_place place, const char *field, const char *const *names,
                              size_t count, size_t *out);

/* Optional ones: absent and null leave *out alone. */
enum status json_field_bool_optional(struct json_place place, const char *field, bool *out);

/* The part's object, or NULL in *out when the field is absent or null. */
enum status json_field_part(struct json_place place, const char *field, json_t **out);

/* An error about a field: BAD_FILE unless `status` says another. */
enum status json_field_fault(struct json_place place, const char *field, enum status status,
                             const char *reason);

/* The text of a JSON string. */
struct view json_view(const json_t *string);

#endif
