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
    uint32_t length;     /* of its form, in bytes (raw) or code points (normalised) */
    bool lstrip, rstrip; /* swallow the white space before, behind */
    bool single_word;    /* no match beside a letter, digit or underscore */
    bool normalized;
    bool special;
};

/* An automaton after Aho and Corasick (1975) over the tokens spelled backwards: read from its end,
 * a text gives for each place the longest token that starts there, in time linear in the text,
 * however long the tokens are that it nearly spells. */
struct added_set {
    struct trie trie; /* backward spelling -> index into tokens */
    uint32_t *fails;  /* [nodes] node of the longest proper suffix that the trie has */
    int32_t *longest; /* [nodes] longest token that ends in this node or a suffix, or -1 */
    bool last[256];   /* bytes that some token ends with */
    uint32_t count;
};

/* Where tokens start in a text, and the longest one there; from the text's end on. Belongs to a
 * scratch. */
struct added_match {
    uint32_t start, end; /* bytes of a raw text, code points of a normalised one */
    int32_t index;
};

struct added_matches {
    struct added_match *items;
    size_t count, capacity;
};

struct added_tokens {
    struct added_token *tokens;
    uint32_t count, capacity;
    struct added_set raw, normal;
    struct vocabulary names; /* those that the model's vocabulary does not have */
    bool *special_ids;       /* [special_ids_count] whether an id is a special token's */
    uint32_t special_ids_count;
    struct view *forms; /* [forms_count] by id: owned normal form where it differs from the token */
    uint32_t forms_count;
};

void added_tokens_init(struct added_tokens *added);
void added_tokens_free(struct added_tokens *added);

/* Enters a token. The one that came first keeps a form that two tokens share (the library takes one
 * of them by chance). Errors: UNSUPPORTED
 * (nothing is left of it after normalization), NO_MEMORY. */
enum status added_tokens_add(struct added_tokens *added, const struct added_token *token,
                             struct view content, const struct normalizer *normalizer,
                             struct error *err);

/* Builds the automata, after the last token. Linear in the tokens' bytes. Error: NO_MEMORY. */
enum status added_tokens_build(struct added_tokens *added);

void added_matches_free(struct added_matches *matches);

/* Whether the id is a special added token's. */
bool added_tokens_is_special(const struct added_tokens *added, int32_t id);

/* The normal form of a token that is looked for in the normalised text, when it is not the token
 * itself; else an empty view with NULL data. The pinned library shows this in the token's place. */
struct view added_tokens_form(const struct added_tokens *added, int32_t id);

/* A piece of the text: between added tokens (id -1), or one of them. */
struct added_piece {
    int32_t id;
    size_t start, end; /* bytes of a raw text, code points of a normalised one */
};

/* Progress of one search. Start with added_search_start(). */
struct added_search {
    const struct added_matches *matches;
    size_t left;                  /* matches that are not looked at */
    size_t at;                    /* first place that is not handed out */
    size_t behind;                /* end of the last match, white space aside */
    size_t blank_from, blank_end; /* white space that was walked through */
    struct added_piece found;     /* the match that follows, until it is handed out; id -1: none */
};

/* Looks for all tokens of a set. The raw text is well-formed UTF-8. Linear in the text. Error:
 * NO_MEMORY. */
enum status added_tokens_scan_raw(const struct added_tokens *added, struct view text,
                                  struct added_matches *matches);
enum status added_tokens_scan_normal(const struct added_tokens *added,
                                     const struct normal_buffer *text,
                                     struct added_matches *matches);

/* A search at the start of a scanned text; the matches stay where they are while it goes on. */
struct added_search added_search_start(const struct added_matches *matches);

/* Hands out the pieces of a scanned text in order; false at the end. Quirks of the pinned library:
 * a token may match in white space that an earlier one swallowed, and then starts behind it if it
 * has lstrip (nothing is left of it where it would have to end before), else overlaps it; the text
 * goes on behind the last match, even if that repeats white space that was swallowed. */
bool added_tokens_next_raw(const struct added_tokens *added, struct view text,
                           struct added_search *search, struct added_piece *piece);
bool added_tokens_next_normal(const struct added_tokens *added, const struct normal_buffer *text,
                              struct added_search *search, struct added_piece *piece);

#endif
