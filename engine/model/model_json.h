/* model_json.h: reading JSON from a model's files, and one field of it with its type and range.
 *
 * Every message names the file, the field, the value that was found and what is allowed. Objects
 * with a key that stands twice are refused. */
#ifndef BERTD_MODEL_MODEL_JSON_H
#define BERTD_MODEL_MODEL_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

/* A parsed file and the path that messages speak of. Both are borrowed by the readers below. */
struct model_json {
    const char *path;
    json_t *root; /* an object; NULL: there is no such file */
};

/* How whole numbers that 64 bits cannot hold are read: refused, or all numbers become reals. */
enum model_json_integers { MODEL_JSON_EXACT, MODEL_JSON_REAL };

/* Parses `text`, which must be one object. The caller owns *out and ends it with json_decref().
 * Errors: BAD_FILE (with line and column), NO_MEMORY. */
enum status model_json_parse(struct view text, const char *path, enum model_json_integers integers,
                             json_t **out, struct error *err);

/* Reads and parses the file at `path`. Where it is `optional` and not there, *out is NULL.
 * Errors: IO, BAD_FILE, NO_MEMORY. */
enum status model_json_read(const char *path, size_t bytes_max, bool optional,
                            enum model_json_integers integers, json_t **out, struct error *err);

enum { MODEL_JSON_TEXT_BYTES = 64 };

/* The value as compact JSON, cut to the room, for messages. */
void model_json_format(const json_t *value, char text[MODEL_JSON_TEXT_BYTES]);

/* "PATH: FIELD is VALUE, WANTED" as an error of that status. */
enum status model_json_refuse(const struct model_json *file, const char *field, const json_t *value,
                              enum status status, const char *wanted, struct error *err);

/* One field each. An absent field, or null, leaves *out as it is. Errors: BAD_FILE. */
enum status model_json_u32(const struct model_json *file, const char *field, uint32_t min,
                           uint32_t max, uint32_t *out, struct error *err);
enum status model_json_bool(const struct model_json *file, const char *field, bool *out,
                            struct error *err);
enum status model_json_string(const struct model_json *file, const char *field, const char **out,
                              struct error *err);

#endif
