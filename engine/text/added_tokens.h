/* added_tokens.h: tokens that are cut out of the text as they stand, special ones among them.
 *
 * Two sets: tokens with `normalized` false are looked for in the raw text, first; the others, in
 * their normalised form, in the normalised text. Within a set the leftmost match wins, and of
 * those the longest. Owned by the tokenizer, immutable after open. */
#ifndef BERTD_TEXT_ADDED_TOKENS_H
#define BERTD_TEXT_ADDED_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/normal_text.h"
#include "engine/text/normalizer.h"
#include "engine/text/trie.h"
#include "engine/text/vocabulary.h"

struct added_token {
    int32_t id;
    bool lstrip, rstrip; /* swallow the white space before, behind */
    bool single_word;    /* no match beside a letter, digit or underscore */
    bool normalized;
    bool special;
};

struct added_set {
    struct trie trie; /* text -> index into tokens */
    bool leads[256];  /* bytes that some token starts with */
    uint32_t count;
};

struct added_tokens {
    struct added_token *tokens;
    uint32_t count, capacity;
    struct added_set raw, normal;
    struct vocabulary names; /* those that the model's vocabulary does not have */
    bool *special_ids;       /* [special_ids_count] whether an id is a special token's */
    uint32_t special_ids_count;
};

void added_tokens_init(struct added_tokens *added);
void added_tokens_free(struct added_tokens *added);

/* Enters a token. The one that came first keeps a form that two tokens share. Errors: UNSUPPORTED
 * (nothing is left of it after normalization), NO_MEMORY. */
enum status added_tokens_add(struct added_tokens *added, const struct added_token *token,
                             struct view content, const struct normalizer *normalizer,
                             struct error *err);

/* Whether the id is a special added token's. */
bool added_tokens_is_special(const struct added_tokens *added, int32_t id);

/* A piece of the text: between added tokens (id -1), or one of them. */
struct added_piece {
    int32_t id;
    size_t start, end; /* bytes of a raw text, code points of a normalised one */
};

/* Progress of one search. Start with ADDED_SEARCH_START. */
struct added_search {
    size_t at;                /* first place that is not handed out */
    size_t match;             /* where the next match is looked for */
    struct added_piece found; /* the match that follows, until it is handed out; id -1: none */
};

#define ADDED_SEARCH_START                                                                         \
    (struct added_search) {                                                                        \
        .found.id = -1                                                                             \
    }

/* Hands out the pieces of a text in order; false at the end. Added tokens may overlap what an
 * earlier one swallowed, as in the pinned library. The raw text is well-formed UTF-8. Linear in
 * the text for tokens of bounded length. */
bool added_tokens_next_raw(const struct added_tokens *added, struct view text,
                           struct added_search *search, struct added_piece *piece);
bool added_tokens_next_normal(const struct added_tokens *added, const struct normal_buffer *text,
                              struct added_search *search, struct added_piece *piece);

#endif
