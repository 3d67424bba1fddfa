/* tokenizer_parts.h: what a tokenizer is made of, for the files that fill it: tokenizer_json.c from
 * tokenizer.json, tokenizer_vocab.c from vocab.txt, tokenizer.c to run it. */
#ifndef BERTD_TEXT_TOKENIZER_PARTS_H
#define BERTD_TEXT_TOKENIZER_PARTS_H

#include <stdint.h>

#include "engine/base/status.h"
#include "engine/text/added_tokens.h"
#include "engine/text/decoder.h"
#include "engine/text/normalizer.h"
#include "engine/text/pretokenizer.h"
#include "engine/text/template.h"
#include "engine/text/token_model.h"
#include "engine/text/tokenizer.h"
#include "engine/text/vocabulary.h"

struct tokenizer {
    struct vocabulary vocabulary; /* the model's tokens */
    struct added_tokens added;
    struct normalizer normalizer;
    struct pretokenizer pretokenizer;
    struct token_model model;
    struct token_template templates[2][2]; /* of a single text, a pair; without, with specials */
    bool trims_offsets; /* some template does, so that blanks of added tokens matter */
    struct decoder decoder;
    bool clean_up; /* clean_up_tokenization_spaces of tokenizer_config.json */
    struct tokenizer_options file_options;
    uint64_t model_max_length;
    int32_t mask_id, pad_id; /* -1: none */
};

/* Fill an empty tokenizer. Messages name the field, and the files but for tokenizer_read_json().
 * Errors: as tokenizer_open(). */
enum status tokenizer_read_json(struct tokenizer *tokenizer, struct view json, struct error *err);
enum status tokenizer_read_vocab(struct tokenizer *tokenizer, const char *dir, struct error *err);
enum status tokenizer_read_merges(struct tokenizer *tokenizer, const char *dir, struct error *err);

/* The same from the sentencepiece model DIR/NAME. */
enum status tokenizer_read_spm(struct tokenizer *tokenizer, const char *dir, const char *name,
                               struct error *err);

/* Opens the bytes of a tokenizer.json. Errors: BAD_FILE, UNSUPPORTED, NO_MEMORY. */
enum status tokenizer_open_json(struct view json, struct tokenizer **out, struct error *err);

/* Reads model_max_length and clean_up_tokenization_spaces from DIR/tokenizer_config.json, if that
 * is there. The model is read before. */
enum status tokenizer_read_config(struct tokenizer *tokenizer, const char *dir, struct error *err);

/* Finds the tokens that mask and pad, by the files of the directory. The model is read before.
 * Errors: IO, BAD_FILE, NO_MEMORY. */
enum status tokenizer_read_roles(struct tokenizer *tokenizer, const char *dir, struct error *err);

/* Enters an added token as the pinned library does: a token that the vocabulary has keeps that id,
 * another gets the next free one. `id` is what the file says, or -1. Error: BAD_FILE when the
 * file's id is another one; UNSUPPORTED, NO_MEMORY. The normalizer must be complete. */
enum status tokenizer_add_token(struct tokenizer *tokenizer, struct added_token token, int64_t id,
                                struct view content, struct error *err);

/* Make the templates: begin, any of the processors in their order, end. The forms of BERT:
 * [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with types 0 and 1; of RoBERTa: <s> A </s>, and
 * <s> A </s></s> B </s> with type 0 only. Error: UNSUPPORTED. */
void tokenizer_begin_templates(struct tokenizer *tokenizer);
enum status tokenizer_add_bert_templates(struct tokenizer *tokenizer, int32_t cls, int32_t sep);
enum status tokenizer_add_roberta_templates(struct tokenizer *tokenizer, int32_t cls, int32_t sep);
enum status tokenizer_add_form_templates(struct tokenizer *tokenizer,
                                         const struct template_form *single,
                                         const struct template_form *pair);
enum status tokenizer_add_offset_trim(struct tokenizer *tokenizer, bool prefix_space);
void tokenizer_end_templates(struct tokenizer *tokenizer);

#endif
