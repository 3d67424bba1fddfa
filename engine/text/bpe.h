/* bpe.h: one word into tokens by merging pairs of symbols. A model of the fourth step.
 *
 * The word starts as one symbol a character (with continuing_subword_prefix in front of all but
 * the first and end_of_word_suffix behind the last); the pair with the lowest rank, the leftmost of
 * equals, becomes one symbol until no pair has a rank. For byte-level vocabularies the word already
 * is in byte letters. Sennrich et al. 2016, in the form of the pinned library. */
#ifndef BERTD_TEXT_BPE_H
#define BERTD_TEXT_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/normal_text.h"
#include "engine/text/token_list.h"
#include "engine/text/trie.h"

struct bpe_merge;
struct bpe_symbol;

/* What a file says beside vocabulary and merges. Views are borrowed until bpe_init() returns. */
struct bpe_settings {
    struct view unknown; /* unk_token; data NULL: none, unknown characters vanish */
    struct view prefix;  /* continuing_subword_prefix */
    struct view suffix;  /* end_of_word_suffix */
    bool fuse_unknown;   /* unknown characters side by side are one token */
    bool byte_fallback;  /* an unknown character becomes its <0xXX> tokens, if all are there */
    bool ignore_merges;  /* a word that is a token is that token */
};

struct bpe {
    const struct trie *trie;  /* token -> id; borrowed from the vocabulary */
    struct bpe_merge *merges; /* hash table of pairs, at most half full */
    uint64_t merges_mask;     /* slots - 1 */
    int32_t *merged_ids;      /* [merges_max] rank -> what the pair becomes */
    uint32_t merges_count, merges_max;
    uint32_t first_node, continuing_node; /* where a character's token starts; or TRIE_NONE */
    char *suffix;
    size_t suffix_bytes, prefix_bytes;
    int32_t unknown_id; /* -1: unk_token is not in the vocabulary */
    bool has_unknown, fuse_unknown, byte_fallback, ignore_merges;
    int32_t byte_ids[256]; /* of <0x00> to <0xFF>, or -1 */
};

/* Working memory of one thread; grows to what the longest word needs. Zeroed: empty. */
struct bpe_scratch {
    struct bpe_symbol *symbols;
    uint64_t *heap;
    size_t symbols_capacity, heap_capacity;
};

/* `trie` holds the model's tokens and stays where it is. Room is made for `merges_max` merges.
 * Errors: UNSUPPORTED (byte_fallback together with a prefix or suffix), NO_MEMORY. */
enum status bpe_init(struct bpe *bpe, const struct trie *trie, const struct bpe_settings *settings,
                     size_t merges_max, struct error *err);
void bpe_free(struct bpe *bpe);

/* Enters the next merge; its rank is the number of those before it. A pair that comes again takes
 * its last rank. Errors: BAD_FILE (a part or the whole is not in the vocabulary, or the right part
 * is shorter than the prefix), INTERNAL (more than merges_max). */
enum status bpe_add_merge(struct bpe *bpe, struct view left, struct view right, struct error *err);

/* As bpe_add_merge() for the form "left right" with one blank. Error: BAD_FILE also for another
 * form. */
enum status bpe_add_merge_line(struct bpe *bpe, struct view line, struct error *err);

/* Appends the word's tokens. O(n log n) for n characters. Errors: INVALID_VALUE (an unknown
 * character, and unk_token is not in the vocabulary), NO_MEMORY. */
enum status bpe_tokenize(const struct bpe *bpe, struct bpe_scratch *scratch,
                         const struct normal_char *word, size_t count, struct token_list *out,
                         struct error *err);

/* Gives the memory back; the scratch is empty then. */
void bpe_scratch_free(struct bpe_scratch *scratch);

#endif
