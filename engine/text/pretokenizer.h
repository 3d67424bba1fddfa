/* pretokenizer.h: the normalised text into words. Third step of an encoding.
 *
 * A pre-tokenizer is a list of steps, each of which splits or rewrites what the one before left.
 * Words are handed on as they are found; a rewritten piece lives in its step's buffer until the
 * steps behind have had all of it. A type of tokenizer.json is one step or a few. */
#ifndef BERTD_TEXT_PRETOKENIZER_H
#define BERTD_TEXT_PRETOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/text/normal_text.h"
#include "engine/text/pattern.h"
#include "engine/text/regex.h"
#include "engine/text/splitter.h"

enum { PRETOKENIZER_STEPS_MAX = 16 };

enum pretokenizer_kind {
    PRETOKENIZER_BERT,             /* white space goes, punctuation stands alone */
    PRETOKENIZER_WHITESPACE,       /* \w+|[^\w\s]+ */
    PRETOKENIZER_WHITESPACE_SPLIT, /* white space goes */
    PRETOKENIZER_PREFIX,           /* ByteLevel: U+0020 before a piece that starts with none */
    PRETOKENIZER_GPT2,             /* ByteLevel: the pattern of byte_level.h */
    PRETOKENIZER_BYTES,            /* ByteLevel: the stand-ins of byte_alphabet.h */
    PRETOKENIZER_METASPACE,        /* U+0020 becomes `code`, and a prefix by `scheme` */
    PRETOKENIZER_CHAR,             /* splits at `code`, by `behavior` */
    PRETOKENIZER_FLAGS,            /* splits at code points with one of `flags`, by `behavior` */
    PRETOKENIZER_SPLIT,            /* splits at `pattern`, by `behavior` and `invert` */
    PRETOKENIZER_SCRIPTS,          /* UnicodeScripts */
    PRETOKENIZER_FIXED_LENGTH,     /* pieces of `length` code points */
    PRETOKENIZER_KINDS
};

/* Which pieces get the prefix of a Metaspace: all, the one at byte 0 of the text, none. */
enum metaspace_scheme { METASPACE_ALWAYS, METASPACE_FIRST, METASPACE_NEVER };

struct pretokenizer_step {
    enum pretokenizer_kind kind;
    enum split_behavior behavior;
    bool invert;
    enum metaspace_scheme scheme;
    uint32_t code;
    unsigned flags;
    size_t length;
    struct pattern *pattern;
};

struct pretokenizer {
    struct pretokenizer_step steps[PRETOKENIZER_STEPS_MAX];
    uint32_t steps_count; /* 0: the whole text is one word */
};

void pretokenizer_free(struct pretokenizer *pretokenizer);

/* Working memory of one thread: a buffer for each step that rewrites, a search for each that looks
 * for something. All zeroes is empty. */
struct pretokenizer_scratch {
    struct normal_buffer rewritten[PRETOKENIZER_STEPS_MAX];
    struct regex_scratch searches[PRETOKENIZER_STEPS_MAX];
};

void pretokenizer_scratch_free(struct pretokenizer_scratch *scratch);

/* Code points that the scratch has room for. */
size_t pretokenizer_scratch_capacity(const struct pretokenizer_scratch *scratch);

/* Receives one word, never empty; it is valid during the call only. Anything but OK ends the
 * splitting. */
typedef enum status pretokenizer_emit(void *context, const struct normal_char *word, size_t count);

/* Appends a step, whose pattern then belongs to the pre-tokenizer. Error: UNSUPPORTED when there
 * are too many. */
enum status pretokenizer_add(struct pretokenizer *pretokenizer,
                             const struct pretokenizer_step *step);

/* Appends the steps of a ByteLevel, of a Metaspace. */
enum status pretokenizer_add_byte_level(struct pretokenizer *pretokenizer, bool add_prefix_space,
                                        bool use_regex);
enum status pretokenizer_add_metaspace(struct pretokenizer *pretokenizer, uint32_t replacement,
                                       enum metaspace_scheme scheme, bool split);

/* Whether a text may be cut in front of a U+0020 that stands behind a printable ASCII character,
 * and both parts be split by themselves to the same words. */
bool pretokenizer_cuts_at_blank(const struct pretokenizer *pretokenizer);

/* Splits `count` code points into words. Linear time, no allocation once the scratch has grown.
 * Errors: those of `emit`, NO_MEMORY, INPUT_TOO_LONG (a pattern needs too much work). */
enum status pretokenizer_apply(const struct pretokenizer *pretokenizer,
                               struct pretokenizer_scratch *scratch,
                               const struct normal_char *chars, size_t count,
                               pretokenizer_emit *emit, void *context);

#endif
