/* json_write.h: writes JSON into a growing buffer with a maximum. For answers, where numbers must
 * be the shortest ones and speed counts; used by the HTTP routes and the commands alike.
 *
 * Commas are placed by the writer. The first failure (maximum reached, no memory, a number that is
 * not finite) sticks; check `failed` once at the end. Keys are plain ASCII and written as they
 * are. One thread at a time. */
#ifndef BERTD_JSON_WRITE_H
#define BERTD_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/view.h"

struct json_writer {
    char *data; /* `bytes` bytes, not NUL-terminated */
    size_t bytes, capacity, bytes_max;
    bool failed;
    bool needs_comma; /* before the next key or value */
};

enum { JSON_NUMBER_BYTES = 32 };

/* Allocates nothing yet. */
void json_init(struct json_writer *json, size_t bytes_max);
void json_free(struct json_writer *json);

/* Empties the buffer and keeps its memory. */
void json_reset(struct json_writer *json);

void json_open(struct json_writer *json, char bracket);  /* '{' or '[' */
void json_close(struct json_writer *json, char bracket); /* '}' or ']' */
void json_key(struct json_writer *json, const char *key);

/* Valid UTF-8, any code points; escapes what JSON must, and U+007F. */
void json_write_string(struct json_writer *json, struct view text);
void json_text(struct json_writer *json, const char *text); /* json_write_string() of a C string */
void json_count(struct json_writer *json, uint64_t value);
void json_write_integer(struct json_writer *json, int64_t value);
void json_float(struct json_writer *json, float value);   /* shortest that reads back the same */
void json_double(struct json_writer *json, double value); /* six significant digits at most */
void json_bool(struct json_writer *json, bool value);
void json_write_null(struct json_writer *json);

/* A whole value that is JSON already. */
void json_value(struct json_writer *json, struct view value);

/* Bytes as they are, without comma: line ends, pieces between values. */
void json_raw(struct json_writer *json, struct view bytes);

/* The shortest decimal that reads back to the same float32, as a JSON number. Returns its bytes;
 * `out` is NUL-terminated. The value must be finite. */
size_t json_format_float(float value, char out[JSON_NUMBER_BYTES]);

#endif
