/* regex_syntax.h: from Oniguruma's Ruby syntax to PCRE2's, for regex.c.
 *
 * Quirks that are followed: ^ and $ are at every line, (?m) lets the dot match line feeds, \h is a
 * hexadecimal digit, \v the vertical tab, \w is Alphabetic, M, Nd and Pc, {,n} counts from 0, the
 * Unicode age is 16. Refused by name: class intersections and nested classes, \K, \X, \W in a
 * class, octal, control and byte escapes, named back-references and calls, absent operators,
 * conditions, callouts, extended mode, possessive and lazy fixed counts, letters whose case folds
 * to several. */
#ifndef BERTD_TEXT_REGEX_SYNTAX_H
#define BERTD_TEXT_REGEX_SYNTAX_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

/* *pattern is the caller's to free; it is well-formed UTF-8 if the expression is. Errors:
 * UNSUPPORTED with the construct, NO_MEMORY. */
enum status regex_syntax_translate(struct view expression, char **pattern, size_t *bytes,
                                   struct error *err);

/* Generated (regex_tables.c): code points [first, last] and what stands for each, in order. */
struct regex_stand_in {
    uint32_t first, last, stand_in;
};
extern const struct regex_stand_in regex_stand_ins[];
extern const uint32_t regex_stand_ins_count;
extern const uint8_t regex_stand_in_blocks[];

/* The code point that PCRE2 is shown instead: one of the same classes that its older tables know.
 */
uint32_t regex_syntax_stand_in(uint32_t code);

#endif
