/* offset_trim.c: arithmetic on offsets in bytes that moves by characters. */
#include "engine/text/offset_trim.h"

#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

enum { BYTE_LEVEL_BLANK = 0x120 };

static bool is_blank(uint32_t code) {
    return code == BYTE_LEVEL_BLANK || unicode_is(code, UNICODE_SPACE);
}

struct token_blanks offset_trim_count(struct view text) {
    struct token_blanks blanks = {0, 0};
    for (size_t at = 0; at < text.bytes && is_blank(utf8_decode(text.data + at));
         at += utf8_length((unsigned char)text.data[at]))
        blanks.leading++;
    for (size_t at = text.bytes; at > 0;) {
        at = utf8_back(text.data, at);
        if (!is_blank(utf8_decode(text.data + at)))
            break;
        blanks.trailing++;
    }
    return blanks;
}

struct token_blanks offset_trim_count_chars(const struct normal_char *chars, size_t count) {
    struct token_blanks blanks = {0, 0};
    while (blanks.leading < count && is_blank(chars[blanks.leading].code))
        blanks.leading++;
    while (blanks.trailing < count && is_blank(chars[count - 1 - blanks.trailing].code))
        blanks.trailing++;
    return blanks;
}

void offset_trim_apply(struct view text, struct token_blanks blanks, bool prefix_space, bool first,
                       uint32_t *start, uint32_t *end) {
    size_t from = *start, to = *end;
    if (blanks.leading == 1 && prefix_space && (first || from == 0))
        blanks.leading = 0;
    for (uint32_t i = 0; i < blanks.leading && from < to; i++)
        from += utf8_length((unsigned char)text.data[from]);
    if (from > to)
        from = to;
    for (uint32_t i = 0; i < blanks.trailing && to > 0; i++) {
        to = utf8_back(text.data, to);
        if (to == 0 && i + 1 < blanks.trailing) /* fewer characters than blanks: left alone */
            to = *end, i = blanks.trailing;
    }
    *start = (uint32_t)from;
    *end = (uint32_t)(to > from ? to : from);
}
