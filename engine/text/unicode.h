/* unicode.h: properties of code points as the pinned `tokenizers` (0.23.3) sees them.
 *
 * The library mixes several Unicode ages, so the tables (unicode_tables.c) are observed from it by
 * tests/golden/generate_unicode_tables.py. Code points are at most U+10FFFF everywhere here. */
#ifndef BERTD_TEXT_UNICODE_H
#define BERTD_TEXT_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

#define UNICODE_CLEANED     0x01u   /* deleted by BertNormalizer's clean_text */
#define UNICODE_BLANK       0x02u   /* turned into U+0020 by clean_text */
#define UNICODE_IDEOGRAPH   0x04u   /* set apart by handle_chinese_chars */
#define UNICODE_NONSPACING  0x08u   /* deleted by BertNormalizer's strip_accents */
#define UNICODE_MARK        0x10u   /* deleted by the normalizer StripAccents */
#define UNICODE_SPACE       0x20u   /* white space of pre-tokenizers, and \s */
#define UNICODE_PUNCTUATION 0x40u   /* a word of its own for BertPreTokenizer */
#define UNICODE_WORD        0x80u   /* \w of the pre-tokenizer Whitespace and of single_word */
#define UNICODE_LETTER      0x100u  /* \p{L} */
#define UNICODE_NUMBER      0x200u  /* \p{N} */
#define UNICODE_NUMERIC     0x400u  /* a digit for the pre-tokenizer Digits */
#define UNICODE_NMT_GONE    0x800u  /* deleted by the normalizer Nmt */
#define UNICODE_NMT_BLANK   0x1000u /* turned into U+0020 by Nmt */

enum {
    UNICODE_BLOCK = 64,
    UNICODE_DECOMPOSITION_MAX = 18, /* canonical ones have at most 4 */
    UNICODE_LOWERCASE_MAX = 3
};

/* Grapheme cluster classes (UAX 29), with the parts of Indic conjuncts as bits above them. What
 * the pinned library does not show is OTHER: regional indicators, controls of four bytes. */
enum grapheme_class {
    GRAPHEME_OTHER,
    GRAPHEME_CR,
    GRAPHEME_LF,
    GRAPHEME_CONTROL,
    GRAPHEME_PREPEND,
    GRAPHEME_EXTEND,
    GRAPHEME_SPACING,
    GRAPHEME_ZWJ,
    GRAPHEME_L,
    GRAPHEME_V,
    GRAPHEME_T,
    GRAPHEME_LV,
    GRAPHEME_LVT,
    GRAPHEME_PICTOGRAPH,
    GRAPHEME_CLASS = 0x0F,
    GRAPHEME_CONSONANT = 0x10,
    GRAPHEME_LINKER = 0x20,
    GRAPHEME_INNER = 0x40 /* may stand between a consonant and a linker */
};

struct unicode_record {
    uint16_t flags;
    /* 0: the code point itself (compatibility: its decomposition); else see unicode_sequences */
    uint16_t decomposition, compatibility, lowercase;
    uint8_t combining; /* rank of the canonical combining class; 0: a starter */
    uint8_t grapheme;  /* enum grapheme_class */
    uint8_t script;    /* number of the script for UnicodeScripts; 0: goes with every other */
};

/* Two code points that NFC joins. Sorted by first, then second. */
struct unicode_pair {
    uint32_t first, second, whole;
};

/* The generated tables: use the functions below. */
extern const uint32_t unicode_sequences[];
extern const struct unicode_record unicode_records[];
extern const struct unicode_pair unicode_pairs[];
extern const uint32_t unicode_pairs_count;
extern const uint16_t unicode_blocks[];
extern const uint16_t unicode_rows[];

static inline const struct unicode_record *unicode_record(uint32_t code) {
    uint32_t row = unicode_blocks[code / UNICODE_BLOCK] * (uint32_t)UNICODE_BLOCK;
    return &unicode_records[unicode_rows[row + code % UNICODE_BLOCK]];
}

static inline bool unicode_is(uint32_t code, unsigned flags) {
    return (unicode_record(code)->flags & flags) != 0;
}

/* Full decomposition of one code point, canonical or by compatibility; returns its length, 1 where
 * it has none. */
uint32_t unicode_decompose(uint32_t code, bool compatibility,
                           uint32_t out[UNICODE_DECOMPOSITION_MAX]);

/* What two code points are joined to by NFC, or 0. */
uint32_t unicode_compose(uint32_t first, uint32_t second);

/* Lowercase of one code point, whatever stands around it; returns its length. */
uint32_t unicode_lowercase(uint32_t code, uint32_t out[UNICODE_LOWERCASE_MAX]);

#endif
