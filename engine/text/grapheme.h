/* grapheme.h: extended grapheme clusters (UAX 29), as far as the pinned library shows them. */
#ifndef BERTD_TEXT_GRAPHEME_H
#define BERTD_TEXT_GRAPHEME_H

#include <stddef.h>

#include "engine/text/normal_text.h"

/* Code points of the cluster that the text starts with; `count` is at least 1. Looks at no more
 * than one code point behind it. Pairs of regional indicators count as two clusters: both forms
 * are longer than what the character map takes whole. */
size_t grapheme_length(const struct normal_char *chars, size_t count);

#endif
