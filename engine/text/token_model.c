/* token_model.c: from a model to that of its kind. */
#include "engine/text/token_model.h"

#include <string.h>

void token_model_free(struct token_model *model) {
    if (model == NULL)
        return;
    if (model->kind == TOKEN_MODEL_BPE)
        bpe_free(&model->bpe);
    if (model->kind == TOKEN_MODEL_UNIGRAM)
        unigram_free(&model->unigram);
    model->kind = TOKEN_MODEL_NONE;
}

enum status token_model_tokenize(const struct token_model *model,
                                 struct token_model_scratch *scratch,
                                 const struct normal_char *word, size_t count,
                                 struct token_list *out, struct error *err) {
    switch (model->kind) {
    case TOKEN_MODEL_WORDPIECE:
        return wordpiece_tokenize(&model->wordpiece, word, count, out);
    case TOKEN_MODEL_BPE:
        return bpe_tokenize(&model->bpe, &scratch->bpe, word, count, out, err);
    case TOKEN_MODEL_UNIGRAM:
        return unigram_tokenize(&model->unigram, &scratch->unigram, word, count, out, err);
    case TOKEN_MODEL_WORD_LEVEL:
        return word_level_tokenize(&model->word_level, word, count, out, err);
    case TOKEN_MODEL_NONE:
        break;
    }
    return error_set(err, STATUS_INTERNAL, "the tokenizer has no model");
}

void token_model_scratch_free(struct token_model_scratch *scratch) {
    if (scratch != NULL) {
        bpe_scratch_free(&scratch->bpe);
        unigram_scratch_free(&scratch->unigram);
    }
}

void token_model_scratch_trim(struct token_model_scratch *scratch, size_t chars_max) {
    if (scratch->bpe.symbols_capacity > chars_max)
        bpe_scratch_free(&scratch->bpe);
    if (scratch->unigram.capacity > chars_max)
        unigram_scratch_free(&scratch->unigram);
}
