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

#endif
