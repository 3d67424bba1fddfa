/* unicode.c: reading sequences from the generated tables; Hangul by the arithmetic of Unicode 3.12.
 */
#include "engine/text/unicode.h"

enum { LEADS = 0x1100, VOWELS = 0x1161, TAILS = 0x11A7, HANGUL_LEADS = 19 };
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

uint32_t unicode_decompose(uint32_t code, bool compatibility,
                           uint32_t out[UNICODE_DECOMPOSITION_MAX]) {
    if (code - HANGUL_BASE < HANGUL_COUNT) {
        uint32_t index = code - HANGUL_BASE;
        uint32_t tail = index % HANGUL_TAILS;
        out[0] = LEADS + index / (HANGUL_VOWELS * HANGUL_TAILS);
        out[1] = VOWELS + index / HANGUL_TAILS % HANGUL_VOWELS;
        out[2] = TAILS + tail;
        return tail == 0 ? 2 : 3;
    }
    const struct unicode_record *record = unicode_record(code);
    uint16_t index =
        compatibility && record->compatibility != 0 ? record->compatibility : record->decomposition;
    return copy_sequence(index, code, out);
}

static uint32_t compose_hangul(uint32_t first, uint32_t second) {
    uint32_t lead = first - LEADS, syllable = first - HANGUL_BASE;
    if (lead < HANGUL_LEADS && second - VOWELS < HANGUL_VOWELS)
        return HANGUL_BASE + (lead * HANGUL_VOWELS + second - VOWELS) * HANGUL_TAILS;
    if (syllable < HANGUL_COUNT && syllable % HANGUL_TAILS == 0 &&
        second - TAILS - 1 < HANGUL_TAILS - 1)
        return first + second - TAILS;
    return 0;
}

uint32_t unicode_compose(uint32_t first, uint32_t second) {
    uint32_t low = 0, high = unicode_pairs_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct unicode_pair *pair = &unicode_pairs[middle];
        if (pair->first == first && pair->second == second)
            return pair->whole;
        if (pair->first < first || (pair->first == first && pair->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    return compose_hangul(first, second);
}

uint32_t unicode_lowercase(uint32_t code, uint32_t out[UNICODE_LOWERCASE_MAX]) {
    return copy_sequence(unicode_record(code)->lowercase, code, out);
}
