/* text_output.c: the last step of the commands: bytes on standard output. */
#include "server/text_output.h"

/* Bytes of the well-formed printable character at the start of the text, or 0. */
static size_t printable_bytes(const unsigned char *c, size_t left) {
    if (c[0] < 0x80)
        return c[0] >= 0x20 && c[0] != 0x7F ? 1 : 0;
    size_t bytes = c[0] >= 0xF0 ? 4 : c[0] >= 0xE0 ? 3 : 2;
    if (c[0] < 0xC2 || c[0] > 0xF4 || bytes > left)
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    bool is_c1 = c[0] == 0xC2 && c[1] < 0xA0;
    return is_c1 ? 0 : bytes;
}

void text_output_shorten(struct view text, size_t code_points_max,
                         char out[TEXT_OUTPUT_SHOWN_BYTES]) {
    enum { ROOM = TEXT_OUTPUT_SHOWN_BYTES - 4 }; /* dots and NUL */
    size_t n = 0, i = 0;
    for (size_t count = 0; i < text.bytes && count < code_points_max && n + 4 <= ROOM; count++) {
        size_t bytes = printable_bytes((const unsigned char *)text.data + i, text.bytes - i);
        if (bytes)
            memcpy(out + n, text.data + i, bytes);
        else
            out[n] = '?';
        n += bytes ? bytes : 1;
        i += bytes ? bytes : 1;
    }
    memcpy(out + n, i < text.bytes ? "..." : "", i < text.bytes ? 4 : 1);
}

bool text_output_json_line(FILE *file, struct json_writer *json) {
    bool good = !json->failed;
    if (good) {
        fwrite(json->data, 1, json->bytes, file);
        putc('\n', file);
    } else {
        text_output_json_error(file, NULL, "the answer could not be written as JSON");
    }
    json_writer_flush(json);
    json->failed = json->comma = false; /* a new line is a new value */
    return good;
}

void text_output_json_error(FILE *file, const uint64_t *index, const char *message) {
    struct json_writer json;
    json_writer_init(&json, 8192);
    json_put_begin_object(&json);
    if (index) {
        json_put_key(&json, "index");
        json_put_unsigned(&json, *index);
    }
    json_put_key(&json, "error");
    json_put_string(&json, message);
    json_put_end_object(&json);
    fwrite(json.data, 1, json.bytes, file);
    putc('\n', file);
    json_writer_free(&json);
}
