/* unigram.h: one word into the pieces whose scores sum highest. A model of the fourth step.
 *
 * Viterbi over the word's characters (Kudo 2018), in doubles. A character that is no piece costs
 * the lowest score less 10; such characters side by side become one token. */
#ifndef BERTD_TEXT_UNIGRAM_H
#define BERTD_TEXT_UNIGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/text/normal_text.h"
#include "engine/text/token_list.h"
#include "engine/text/trie.h"

struct unigram_node;

struct unigram {
    const struct trie *trie; /* piece -> id; borrowed from the vocabulary */
    double *scores;          /* [count] of the pieces by id */
    uint32_t count, capacity;
    double score_min;
    int32_t unknown_id; /* -1: none, and a character that is no piece is an error */
    bool byte_fallback; /* unknown characters become their <0xXX> pieces, if all are there */
    int32_t byte_ids[256];
};

/* Working memory of one thread; grows to what the longest word needs. Zeroed: empty. */
struct unigram_scratch {
    struct unigram_node *nodes;
    size_t capacity;
};

/* An empty model. */
void unigram_init(struct unigram *unigram);
void unigram_free(struct unigram *unigram);

/* Gives the piece with the next id its score. Error: NO_MEMORY. */
enum status unigram_add_score(struct unigram *unigram, double score);

/* Completes the model. `trie` holds a piece for each score and stays where it is. `unknown_id` is
 * -1 for none. Error: BAD_FILE when it is the id of no piece. */
enum status unigram_finish(struct unigram *unigram, const struct trie *trie, int64_t unknown_id,
                           bool byte_fallback, struct error *err);

/* Appends the word's tokens. Time: characters times longest piece. Errors: INVALID_VALUE (an
 * unknown character without unknown_id), NO_MEMORY. */
enum status unigram_tokenize(const struct unigram *unigram, struct unigram_scratch *scratch,
                             const struct normal_char *word, size_t count, struct token_list *out,
                             struct error *err);

/* Gives the memory back; the scratch is empty then. */
void unigram_scratch_free(struct unigram_scratch *scratch);

#endif
