/* unicode.h: properties of code points as the pinned `tokenizers` (0.23.3) sees them.
 *
 * The library mixes several Unicode ages, so the tables (unicode_tables.c) are observed from it by
 * tests/golden/generate_unicode_tables.py. Code points are at most U+10FFFF everywhere here. */
#ifndef BERTD_TEXT_UNICODE_H
#define BERTD_TEXT_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

#define UNICODE_CLEANED     0x01u /* deleted by BertNormalizer's clean_text */
#define UNICODE_BLANK       0x02u /* turned into U+0020 by clean_text */
#define UNICODE_IDEOGRAPH   0x04u /* set apart by handle_chinese_chars */
#define UNICODE_NONSPACING  0x08u /* deleted by BertNormalizer's strip_accents */
#define UNICODE_MARK        0x10u /* deleted by the normalizer StripAccents */
#define UNICODE_SPACE       0x20u /* white space of pre-tokenizers, and \s */
#define UNICODE_PUNCTUATION 0x40u /* a word of its own for BertPreTokenizer */
#define UNICODE_WORD        0x80u /* \w */

enum { UNICODE_BLOCK = 64, UNICODE_DECOMPOSITION_MAX = 4, UNICODE_LOWERCASE_MAX = 3 };

struct unicode_record {
    uint8_t flags;
    uint8_t combining;                 /* rank of the canonical combining class; 0: a starter */
    uint16_t decomposition, lowercase; /* 0: the code point itself; else see unicode_sequences */
};

/* The generated tables: use the functions below. */
extern const uint32_t unicode_sequences[];
extern const struct unicode_record unicode_records[];
extern const uint16_t unicode_blocks[];
extern const uint16_t unicode_rows[];

static inline const struct unicode_record *unicode_record(uint32_t code) {
    uint32_t row = unicode_blocks[code / UNICODE_BLOCK] * (uint32_t)UNICODE_BLOCK;
    return &unicode_records[unicode_rows[row + code % UNICODE_BLOCK]];
}

static inline bool unicode_is(uint32_t code, unsigned flags) {
    return (unicode_record(code)->flags & flags) != 0;
}

/* Full canonical decomposition of one code point; returns its length, 1 where it has none. */
uint32_t unicode_decompose(uint32_t code, uint32_t out[UNICODE_DECOMPOSITION_MAX]);

/* Lowercase of one code point, whatever stands around it; returns its length. */
uint32_t unicode_lowercase(uint32_t code, uint32_t out[UNICODE_LOWERCASE_MAX]);

#endif
