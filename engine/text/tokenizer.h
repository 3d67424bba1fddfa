/* tokenizer.h: text to token ids, as the pinned Hugging Face `tokenizers` (0.23.3) does it.
 *
 * A tokenizer is immutable after open and may be used by any number of threads, each with its own
 * scratch. Steps: added tokens that are matched in the raw text, normalizer, added tokens that are
 * matched in the normal text, pre-tokenizer, model (WordPiece), truncation, template. */
#ifndef BERTD_TEXT_TOKENIZER_H
#define BERTD_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/encoding.h"

struct tokenizer;
struct tokenizer_scratch;

/* Opens DIR/tokenizer.json, else DIR/vocab.txt, else a sentencepiece model (spiece.model,
 * sentencepiece.bpe.model, spm.model, tokenizer.model), else vocab.json with merges.txt; all but
 * the first with DIR/tokenizer_config.json and its like. Whatever the files ask for that is not
 * built is refused by name. Errors: IO, BAD_FILE, UNSUPPORTED, NO_MEMORY. */
enum status tokenizer_open(const char *dir, struct tokenizer **out, struct error *err);
void tokenizer_close(struct tokenizer *tokenizer);

/* Working memory of one thread. Grows to what the longest text needs, is reused. */
enum status tokenizer_scratch_open(const struct tokenizer *tokenizer,
                                   struct tokenizer_scratch **out);
void tokenizer_scratch_close(struct tokenizer_scratch *scratch);

enum tokenizer_side { TOKENIZER_RIGHT, TOKENIZER_LEFT };
enum tokenizer_strategy { TOKENIZER_LONGEST_FIRST, TOKENIZER_ONLY_FIRST, TOKENIZER_ONLY_SECOND };

struct tokenizer_options {
    bool add_special_tokens;
    uint32_t tokens_max; /* special tokens included; 0: no truncation */
    enum tokenizer_side side;
    enum tokenizer_strategy strategy;
    bool keep_overflow; /* what was cut off can be asked for with tokenizer_overflow() */
    uint32_t stride;    /* content tokens that an overflowing window repeats of the one before */
};

/* The truncation that the file itself asks for (tokens_max 0 when none), with special tokens. */
struct tokenizer_options tokenizer_file_options(const struct tokenizer *tokenizer);

/* Encodes `text`, with `pair` (NULL: none) as the second segment. `out` is overwritten. Linear
 * time in the bytes. Errors: INVALID_UTF8, INVALID_VALUE (the strategy cannot reach the limit; with
 * keep_overflow, a stride of a window or more, or a template that repeats a segment),
 * INPUT_TOO_LONG (over LIMIT_TEXT_BYTES), NO_MEMORY. */
enum status tokenizer_encode(const struct tokenizer *tokenizer, struct tokenizer_scratch *scratch,
                             struct view text, const struct view *pair,
                             const struct tokenizer_options *options, struct encoding *out,
                             struct error *err);

/* The windows that the last tokenizer_encode() of this scratch, with keep_overflow, cut off: as
 * many as the library's `overflowing`, in its order (with a pair, each window of the first segment
 * in the template with each of the second). The texts must still be there. Errors: NO_MEMORY. */
uint64_t tokenizer_overflow_count(const struct tokenizer_scratch *scratch);
enum status tokenizer_overflow(const struct tokenizer *tokenizer,
                               const struct tokenizer_scratch *scratch, uint64_t index,
                               struct encoding *out, struct error *err);

/* Cuts the whole encoding of a single text into windows of at most `tokens_max` tokens (special
 * tokens included) that overlap by `stride` content tokens. Window 0 is the start. Returns the
 * number of windows, at least 1. The stride must be below tokens_max - special tokens. */
uint32_t tokenizer_windows_count(const struct tokenizer *tokenizer, uint32_t content_count,
                                 uint32_t tokens_max, uint32_t stride);

/* Writes window `index` of the content ids (no special tokens in them) with the template around
 * them to ids[] and type_ids[], each with room for tokens_max. Returns the tokens written. */
uint32_t tokenizer_window_write(const struct tokenizer *tokenizer, const int32_t *content_ids,
                                uint32_t content_count, uint32_t tokens_max, uint32_t stride,
                                uint32_t index, int32_t *ids, uint8_t *type_ids);

/* Template tokens that a single text, or a pair, gets. */
uint32_t tokenizer_special_count(const struct tokenizer *tokenizer, bool pair);

/* Whether truncation keeps every encoding within its limit. It does not when the template repeats a
 * segment, or adds more special tokens than the pinned library counts. */
bool tokenizer_keeps_limit(const struct tokenizer *tokenizer);

/* Largest token id plus one, added tokens included. */
uint32_t tokenizer_ids_count(const struct tokenizer *tokenizer);

/* The token of an id as the vocabulary spells it (an empty view when there is none); of an added
 * token that is matched in the normalised text its normal form, as the pinned library says. */
struct view tokenizer_token(const struct tokenizer *tokenizer, int32_t id);

/* The id of a token, or -1. */
int32_t tokenizer_find(const struct tokenizer *tokenizer, struct view token);

/* Turns ids into a text, as the pinned library's `decode` does: ids that no token has are left out,
 * and special tokens too if asked. *out is NUL-terminated, the caller frees it; *bytes may be NULL.
 * Any thread. Errors: INPUT_TOO_LONG (over LIMIT_DECODED_BYTES), NO_MEMORY. */
enum status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                             bool skip_special_tokens, char **out, size_t *bytes,
                             struct error *err);

/* The same as `transformers` (5.24.0) does it: then without blanks before punctuation where
 * tokenizer_config.json sets clean_up_tokenization_spaces, unless the model is a BPE. */
enum status tokenizer_decode_clean(const struct tokenizer *tokenizer, const int32_t *ids,
                                   uint32_t count, bool skip_special_tokens, char **out,
                                   size_t *bytes, struct error *err);

/* The ids of the tokens that mask and pad, or -1: as tokenizer_config.json names them, else of the
 * usual names. */
int32_t tokenizer_get_mask(const struct tokenizer *tokenizer);
int32_t tokenizer_get_pad(const struct tokenizer *tokenizer);

/* model_max_length of tokenizer_config.json; 0 when absent or too large to mean anything. */
uint64_t tokenizer_model_max_length(const struct tokenizer *tokenizer);

#endif
