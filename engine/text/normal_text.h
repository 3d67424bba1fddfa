/* normal_text.h: a text on its way through the normalizers, with the way back to the original.
 *
 * Each code point remembers the byte range of the original text that it came from. A rewrite
 * makes a second buffer from the first and then swaps them, so nothing is moved in place. It either
 * says the ranges itself, or lists code points with changes, as the pinned library does: change 0
 * replaces the next code point of the text and takes its range; 1 is new and takes the range of the
 * code point consumed last; -n replaces the next one and consumes n more. */
#ifndef BERTD_TEXT_NORMAL_TEXT_H
#define BERTD_TEXT_NORMAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/regex.h"

struct normal_char {
    uint32_t code;
    uint32_t start, end; /* bytes of the original text */
};

struct normal_buffer {
    struct normal_char *chars;
    size_t count, capacity;
};

struct normal_text {
    struct normal_buffer now;    /* the text as far as it is normalised */
    struct normal_buffer next;   /* what a rewrite builds */
    struct regex_scratch search; /* of the steps that look for something */
    uint32_t origin;             /* byte of the original text where this one starts */
    bool ascii;                  /* every code point is below 128 */
};

void normal_text_init(struct normal_text *text);
void normal_text_free(struct normal_text *text);

/* Sets the text to the bytes [start, end) of `original`, which is well-formed UTF-8. */
enum status normal_text_set(struct normal_text *text, struct view original, size_t start,
                            size_t end);

/* Makes room in a buffer for `count` more code points. Errors: NO_MEMORY, INPUT_TOO_LONG (over
 * LIMIT_NORMAL_CHARS). */
enum status normal_buffer_reserve(struct normal_buffer *buffer, size_t count);

/* Appends a code point. Error: NO_MEMORY. */
enum status normal_buffer_push(struct normal_buffer *buffer, struct normal_char c);

/* A code point with its change, for normal_text_transform(). */
static inline struct normal_char normal_change(uint32_t code, int32_t change) {
    return (struct normal_char){code, (uint32_t)change, 0};
}

static inline int32_t normal_change_of(struct normal_char c) {
    return (int32_t)c.start;
}

/* Gives the changes in `next` their ranges; then as normal_text_swap(). */
void normal_text_transform(struct normal_text *text);

/* What was built becomes the text; the other buffer is emptied for the next rewrite. */
void normal_text_swap(struct normal_text *text);

#endif
