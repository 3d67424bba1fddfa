/* utf8.c: the check that every text passes before anything else reads it. */
#include "engine/text/utf8.h"

#include <string.h>

/* Bytes of the well-formed sequence at p, or 0. */
static size_t sequence_length(const unsigned char *p, size_t left) {
    unsigned char lead = p[0];
    size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xF5 ? utf8_length(lead) : 0;
    if (length == 0 || length > left) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool wrong = (lead == 0xE0 && p[1] < 0xA0) || (lead == 0xED && p[1] > 0x9F) ||
                 (lead == 0xF0 && p[1] < 0x90) || (lead == 0xF4 && p[1] > 0x8F);
    return wrong ? 0 : length;
}

bool utf8_check(struct view text, size_t *fault) {
    const unsigned char *p = (const unsigned char *)text.data;
    size_t at = 0;
    while (at < text.bytes) {
        uint64_t word;
        if (text.bytes - at >= sizeof word) {
            memcpy(&word, p + at, sizeof word);
            if ((word & 0x8080808080808080ULL) == 0) {
                at += sizeof word;
                continue;
            }
        }
        size_t length = sequence_length(p + at, text.bytes - at);
        if (length == 0) {
            if (fault != NULL) {
                *fault = at;
            }
            return false;
        }
        at += length;
    }
    return true;
}

size_t utf8_subpart(struct view text) {
    const unsigned char *p = (const unsigned char *)text.data;
    unsigned char lead = p[0];
    if (lead < 0xC2 || lead > 0xF4 || text.bytes < 2)
        return 1;
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high)
        return 1;
    size_t at = 2;
    while (at < utf8_length(lead) && at < text.bytes && (p[at] & 0xC0) == 0x80)
        at++;
    return at;
}
