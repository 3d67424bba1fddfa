/* encode_finish.h: from the tokens of both segments to an encoding: truncation, template, trimmed
 * offsets; and the windows that truncation cut off. */
#ifndef BERTD_TEXT_ENCODE_FINISH_H
#define BERTD_TEXT_ENCODE_FINISH_H

#include "engine/text/tokenizer_parts.h"

/* One segment: its text and tokens, and how many of them are left. */
struct finish_segment {
    struct view text;
    const struct token_list *tokens;
    uint32_t count, kept, windows;
};

/* What is known of an input after truncation. Lives in a scratch. */
struct finish {
    struct finish_segment segments[2];
    struct tokenizer_options options;
    bool pair;
    uint64_t overflow_count;
};

/* Cuts the segments (NULL tokens: none) to the limit and writes window 0. Errors: as
 * tokenizer_encode(). */
enum status finish_encode(struct finish *finish, const struct tokenizer *tokenizer,
                          struct encoding *out, struct error *err);

/* Writes an overflowing window. Error: NO_MEMORY. */
enum status finish_overflow(const struct finish *finish, const struct tokenizer *tokenizer,
                            uint64_t index, struct encoding *out, struct error *err);

#endif
