/* token_limit.h: the longest sequence that a model's files allow. */
#ifndef BERTD_MODEL_TOKEN_LIMIT_H
#define BERTD_MODEL_TOKEN_LIMIT_H

#include <stdint.h>

#include "engine/base/status.h"

/* Lowers *tokens_max (special tokens included), which comes in as what the position table takes:
 * to sentence-transformers' max_seq_length where that is given, else to model_max_length of
 * tokenizer_config.json, which may be a number far beyond 64 bits. Truncation that tokenizer.json
 * asks for does not count. Errors: IO, BAD_FILE, NO_MEMORY. */
enum status token_limit_read(const char *dir, uint32_t *tokens_max, struct error *err);

/* What a position table of `positions` rows takes: all of it, or, in models whose first position is
 * pad_id + 1 (RoBERTa and its kin, by model_type; NULL: none of them), what is left behind that. 0
 * when nothing is left. */
uint32_t token_limit_positions(const char *model_type, uint32_t positions, int32_t pad_id);

/* The limit of a directory whatever its model is, for its tokenizer alone: the positions of
 * config.json, lowered as above; *tokens_max is 0 where there is no config.json or no limit.
 * Errors: IO, BAD_FILE, NO_MEMORY. */
enum status token_limit_find(const char *dir, uint32_t *tokens_max, struct error *err);

#endif
