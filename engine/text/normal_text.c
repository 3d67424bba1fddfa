/* normal_text.c: the two buffers of a text under normalization. */
#include "engine/text/normal_text.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/text/utf8.h"

void normal_text_init(struct normal_text *text) {
    memset(text, 0, sizeof *text);
}

void normal_text_free(struct normal_text *text) {
    if (text != NULL) {
        free(text->now.chars);
        free(text->next.chars);
        regex_scratch_free(&text->search);
        normal_text_init(text);
    }
}

enum status normal_buffer_reserve(struct normal_buffer *buffer, size_t count) {
    size_t needed = buffer->count + count;
    if (needed <= buffer->capacity)
        return STATUS_OK;
    if (needed > LIMIT_NORMAL_CHARS)
        return STATUS_INPUT_TOO_LONG;
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
    text->origin = (uint32_t)start;
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

enum status normal_buffer_push(struct normal_buffer *buffer, struct normal_char c) {
    enum status status = normal_buffer_reserve(buffer, 1);
    if (status == STATUS_OK)
        buffer->chars[buffer->count++] = c;
    return status;
}

void normal_text_transform(struct normal_text *text) {
    const struct normal_buffer *before = &text->now;
    size_t consumed = 0;
    for (size_t i = 0; i < text->next.count; i++) {
        struct normal_char *c = &text->next.chars[i];
        int32_t change = normal_change_of(*c);
        struct normal_char from = {0, text->origin, text->origin};
        if (change > 0 && consumed > 0)
            from = before->chars[consumed - 1];
        else if (change <= 0 && before->count > 0)
            from = before->chars[consumed < before->count ? consumed : before->count - 1];
        if (change <= 0)
            consumed += 1 + (size_t)-change;
        if (consumed > before->count)
            consumed = before->count;
        c->start = from.start;
        c->end = from.end;
    }
    normal_text_swap(text);
}

void normal_text_swap(struct normal_text *text) {
    struct normal_buffer built = text->next;
    text->next = text->now;
    text->next.count = 0;
    text->now = built;
}
