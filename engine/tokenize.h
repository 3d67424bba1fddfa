/* tokenize.h: texts into tokens and ids back into texts, for routes and commands that show them; no
 * model is run.
 *
 * A handle belongs to one thread at a time; any number may be open. What a result points at lives
 * until the handle's next call. */
#ifndef BERTD_TOKENIZE_H
#define BERTD_TOKENIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/engine.h"

struct engine_tokenizer;

/* The tokenizer of an engine, which must outlive the handle, with the model's limit. Error:
 * NO_MEMORY. */
enum status engine_tokenizer_open(const struct engine *engine, struct engine_tokenizer **out,
                                  struct error *err);

/* The tokenizer of a directory; one with nothing but tokenizer files is enough. With a config.json
 * beside them the model's limit counts; without, the truncation that the tokenizer's own file asks
 * for. Padding that the file asks for never counts. Errors: IO, BAD_FILE, UNSUPPORTED, NO_MEMORY.
 */
enum status engine_tokenizer_open_dir(const char *dir, struct engine_tokenizer **out,
                                      struct error *err);
void engine_tokenizer_close(struct engine_tokenizer *tokenizer); /* NULL is allowed */

/* The limit in tokens that truncation obeys, special tokens included; 0: none. */
uint32_t engine_tokenizer_limit(const struct engine_tokenizer *tokenizer);

/* N tokens; token i has tokens[i], and the code points starts[i]..ends[i] of its text (the pair's
 * own text when segments[i] is 1; 0..0 when the template added it). */
struct engine_tokens {
    uint32_t count; /* N */
    const int32_t *ids;
    const struct view *tokens; /* as the vocabulary spells them */
    const struct view *texts;  /* what they came from, in the caller's text; empty: the template */
    const uint32_t *starts, *ends;
    const uint8_t *type_ids, *segments;
    const uint8_t *special_tokens_mask; /* 1: added by the template */
    bool truncated;
    uint32_t count_whole; /* tokens before truncation */
};

struct engine_tokenize_options {
    bool add_special_tokens;
    bool truncate; /* to the limit; else all tokens are kept */
    enum truncation_side side;
};

/* `pair` may be NULL; `options` NULL: special tokens, and truncation as the files ask. Linear in
 * the bytes, about 10 MB a second. Errors: INVALID_UTF8, INVALID_VALUE (the file's truncation
 * strategy cannot reach the limit; a word that the model has no token for), INPUT_TOO_LONG (bytes),
 * NO_MEMORY. */
enum status engine_tokenize(struct engine_tokenizer *tokenizer, struct view text,
                            const struct view *pair, const struct engine_tokenize_options *options,
                            struct engine_tokens *out, struct error *err);

/* The text of some ids, as the pinned `tokenizers` decodes them; ids that no token has are left
 * out. With `clean_up` as `transformers` does it, where the model's files ask for that. *text is
 * NUL-terminated, the caller frees it. Errors: INPUT_TOO_LONG, NO_MEMORY. */
enum status engine_detokenize(struct engine_tokenizer *tokenizer, const int32_t *ids,
                              uint32_t count, bool skip_special_tokens, bool clean_up, char **text,
                              size_t *bytes, struct error *err);

#endif
