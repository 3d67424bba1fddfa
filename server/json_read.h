/* json_read.h: a request body as a JSON document, with the strictness that api.md §5 asks for:
 * depth, number of values, duplicate keys, UTF-8; and readers of single fields that name the field
 * when it is wrong. HTTP thread only. */
#ifndef BERTD_JSON_READ_H
#define BERTD_JSON_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/view.h"
#include "server/api_error.h"

/* Parses the whole body. On failure *out is NULL. \u0000 is data; integers too large for 64 bits
 * become reals. Errors: invalid_json with line and column, invalid_utf8, call_too_large (more
 * than LIMIT_JSON_VALUES values), internal. */
bool json_read_document(struct view body, json_t **out, struct api_error *err);

/* The text of a JSON string, NUL bytes included. Lives as long as the value. */
struct view json_read_view(const json_t *string);

/* A whole number of JSON: an integer, or a real without fraction inside +-2^53. */
bool json_read_whole(const json_t *value, int64_t *out);

/* Fields of one object, by name. An absent or null field leaves *out alone and is no error.
 * Errors: invalid_type, invalid_value, with `param` the field's name. */
bool json_read_bool(const json_t *object, const char *name, bool *out, struct api_error *err);
bool json_read_whole_in(const json_t *object, const char *name, int64_t min, int64_t max,
                        int64_t *out, struct api_error *err);

/* The index in `words` (ended by NULL) of a string field. */
bool json_read_choice(const json_t *object, const char *name, const char *const *words,
                      uint32_t *out, struct api_error *err);

/* Every key must be in `known` (`count` names). Error: unknown_field with the nearest name;
 * `param` is "prefix.name", or the name alone when prefix is NULL. */
bool json_read_known(const json_t *object, const char *const *known, size_t count,
                     const char *prefix, struct api_error *err);

/* "a string", "an array", …: what the message says was given. */
const char *json_read_type_name(const json_t *value);

#endif
