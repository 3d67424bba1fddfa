/* pretokenizer.h: the normalised text into words. Third step of an encoding.
 *
 * A pre-tokenizer is a list of steps, each of which splits what the one before left. Words are
 * handed on as they are found; nothing is stored. */
#ifndef BERTD_TEXT_PRETOKENIZER_H
#define BERTD_TEXT_PRETOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/text/normal_text.h"

enum { PRETOKENIZER_STEPS_MAX = 16 };

enum pretokenizer_kind {
    PRETOKENIZER_BERT,             /* white space goes, punctuation stands alone */
    PRETOKENIZER_WHITESPACE,       /* \w+|[^\w\s]+ */
    PRETOKENIZER_WHITESPACE_SPLIT, /* white space goes */
    PRETOKENIZER_KINDS
};

struct pretokenizer {
    enum pretokenizer_kind steps[PRETOKENIZER_STEPS_MAX];
    uint32_t steps_count; /* 0: the whole text is one word */
};

/* Receives one word, never empty. Anything but OK ends the splitting. */
typedef enum status pretokenizer_emit(void *context, const struct normal_char *word, size_t count);

/* Appends a step. Error: UNSUPPORTED when there are too many. */
enum status pretokenizer_add(struct pretokenizer *pretokenizer, enum pretokenizer_kind kind);

/* Splits `count` code points into words. Linear time. Errors: those of `emit`. */
enum status pretokenizer_apply(const struct pretokenizer *pretokenizer,
                               const struct normal_char *chars, size_t count,
                               pretokenizer_emit *emit, void *context);

#endif
