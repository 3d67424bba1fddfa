/* byte_level.c: the alternatives of the pattern in their order, and the rewriting. */
#include "engine/text/byte_level.h"

#include "engine/text/byte_alphabet.h"
#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

enum { CLASSES = UNICODE_SPACE | UNICODE_LETTER | UNICODE_NUMBER };

static unsigned class_of(struct normal_char c) {
    return unicode_record(c.code)->flags & CLASSES;
}

/* 's, 't, 'm, 'd, 're, 've, 'll; 0 when it is none of them. */
static size_t contraction_length(const struct normal_char *chars, size_t count) {
    if (count < 2 || chars[0].code != '\'')
        return 0;
    uint32_t first = chars[1].code;
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return 2;
    uint32_t second = count < 3 ? 0 : chars[2].code;
    bool longer =
        ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
    return longer ? 3 : 0;
}

size_t byte_level_word_length(const struct normal_char *chars, size_t count) {
    size_t length = contraction_length(chars, count);
    if (length > 0)
        return length;
    size_t at = chars[0].code == ' ' && count > 1 && class_of(chars[1]) != UNICODE_SPACE ? 1 : 0;
    unsigned class = class_of(chars[at]);
    while (at < count && class_of(chars[at]) == class)
        at++;
    /* White space leaves its last code point to the word behind it, unless it is all there is. */
    return class == UNICODE_SPACE && at < count && at > 1 ? at - 1 : at;
}

enum status byte_level_write(const struct normal_char *chars, size_t count,
                             struct normal_buffer *out) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += utf8_size(chars[i].code);
    enum status status = normal_buffer_reserve(out, bytes);
    if (status != STATUS_OK)
        return status;
    struct normal_char *next = out->chars + out->count;
    for (size_t i = 0; i < count; i++) {
        char room[UTF8_BYTES_MAX];
        size_t length = utf8_encode(chars[i].code, room);
        for (size_t k = 0; k < length; k++)
            *next++ = (struct normal_char){byte_alphabet_code((unsigned char)room[k]),
                                           chars[i].start, chars[i].end};
    }
    out->count += bytes;
    return STATUS_OK;
}
