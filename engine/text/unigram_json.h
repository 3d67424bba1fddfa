/* unigram_json.h: the pieces of a Unigram straight from the text of a tokenizer.json. Stands before
 * the JSON library, for two reasons: a vocabulary of 250,000 pieces is read in a fraction of the
 * time, and scores are the doubles that the pinned library makes of their digits. */
#ifndef BERTD_TEXT_UNIGRAM_JSON_H
#define BERTD_TEXT_UNIGRAM_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/unigram.h"
#include "engine/text/vocabulary.h"

/* Finds the array "vocab" of the object "model" in the document's object. When it is there, its
 * pieces are appended to the (empty) vocabulary with their scores, and *rest receives the document
 * with an empty array in its place, which the caller frees; otherwise *rest is NULL, also for a
 * text that is no JSON. Errors: BAD_FILE (the array holds anything but pieces with scores, or
 * what vocabulary_append() refuses), NO_MEMORY. */
enum status unigram_json_take(struct view document, struct vocabulary *vocabulary,
                              struct unigram *unigram, char **rest, size_t *rest_bytes,
                              struct error *err);

#endif
