/* token_model.h: the model of a tokenizer, whatever its kind: one word into tokens. Fourth step of
 * an encoding. Filled by the readers of tokenizer files, immutable after that. */
#ifndef BERTD_TEXT_TOKEN_MODEL_H
#define BERTD_TEXT_TOKEN_MODEL_H

#include <stddef.h>

#include "engine/base/status.h"
#include "engine/text/bpe.h"
#include "engine/text/normal_text.h"
#include "engine/text/token_list.h"
#include "engine/text/unigram.h"
#include "engine/text/word_level.h"
#include "engine/text/wordpiece.h"

enum token_model_kind {
    TOKEN_MODEL_NONE, /* nothing is filled */
    TOKEN_MODEL_WORDPIECE,
    TOKEN_MODEL_BPE,
    TOKEN_MODEL_UNIGRAM,
    TOKEN_MODEL_WORD_LEVEL
};

struct token_model {
    enum token_model_kind kind;
    union {
        struct wordpiece wordpiece;
        struct bpe bpe;
        struct unigram unigram;
        struct word_level word_level;
    };
};

/* Working memory of one thread; grows to what the longest word needs. Zeroed: empty. */
struct token_model_scratch {
    struct bpe_scratch bpe;
    struct unigram_scratch unigram;
};

/* Gives the memory back; the model is one of kind NONE then. */
void token_model_free(struct token_model *model);

/* Appends the tokens of a word, which is never empty. Errors: INVALID_VALUE (the model has no
 * token for it and no unknown token; `err` says so), NO_MEMORY (without a message). */
enum status token_model_tokenize(const struct token_model *model,
                                 struct token_model_scratch *scratch,
                                 const struct normal_char *word, size_t count,
                                 struct token_list *out, struct error *err);

void token_model_scratch_free(struct token_model_scratch *scratch);

/* Gives back what words of more than `chars_max` characters made the scratch grow to. */
void token_model_scratch_trim(struct token_model_scratch *scratch, size_t chars_max);

#endif
