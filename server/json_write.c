/* json_write.c: appends to one growing buffer. */
#include "server/json_write.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/float_format.h"

enum { WRITER_BYTES_MIN = 256 };

void json_writer_init(struct json_writer *writer, size_t bytes_max) {
    *writer = (struct json_writer){.bytes_max = bytes_max};
}

void json_writer_free(struct json_writer *writer) {
    if (!writer)
        return;
    free(writer->data);
    json_writer_init(writer, writer->bytes_max);
}

void json_writer_flush(struct json_writer *writer) {
    writer->bytes = 0;
}

bool json_writer_failed(const struct json_writer *writer) {
    return writer->failed;
}

/* Room for `bytes` more bytes, or NULL and the writer has failed. */
static char *reserve(struct json_writer *writer, size_t bytes) {
    if (writer->failed || bytes > writer->bytes_max - writer->bytes) {
        writer->failed = true;
        return NULL;
    }
    size_t need = writer->bytes + bytes;
    if (need > writer->capacity) {
        size_t capacity = writer->capacity * 2;
        if (capacity < WRITER_BYTES_MIN)
            capacity = WRITER_BYTES_MIN;
        if (capacity < need)
            capacity = need;
        if (capacity > writer->bytes_max)
            capacity = writer->bytes_max;
        char *data = realloc(writer->data, capacity);
        if (!data) {
            writer->failed = true;
            return NULL;
        }
        writer->data = data;
        writer->capacity = capacity;
    }
    return writer->data + writer->bytes;
}

void json_writer_append(struct json_writer *writer, const char *data, size_t bytes) {
    char *at = reserve(writer, bytes);
    if (!at || bytes == 0)
        return;
    memcpy(at, data, bytes);
    writer->bytes += bytes;
}

void json_writer_printf(struct json_writer *writer, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (bytes < 0 || (size_t)bytes >= sizeof text) {
        writer->failed = true;
        return;
    }
    json_writer_append(writer, text, (size_t)bytes);
}

/* A value begins: the comma in front of it, if one is due. */
static void begin_value(struct json_writer *writer) {
    if (writer->comma)
        json_writer_append(writer, ",", 1);
    writer->comma = true;
}

static void open_with(struct json_writer *writer, const char *bracket) {
    begin_value(writer);
    json_writer_append(writer, bracket, 1);
    writer->comma = false;
}

static void close_with(struct json_writer *writer, const char *bracket) {
    json_writer_append(writer, bracket, 1);
    writer->comma = true;
}

void json_put_begin_object(struct json_writer *writer) {
    open_with(writer, "{");
}

void json_put_end_object(struct json_writer *writer) {
    close_with(writer, "}");
}

void json_put_begin_array(struct json_writer *writer) {
    open_with(writer, "[");
}

void json_put_end_array(struct json_writer *writer) {
    close_with(writer, "]");
}

static bool needs_escape(unsigned char c) {
    return c < 0x20 || c == '"' || c == '\\' || c == 0x7f;
}

static void append_escaped(struct json_writer *writer, unsigned char c) {
    static const char *const short_forms[] = {
        ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n",  ['\r'] = "\\r",
        ['\t'] = "\\t", ['"'] = "\\\"", ['\\'] = "\\\\",
    };
    if (c < sizeof short_forms / sizeof short_forms[0] && short_forms[c])
        json_writer_append(writer, short_forms[c], 2);
    else
        json_writer_printf(writer, "\\u%04x", c);
}

static void append_quoted(struct json_writer *writer, struct view text) {
    json_writer_append(writer, "\"", 1);
    size_t plain = 0; /* start of the run that can be copied */
    for (size_t i = 0; i < text.bytes; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (!needs_escape(c))
            continue;
        json_writer_append(writer, text.data + plain, i - plain);
        append_escaped(writer, c);
        plain = i + 1;
    }
    if (text.bytes > plain)
        json_writer_append(writer, text.data + plain, text.bytes - plain);
    json_writer_append(writer, "\"", 1);
}

void json_put_string_view(struct json_writer *writer, struct view text) {
    begin_value(writer);
    append_quoted(writer, text);
}

void json_put_string(struct json_writer *writer, const char *text) {
    json_put_string_view(writer, view_of(text));
}

void json_put_key(struct json_writer *writer, const char *key) {
    json_put_string(writer, key);
    json_writer_append(writer, ":", 1);
    writer->comma = false;
}

void json_put_raw(struct json_writer *writer, const char *json) {
    begin_value(writer);
    json_writer_append(writer, json, strlen(json));
}

void json_put_null(struct json_writer *writer) {
    json_put_raw(writer, "null");
}

void json_put_bool(struct json_writer *writer, bool value) {
    json_put_raw(writer, value ? "true" : "false");
}

void json_put_integer(struct json_writer *writer, int64_t value) {
    begin_value(writer);
    json_writer_printf(writer, "%lld", (long long)value);
}

void json_put_unsigned(struct json_writer *writer, uint64_t value) {
    begin_value(writer);
    json_writer_printf(writer, "%llu", (unsigned long long)value);
}

void json_put_float(struct json_writer *writer, float value) {
    char text[FLOAT_FORMAT_BYTES];
    if (!isfinite(value)) {
        json_put_null(writer);
        return;
    }
    begin_value(writer);
    json_writer_append(writer, text, float_format(text, value));
}

void json_put_double(struct json_writer *writer, double value) {
    if (!isfinite(value)) {
        json_put_null(writer);
        return;
    }
    begin_value(writer);
    json_writer_printf(writer, "%.17g", value);
}
