/* pattern.h: what Replace and Split look for: a string of code points, or a regular expression.
 *
 * Matches come in the order of the pinned library: leftmost, without overlap, and no empty match
 * right behind another match. A pattern is immutable after open. */
#ifndef BERTD_TEXT_PATTERN_H
#define BERTD_TEXT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/normal_text.h"
#include "engine/text/regex.h"

struct pattern;

/* Errors: UNSUPPORTED (the expression, with the construct named), BAD_FILE, NO_MEMORY. */
enum status pattern_open_string(struct view string, struct pattern **out, struct error *err);
enum status pattern_open_regex(struct view expression, struct pattern **out, struct error *err);
void pattern_close(struct pattern *pattern);

/* One search through a text that stays as it is. The scratch belongs to the thread. */
struct pattern_search {
    const struct pattern *pattern;
    struct regex_scratch *scratch;
    const struct normal_char *chars;
    size_t count;
    size_t from;     /* where the next match is looked for */
    size_t last_end; /* of the match before */
    bool matched;
};

/* Errors: NO_MEMORY. */
enum status pattern_search_start(struct pattern_search *search, const struct pattern *pattern,
                                 struct regex_scratch *scratch, const struct normal_char *chars,
                                 size_t count);

/* The next match, code points [start, end); *found is false when there is none. Linear over the
 * whole search for a string; an expression that needs more than linear time ends with
 * INPUT_TOO_LONG. Errors: that, NO_MEMORY. */
enum status pattern_search_next(struct pattern_search *search, bool *found, size_t *start,
                                size_t *end);

#endif
