/* utf8.h: UTF-8 checked once at the entrance, decoded and written without checks afterwards. */
#ifndef BERTD_TEXT_UTF8_H
#define BERTD_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/view.h"

enum { UTF8_BYTES_MAX = 4 };

/* Whether the bytes are well-formed UTF-8 (Unicode 3.9, table 3-7): no overlong forms, surrogates
 * or values past U+10FFFF. `fault` (NULL is allowed) receives the first wrong byte's position. */
bool utf8_check(struct view text, size_t *fault);

/* Bytes, at least 1, of what one U+FFFD replaces (Unicode 3.9, maximal subpart) where a text that
 * is not empty starts with a wrong sequence. */
size_t utf8_subpart(struct view text);

/* Bytes of the code point that starts with `lead`, in well-formed text. */
static inline size_t utf8_length(unsigned char lead) {
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Bytes of a code point. */
static inline size_t utf8_size(uint32_t code) {
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

/* The code point at `data`, in well-formed text. */
static inline uint32_t utf8_decode(const char *data) {
    const unsigned char *p = (const unsigned char *)data;
    if (p[0] < 0x80) {
        return p[0];
    }
    if (p[0] < 0xE0) {
        return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3Fu);
    }
    if (p[0] < 0xF0) {
        return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3Fu);
    }
    return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 |
           (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3Fu);
}

/* Position where the code point that ends before `end` starts; `end` is at least 1. */
static inline size_t utf8_back(const char *data, size_t end) {
    do {
        end--;
    } while (((unsigned char)data[end] & 0xC0) == 0x80);
    return end;
}

/* Writes the code point, returns its bytes. */
static inline size_t utf8_encode(uint32_t code, char out[UTF8_BYTES_MAX]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

#endif
