/* tokenize_input.h: what the two dialects of the tokenizer routes read alike: token ids, limits. */
#ifndef BERTD_TOKENIZE_INPUT_H
#define BERTD_TOKENIZE_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/tokenize_run.h"

/* The body as an object. Errors: those of json_read_document(), invalid_type. */
bool tokenize_read_body(struct view body, json_t **out, struct api_error *err);

/* Refuses more inputs or more tokens than the rules allow. */
bool tokenize_check_inputs(size_t count, const struct tokenize_rules *rules, const char *param,
                           struct api_error *err);
bool tokenize_check_tokens(uint64_t count, const struct tokenize_rules *rules,
                           struct api_error *err);

/* Decodes an array of token ids. Ids that cannot be any are left out of the text as those that no
 * token has. *text is the caller's to free. Errors: invalid_type, invalid_value, internal. */
bool tokenize_decode_ids(const json_t *ids, const char *param, bool skip_special_tokens,
                         bool clean_up, struct engine_tokenizer *tokenizer, char **text,
                         size_t *bytes, struct api_error *err);

#endif
