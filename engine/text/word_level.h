/* word_level.h: one word is one token. A model of the fourth step. */
#ifndef BERTD_TEXT_WORD_LEVEL_H
#define BERTD_TEXT_WORD_LEVEL_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/text/normal_text.h"
#include "engine/text/token_list.h"
#include "engine/text/trie.h"

struct word_level {
    const struct trie *trie; /* token -> id; borrowed from the vocabulary */
    int32_t unknown_id;      /* -1: unk_token is not in the vocabulary */
};

/* Appends the word's token, else the unknown one. Errors: INVALID_VALUE (an unknown word, and
 * unk_token is not in the vocabulary), NO_MEMORY. */
enum status word_level_tokenize(const struct word_level *model, const struct normal_char *word,
                                size_t count, struct token_list *out, struct error *err);

#endif
