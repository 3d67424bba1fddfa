/* vocabulary.h: tokens and their ids, both ways. Owned by the tokenizer, immutable after open.
 *
 * Holds the model's tokens; added tokens are entered too where the model does not have them. */
#ifndef BERTD_TEXT_VOCABULARY_H
#define BERTD_TEXT_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/trie.h"

struct vocabulary_span;

struct vocabulary {
    struct trie trie; /* token -> id */
    char *bytes;      /* the tokens' bytes, end to end */
    size_t bytes_count, bytes_capacity;
    struct vocabulary_span *spans; /* [ids_count] where each token's bytes are */
    uint32_t ids_count;            /* largest id plus one */
    uint32_t ids_capacity;
};

void vocabulary_init(struct vocabulary *vocabulary);
void vocabulary_free(struct vocabulary *vocabulary);

/* Enters a token. Errors: BAD_FILE (the token or the id is taken, id or length over the limits),
 * UNSUPPORTED, NO_MEMORY; the message names both. */
enum status vocabulary_add(struct vocabulary *vocabulary, struct view token, int64_t id,
                           struct error *err);

/* As vocabulary_add(), but a token that was there moves to the new id; its old id becomes free. */
enum status vocabulary_replace(struct vocabulary *vocabulary, struct view token, int64_t id,
                               struct error *err);

/* Enters a token with the next id. One that was there keeps its name by the old id, but is found by
 * the new one. Errors: as vocabulary_replace(). */
enum status vocabulary_append(struct vocabulary *vocabulary, struct view token, struct error *err);

/* The id of a token, or -1; the token of an id, or an empty view with NULL data. */
int32_t vocabulary_find(const struct vocabulary *vocabulary, struct view token);
struct view vocabulary_token(const struct vocabulary *vocabulary, int64_t id);

#endif
