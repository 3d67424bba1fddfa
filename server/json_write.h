/* json_write.h: writes JSON into a buffer that grows up to a maximum.
 *
 * Every call may fail for want of memory or room; the first failure sticks, later calls do
 * nothing, and json_writer_failed() tells it once at the end. Commas and colons are the writer's
 * work: inside an object json_put_key() comes before each value. */
#ifndef BERTD_JSON_WRITE_H
#define BERTD_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/view.h"

struct json_writer {
    char *data; /* not NUL-terminated; malloc'ed, free() it or json_writer_free() */
    size_t bytes, capacity, bytes_max;
    bool failed;
    bool comma; /* a value stands before the next one at this depth */
};

/* An empty writer; holds no memory yet. */
void json_writer_init(struct json_writer *writer, size_t bytes_max);
void json_writer_free(struct json_writer *writer);

/* Forgets the bytes, keeps the memory and whether a comma is due. */
void json_writer_flush(struct json_writer *writer);

/* Whether any call so far failed. */
bool json_writer_failed(const struct json_writer *writer);

/* Structure. */
void json_put_begin_object(struct json_writer *writer);
void json_put_end_object(struct json_writer *writer);
void json_put_begin_array(struct json_writer *writer);
void json_put_end_array(struct json_writer *writer);

/* A key, a string: escaped where JSON wants it, otherwise the bytes as they are. The text must be
 * valid UTF-8. */
void json_put_key(struct json_writer *writer, const char *key);
void json_put_string(struct json_writer *writer, const char *text);
void json_put_string_view(struct json_writer *writer, struct view text);

/* Plain values. */
void json_put_null(struct json_writer *writer);
void json_put_bool(struct json_writer *writer, bool value);
void json_put_integer(struct json_writer *writer, int64_t value);
void json_put_unsigned(struct json_writer *writer, uint64_t value);

/* The shortest decimal that reads back to the same float32 (float_format()); null when the value
 * is not finite. */
void json_put_float(struct json_writer *writer, float value);

/* A double with up to 17 digits; null when it is not finite. */
void json_put_double(struct json_writer *writer, double value);

/* Text that is JSON already. */
void json_put_raw(struct json_writer *writer, const char *json);

/* Bytes outside of any JSON structure, formatted; for texts that are not JSON (metrics). */
void json_writer_append(struct json_writer *writer, const char *data, size_t bytes);
void json_writer_printf(struct json_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
