/* byte_level.h: the word pattern of byte-level tokenizers, matched by hand in linear time, and
 * their rewriting of a text. */
#ifndef BERTD_TEXT_BYTE_LEVEL_H
#define BERTD_TEXT_BYTE_LEVEL_H

#include <stddef.h>

#include "engine/base/status.h"
#include "engine/text/normal_text.h"

/* Length of the match of 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * (GPT-2) at the start of the text; at least 1, since the pattern leaves nothing out. `count` is at
 * least 1. */
size_t byte_level_word_length(const struct normal_char *chars, size_t count);

/* Appends the text to `out` as stand-ins of its UTF-8 bytes; those of one character share its
 * range. Error: NO_MEMORY. */
enum status byte_level_write(const struct normal_char *chars, size_t count,
                             struct normal_buffer *out);

#endif
