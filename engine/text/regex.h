/* regex.h: regular expressions of tokenizer files, by PCRE2, with a bound on the work.
 *
 * The files are written for Oniguruma in its Ruby syntax with the Unicode classes of the pinned
 * library; regex_syntax.h translates an expression or refuses it. Immutable after open. */
#ifndef BERTD_TEXT_REGEX_H
#define BERTD_TEXT_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

struct normal_char;
struct regex;

/* Working memory of one thread for one search at a time. All zeroes is empty. */
struct regex_scratch {
    char *subject; /* the text as UTF-8 */
    size_t bytes, capacity;
    size_t at_byte, at_char; /* a place that is known in both units */
    uint64_t steps_left;     /* of the work that the subject may cost */
    void *match, *context;   /* PCRE2's match data and match context */
};

void regex_scratch_free(struct regex_scratch *scratch);

/* Errors: UNSUPPORTED with what is not, NO_MEMORY. */
enum status regex_open(struct view expression, struct regex **out, struct error *err);
void regex_close(struct regex *regex);

/* Sets the text of the searches that follow. Error: NO_MEMORY. */
enum status regex_set_subject(struct regex_scratch *scratch, const struct normal_char *chars,
                              size_t count);

/* The first match at or behind code point `from`, which never goes back from call to call; what
 * stands before is seen by look-behinds. Errors: INPUT_TOO_LONG when the subject's work is used
 * up, NO_MEMORY. */
enum status regex_find(const struct regex *regex, struct regex_scratch *scratch, size_t from,
                       bool *found, size_t *start, size_t *end);

#endif
