/* normal_text.c: the two buffers of a text under normalization. */
#include "engine/text/normal_text.h"

#include <stdlib.h>
#include <string.h>

#include "engine/text/utf8.h"

void normal_text_init(struct normal_text *text) {
    memset(text, 0, sizeof *text);
}

void normal_text_free(struct normal_text *text) {
    if (text != NULL) {
        free(text->now.chars);
        free(text->next.chars);
        normal_text_init(text);
    }
}

enum status normal_buffer_reserve(struct normal_buffer *buffer, size_t count) {
    size_t needed = buffer->count + count;
    if (needed <= buffer->capacity)
        return STATUS_OK;
    /* Steps that append bit by bit copy seldom; a text whose length is known gets just that. */
    size_t grown = buffer->capacity + buffer->capacity / 2;
    size_t capacity = needed > grown ? needed : grown;
    struct normal_char *chars = reallocarray(buffer->chars, capacity, sizeof *chars);
    if (chars == NULL)
        return STATUS_NO_MEMORY;
    buffer->chars = chars;
    buffer->capacity = capacity;
    return STATUS_OK;
}

enum status normal_text_set(struct normal_text *text, struct view original, size_t start,
                            size_t end) {
    struct normal_buffer *now = &text->now;
    now->count = 0;
    text->next.count = 0;
    text->ascii = true;
    enum status status = normal_buffer_reserve(now, end - start);
    if (status != STATUS_OK)
        return status;
    struct normal_char *out = now->chars;
    unsigned char seen = 0;
    for (size_t at = start; at < end;) {
        unsigned char lead = (unsigned char)original.data[at];
        size_t length = utf8_length(lead);
        seen |= lead;
        *out++ = (struct normal_char){utf8_decode(original.data + at), (uint32_t)at,
                                      (uint32_t)(at + length)};
        at += length;
    }
    now->count = (size_t)(out - now->chars);
    text->ascii = seen < 0x80;
    return STATUS_OK;
}

void normal_text_swap(struct normal_text *text) {
    struct normal_buffer built = text->next;
    text->next = text->now;
    text->next.count = 0;
    text->now = built;
}
