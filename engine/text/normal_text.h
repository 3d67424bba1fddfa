/* normal_text.h: a text on its way through the normalizers, with the way back to the original.
 *
 * Each code point remembers the byte range of the original text that it came from. A rewrite
 * makes a second buffer from the first and then swaps them, so nothing is moved in place. */
#ifndef BERTD_TEXT_NORMAL_TEXT_H
#define BERTD_TEXT_NORMAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

struct normal_char {
    uint32_t code;
    uint32_t start, end; /* bytes of the original text */
};

struct normal_buffer {
    struct normal_char *chars;
    size_t count, capacity;
};

struct normal_text {
    struct normal_buffer now;  /* the text as far as it is normalised */
    struct normal_buffer next; /* what a rewrite builds */
    bool ascii;                /* every code point is below 128 */
};

void normal_text_init(struct normal_text *text);
void normal_text_free(struct normal_text *text);

/* Sets the text to the bytes [start, end) of `original`, which is well-formed UTF-8. */
enum status normal_text_set(struct normal_text *text, struct view original, size_t start,
                            size_t end);

/* Makes room in a buffer for `count` more code points. */
enum status normal_buffer_reserve(struct normal_buffer *buffer, size_t count);

/* What was built becomes the text; the other buffer is emptied for the next rewrite. */
void normal_text_swap(struct normal_text *text);

#endif
