/* offset_trim.h: blanks at a token's ends taken out of its offsets, as the post-processors
 * ByteLevel and RobertaProcessing do with trim_offsets. */
#ifndef BERTD_TEXT_OFFSET_TRIM_H
#define BERTD_TEXT_OFFSET_TRIM_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/view.h"
#include "engine/text/normal_text.h"
#include "engine/text/token_list.h"

/* Blanks at both ends of a token's text: white space, and U+0120, which stands for it. */
struct token_blanks offset_trim_count(struct view text);
struct token_blanks offset_trim_count_chars(const struct normal_char *chars, size_t count);

/* Moves a token's start and end by its blanks, counted in characters of `text`, towards each other.
 * With `prefix_space` a single blank of the first token (`first`, or one that starts at 0) stays,
 * since it is the one that the tokenizer added. Quirk: the library moves the start by a blank that
 * add_prefix_space put in front of a later piece too, and so loses its first letter. */
void offset_trim_apply(struct view text, struct token_blanks blanks, bool prefix_space, bool first,
                       uint32_t *start, uint32_t *end);

#endif
