/* normalizer.h: the text before it is split: cleaning, case, accents. Second step of an encoding,
 * after the added tokens of the raw text are cut out, piece by piece.
 *
 * A normalizer is a list of steps; each kind is a row of the table in normalizer.c. */
#ifndef BERTD_TEXT_NORMALIZER_H
#define BERTD_TEXT_NORMALIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/charsmap.h"
#include "engine/text/normal_text.h"
#include "engine/text/pattern.h"

enum { NORMALIZER_STEPS_MAX = 32 };

enum normalizer_kind {
    NORMALIZER_CLEAN,            /* BertNormalizer: clean_text */
    NORMALIZER_IDEOGRAPHS,       /* BertNormalizer: handle_chinese_chars */
    NORMALIZER_STRIP_NONSPACING, /* BertNormalizer: strip_accents, after NFD */
    NORMALIZER_NFC,
    NORMALIZER_NFD,
    NORMALIZER_NFKC,
    NORMALIZER_NFKD,
    NORMALIZER_STRIP_MARKS, /* StripAccents: every kind of mark */
    NORMALIZER_LOWERCASE,
    NORMALIZER_STRIP, /* white space at the ends: `left`, `right` */
    NORMALIZER_NMT,
    NORMALIZER_PREPEND,     /* `content` before a text that is not empty */
    NORMALIZER_REPLACE,     /* `content` for each match of `pattern` */
    NORMALIZER_BYTE_LEVEL,  /* the stand-ins of byte_alphabet.h */
    NORMALIZER_PRECOMPILED, /* `charsmap`, cluster by cluster */
    NORMALIZER_KINDS
};

/* What only some kinds have is zero for the others. */
struct normalizer_step {
    enum normalizer_kind kind;
    bool left, right;
    struct view content;
    char *owned; /* the bytes of `content`, or NULL where they are static */
    struct pattern *pattern;
    struct charsmap *charsmap;
};

struct normalizer {
    struct normalizer_step steps[NORMALIZER_STEPS_MAX];
    uint32_t steps_count;
};

void normalizer_free(struct normalizer *normalizer);
void normalizer_step_free(struct normalizer_step *step);

/* Appends a step, which then belongs to the normalizer. Error: UNSUPPORTED when there are too many;
 * the step stays the caller's. */
enum status normalizer_add(struct normalizer *normalizer, const struct normalizer_step *step);

/* Appends the steps of a BertNormalizer. */
enum status normalizer_add_bert(struct normalizer *normalizer, bool clean_text,
                                bool handle_chinese_chars, bool strip_accents, bool lowercase);

/* Whether a text may be cut in front of a U+0020 that stands behind a printable ASCII character,
 * and both parts be normalised by themselves to the same text, with the blank still there. */
bool normalizer_cuts_at_blank(const struct normalizer *normalizer);

/* Runs all steps over a text. Linear time. Errors: NO_MEMORY, INPUT_TOO_LONG (a pattern needs too
 * much work, or the text becomes too long). */
enum status normalizer_apply(const struct normalizer *normalizer, struct normal_text *text);

#endif
