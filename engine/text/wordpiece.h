/* wordpiece.h: one word into tokens by greedy longest match. Fourth step of an encoding. */
#ifndef BERTD_TEXT_WORDPIECE_H
#define BERTD_TEXT_WORDPIECE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/normal_text.h"
#include "engine/text/token_list.h"
#include "engine/text/trie.h"

struct wordpiece {
    const struct trie *trie;  /* token -> id; borrowed from the vocabulary */
    uint32_t continuing_node; /* behind continuing_subword_prefix, or TRIE_NONE */
    int32_t unknown_id;       /* of unk_token */
    uint64_t word_chars_max;  /* a longer word is one unknown token */
};

/* `trie` holds the model's tokens and stays where it is. Error: BAD_FILE when unk_token is not
 * one of them. */
enum status wordpiece_init(struct wordpiece *wordpiece, const struct trie *trie, struct view prefix,
                           struct view unknown, uint64_t word_chars_max, struct error *err);

/* Appends the word's tokens: pieces, or one unknown token when a piece is missing. At most
 * word length times longest token steps. Error: NO_MEMORY. */
enum status wordpiece_tokenize(const struct wordpiece *wordpiece, const struct normal_char *word,
                               size_t count, struct token_list *out);

#endif
