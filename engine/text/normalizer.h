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
#include "engine/text/normal_text.h"

enum { NORMALIZER_STEPS_MAX = 32 };

enum normalizer_kind {
    NORMALIZER_CLEAN,            /* BertNormalizer: clean_text */
    NORMALIZER_IDEOGRAPHS,       /* BertNormalizer: handle_chinese_chars */
    NORMALIZER_NFD,              /* canonical decomposition and reordering */
    NORMALIZER_STRIP_NONSPACING, /* BertNormalizer: strip_accents, after NFD */
    NORMALIZER_STRIP_MARKS,      /* StripAccents: every kind of mark */
    NORMALIZER_LOWERCASE,
    NORMALIZER_KINDS
};

struct normalizer {
    enum normalizer_kind steps[NORMALIZER_STEPS_MAX];
    uint32_t steps_count;
};

/* Appends a step. Error: UNSUPPORTED when there are too many. */
enum status normalizer_add(struct normalizer *normalizer, enum normalizer_kind kind);

/* Appends the steps of a BertNormalizer. */
enum status normalizer_add_bert(struct normalizer *normalizer, bool clean_text,
                                bool handle_chinese_chars, bool strip_accents, bool lowercase);

/* Whether a text may be cut in front of a U+0020 that stands behind a printable ASCII character,
 * and both parts be normalised by themselves to the same text, with the blank still there. */
bool normalizer_cuts_at_blank(const struct normalizer *normalizer);

/* Runs all steps over a text. Linear time. Error: NO_MEMORY. */
enum status normalizer_apply(const struct normalizer *normalizer, struct normal_text *text);

#endif
