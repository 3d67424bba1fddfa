/* unicode.c: reading sequences from the generated tables; Hangul by the arithmetic of Unicode 3.12.
 */
#include "engine/text/unicode.h"

enum { HANGUL_BASE = 0xAC00, HANGUL_COUNT = 11172, HANGUL_VOWELS = 21, HANGUL_TAILS = 28 };

static uint32_t copy_sequence(uint16_t index, uint32_t code, uint32_t *out) {
    if (index == 0) {
        out[0] = code;
        return 1;
    }
    const uint32_t *sequence = &unicode_sequences[index - 1];
    for (uint32_t i = 0; i < sequence[0]; i++) {
        out[i] = sequence[1 + i];
    }
    return sequence[0];
}

uint32_t unicode_decompose(uint32_t code, uint32_t out[UNICODE_DECOMPOSITION_MAX]) {
    if (code - HANGUL_BASE < HANGUL_COUNT) {
        uint32_t index = code - HANGUL_BASE;
        uint32_t tail = index % HANGUL_TAILS;
        out[0] = 0x1100 + index / (HANGUL_VOWELS * HANGUL_TAILS);
        out[1] = 0x1161 + index / HANGUL_TAILS % HANGUL_VOWELS;
        out[2] = 0x11A7 + tail;
        return tail == 0 ? 2 : 3;
    }
    return copy_sequence(unicode_record(code)->decomposition, code, out);
}

uint32_t unicode_lowercase(uint32_t code, uint32_t out[UNICODE_LOWERCASE_MAX]) {
    return copy_sequence(unicode_record(code)->lowercase, code, out);
}
