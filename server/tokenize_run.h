/* tokenize_run.h: the bodies of the tokenizer routes into their answers, the native ones (api.md
 * §3) and those of text-embeddings-inference. Any thread; takes time in proportion to the body. */
#ifndef BERTD_TOKENIZE_RUN_H
#define BERTD_TOKENIZE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/view.h"
#include "engine/tokenize.h"
#include "server/api_error.h"
#include "server/json_write.h"

/* What a run must know about the server and its model. */
struct tokenize_rules {
    const char *model_name;
    uint32_t inputs_max; /* in one body */
    uint32_t tokens_max; /* in one answer */
    bool truncate;       /* when the body does not say */
};

/* Writes the whole answer to `out`; false after an error, `out` is to be thrown away then. Errors:
 * every 400 and 413 of a body, model_not_found, internal. */
typedef bool tokenize_run(struct view body, const struct tokenize_rules *rules,
                          struct engine_tokenizer *tokenizer, struct json_writer *out,
                          struct api_error *err);

tokenize_run tokenize_run_native;   /* POST /v1/tokenize */
tokenize_run detokenize_run_native; /* POST /v1/detokenize */
tokenize_run tokenize_run_tei;      /* POST /tokenize */
tokenize_run detokenize_run_tei;    /* POST /decode */

/* The fields "ids", "tokens", "offsets", "type_ids", "special_tokens_mask" and "truncated" of one
 * encoding, into an object that is open. */
void tokenize_write_fields(const struct engine_tokens *tokens, struct json_writer *out);

#endif
