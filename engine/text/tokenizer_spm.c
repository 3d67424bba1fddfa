/* tokenizer_spm.c: a sentencepiece `.model` file into the parts of a tokenizer, for checkpoints
 * that have no tokenizer.json, as the pinned `transformers` builds the tokenizers of ALBERT,
 * XLM-RoBERTa, CamemBERT and DeBERTa-v2 from it. What the class does not say is the file's own
 * (pieces, scores, character map); the file's rules for blanks are not obeyed, as there.
 *
 * Quirks: DeBERTa-v2 leaves the character map out; ALBERT's unknown id is 1 and XLM-RoBERTa's 3,
 * whatever the file says; XLM-RoBERTa replaces the first three pieces by its own four tokens,
 * CamemBERT the first one by its five. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/file.h"
#include "engine/base/limits.h"
#include "engine/text/sentencepiece_file.h"
#include "engine/text/tokenizer_settings.h"
#include "engine/text/unicode.h"

static const uint32_t MARK = 0x2581;
static const char MARK_UTF8[] = "\xe2\x96\x81";

/* What the steps of one opening share. */
struct spm_reader {
    struct tokenizer *tokenizer;
    struct tokenizer_settings settings;
    struct sentencepiece_file file;
    bool prefix_space; /* add_prefix_space */
    struct error *err;
};

typedef enum status spm_step(struct spm_reader *reader);

struct spm_class {
    const char *name, *model_type;
    const char *usual[SPECIAL_ROLES]; /* names of the special tokens */
    spm_step *add_pieces;
    spm_step *add_splitting; /* normalizer and pre-tokenizer */
    bool roberta;            /* the templates: <s> A </s></s> B </s>, else [CLS] A [SEP] B [SEP] */
};

/* ---- pieces ---- */

static enum status add_piece(struct spm_reader *reader, struct view text, double score) {
    struct tokenizer *tokenizer = reader->tokenizer;
    enum status status = vocabulary_append(&tokenizer->vocabulary, text, reader->err);
    if (status == STATUS_OK && unigram_add_score(&tokenizer->model.unigram, score) != STATUS_OK)
        status = error_set(reader->err, STATUS_NO_MEMORY, "no memory for the pieces");
    return status;
}

static enum status add_role(struct spm_reader *reader, enum special_role role) {
    return add_piece(reader, reader->settings.roles[role].content, 0);
}

/* The pieces of the file from number `first` on. */
static enum status add_file_pieces(struct spm_reader *reader, uint32_t first) {
    enum status status = STATUS_OK;
    for (uint32_t i = first; status == STATUS_OK && i < reader->file.pieces_count; i++)
        status =
            add_piece(reader, reader->file.pieces[i].text, (double)reader->file.pieces[i].score);
    return status;
}

static enum status finish_pieces(struct spm_reader *reader, int64_t unknown_id) {
    struct tokenizer *tokenizer = reader->tokenizer;
    return unigram_finish(&tokenizer->model.unigram, &tokenizer->vocabulary.trie, unknown_id, false,
                          reader->err);
}

static enum status add_albert_pieces(struct spm_reader *reader) {
    enum status status = add_file_pieces(reader, 0);
    return status == STATUS_OK ? finish_pieces(reader, 1) : status;
}

static enum status add_xlm_roberta_pieces(struct spm_reader *reader) {
    static const enum special_role HEAD[] = {SPECIAL_BOS, SPECIAL_PAD, SPECIAL_EOS, SPECIAL_UNK};
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < sizeof HEAD / sizeof *HEAD; i++)
        status = add_role(reader, HEAD[i]);
    if (status == STATUS_OK)
        status = add_file_pieces(reader, 3);
    if (status == STATUS_OK)
        status = add_role(reader, SPECIAL_MASK);
    return status == STATUS_OK ? finish_pieces(reader, 3) : status;
}

/* The first id that the token has, or `missing`. */
static int64_t first_id(const struct spm_reader *reader, struct view token, bool unscored,
                        int64_t missing) {
    const struct tokenizer *tokenizer = reader->tokenizer;
    for (uint32_t id = 0; id < tokenizer->model.unigram.count; id++)
        if (view_equals(vocabulary_token(&tokenizer->vocabulary, id), token) &&
            (!unscored || tokenizer->model.unigram.scores[id] == 0))
            return id;
    return missing;
}

static enum status add_camembert_pieces(struct spm_reader *reader) {
    enum status status = add_piece(reader, view_of("<s>NOTUSED"), 0);
    if (status == STATUS_OK)
        status = add_role(reader, SPECIAL_PAD);
    if (status == STATUS_OK)
        status = add_piece(reader, view_of("</s>NOTUSED"), 0);
    if (status == STATUS_OK)
        status = add_role(reader, SPECIAL_UNK);
    if (status == STATUS_OK)
        status = add_piece(reader, view_of("<unk>NOTUSED"), -100);
    if (status == STATUS_OK)
        status = add_file_pieces(reader, 1);
    if (status == STATUS_OK)
        status = add_role(reader, SPECIAL_MASK);
    struct special_token *mask = &reader->settings.roles[SPECIAL_MASK];
    mask->token.lstrip = mask->token.lstrip || !mask->is_object;
    return status == STATUS_OK
               ? finish_pieces(reader, first_id(reader, reader->settings.roles[SPECIAL_UNK].content,
                                                false, 0))
               : status;
}

static enum status add_deberta_pieces(struct spm_reader *reader) {
    enum status status = add_file_pieces(reader, 0);
    if (status != STATUS_OK)
        return status;
    int64_t unknown_id = first_id(reader, reader->settings.roles[SPECIAL_UNK].content, true,
                                  reader->file.unknown_id);
    if (unknown_id < 0)
        return error_set(reader->err, STATUS_BAD_FILE, "unk_id %lld is no id",
                         (long long)unknown_id);
    return finish_pieces(reader, unknown_id);
}

/* ---- normalizer, pre-tokenizer ---- */

/* Appends a step; on failure its memory is given back. */
static enum status add_step(struct spm_reader *reader, struct normalizer_step step,
                            enum status status) {
    if (status == STATUS_OK)
        status = normalizer_add(&reader->tokenizer->normalizer, &step);
    if (status != STATUS_OK)
        normalizer_step_free(&step);
    return status;
}

static enum status add_kind(struct spm_reader *reader, enum normalizer_kind kind) {
    return add_step(reader, (struct normalizer_step){.kind = kind}, STATUS_OK);
}

/* `with` is a literal. */
static enum status add_replace(struct spm_reader *reader, bool regex, const char *what,
                               const char *with) {
    struct normalizer_step step = {.kind = NORMALIZER_REPLACE, .content = view_of(with)};
    enum status status = regex ? pattern_open_regex(view_of(what), &step.pattern, reader->err)
                               : pattern_open_string(view_of(what), &step.pattern, reader->err);
    return add_step(reader, step, status);
}

static enum status add_charsmap(struct spm_reader *reader) {
    struct normalizer_step step = {.kind = NORMALIZER_PRECOMPILED};
    if (reader->file.charsmap.bytes == 0)
        return STATUS_OK;
    enum status status = charsmap_open_bytes(reader->file.charsmap, &step.charsmap, reader->err);
    if (status != STATUS_OK)
        error_prefix(reader->err, "precompiled_charsmap");
    return add_step(reader, step, status);
}

/* Metaspace, and the decoder of the same name. */
static enum status add_metaspace(struct spm_reader *reader, enum metaspace_scheme scheme) {
    struct tokenizer *tokenizer = reader->tokenizer;
    struct decoder_step decoder = {.kind = DECODER_METASPACE,
                                   .pattern = view_of(MARK_UTF8),
                                   .flag = scheme != METASPACE_NEVER};
    tokenizer->decoder.present = true;
    enum status status = decoder_add(&tokenizer->decoder, &decoder);
    return status == STATUS_OK
               ? pretokenizer_add_metaspace(&tokenizer->pretokenizer, MARK, scheme, true)
               : status;
}

static enum status add_words_and_metaspace(struct spm_reader *reader) {
    const struct pretokenizer_step words = {.kind = PRETOKENIZER_WHITESPACE_SPLIT};
    enum status status = pretokenizer_add(&reader->tokenizer->pretokenizer, &words);
    return status == STATUS_OK
               ? add_metaspace(reader, reader->prefix_space ? METASPACE_ALWAYS : METASPACE_NEVER)
               : status;
}

static enum status add_albert_splitting(struct spm_reader *reader) {
    bool lowercase = true, accents = false;
    enum status status =
        tokenizer_settings_flag(&reader->settings, "do_lower_case", &lowercase, reader->err);
    if (status == STATUS_OK)
        status = tokenizer_settings_flag(&reader->settings, "keep_accents", &accents, reader->err);
    if (status == STATUS_OK)
        status = add_replace(reader, false, "``", "\"");
    if (status == STATUS_OK)
        status = add_replace(reader, false, "''", "\"");
    if (status == STATUS_OK && !accents)
        status = add_kind(reader, NORMALIZER_NFKD);
    if (status == STATUS_OK && !accents)
        status = add_kind(reader, NORMALIZER_STRIP_MARKS);
    if (status == STATUS_OK && lowercase)
        status = add_kind(reader, NORMALIZER_LOWERCASE);
    if (status == STATUS_OK)
        status = add_charsmap(reader);
    return status == STATUS_OK ? add_words_and_metaspace(reader) : status;
}

static enum status add_roberta_splitting(struct spm_reader *reader) {
    enum status status = add_charsmap(reader);
    return status == STATUS_OK ? add_words_and_metaspace(reader) : status;
}

static enum status add_deberta_splitting(struct spm_reader *reader) {
    bool lowercase = false, punctuation = false;
    enum status status =
        tokenizer_settings_flag(&reader->settings, "do_lower_case", &lowercase, reader->err);
    if (status == STATUS_OK)
        status =
            tokenizer_settings_flag(&reader->settings, "split_by_punct", &punctuation, reader->err);
    if (status == STATUS_OK && lowercase)
        status = add_kind(reader, NORMALIZER_LOWERCASE);
    if (status == STATUS_OK)
        status = add_replace(reader, true, "\\s{2,}|[\\n\\r\\t]", " ");
    if (status == STATUS_OK)
        status = add_kind(reader, NORMALIZER_NFC);
    if (status == STATUS_OK)
        status = add_step(reader, (struct normalizer_step){.kind = NORMALIZER_STRIP, .right = true},
                          STATUS_OK);
    const struct pretokenizer_step split = {
        .kind = PRETOKENIZER_FLAGS, .behavior = SPLIT_ISOLATED, .flags = UNICODE_PUNCTUATION};
    if (status == STATUS_OK && punctuation)
        status = pretokenizer_add(&reader->tokenizer->pretokenizer, &split);
    return status == STATUS_OK
               ? add_metaspace(reader, reader->prefix_space ? METASPACE_ALWAYS : METASPACE_FIRST)
               : status;
}

/* ---- added tokens, templates ---- */

/* Control pieces are special, pieces that the user defined are not; both are cut from the text. */
static enum status add_added_tokens(struct spm_reader *reader) {
    const struct sentencepiece_file *file = &reader->file;
    struct special_token *extra = calloc(file->pieces_count, sizeof *extra);
    size_t count = 0;
    if (extra == NULL)
        return error_set(reader->err, STATUS_NO_MEMORY, "no memory for the added tokens");
    for (uint32_t i = 0; i < file->pieces_count; i++) {
        int32_t type = file->pieces[i].type;
        if (type == SENTENCEPIECE_CONTROL || type == SENTENCEPIECE_USER_DEFINED)
            extra[count++] = (struct special_token){.content = file->pieces[i].text,
                                                    .says_normalized = true,
                                                    .token.special = type == SENTENCEPIECE_CONTROL};
    }
    enum status status = tokenizer_settings_add_tokens(&reader->settings, reader->tokenizer, extra,
                                                       count, reader->err);
    free(extra);
    return status;
}

static enum status add_templates(struct spm_reader *reader, bool roberta) {
    struct tokenizer *tokenizer = reader->tokenizer;
    const enum special_role roles[] = {roberta ? SPECIAL_BOS : SPECIAL_CLS,
                                       roberta ? SPECIAL_EOS : SPECIAL_SEP};
    int32_t ids[2];
    for (int i = 0; i < 2; i++) {
        struct view content = reader->settings.roles[roles[i]].content;
        ids[i] = tokenizer_find(tokenizer, content);
        if (ids[i] < 0)
            return error_set(reader->err, STATUS_BAD_FILE, "\"%.*s\" is no token",
                             view_shown(content), content.data);
    }
    tokenizer_begin_templates(tokenizer);
    enum status status = roberta ? tokenizer_add_roberta_templates(tokenizer, ids[0], ids[1])
                                 : tokenizer_add_bert_templates(tokenizer, ids[0], ids[1]);
    tokenizer_end_templates(tokenizer);
    return status;
}

/* ---- the classes ---- */

static const struct spm_class CLASSES[] = {
    {"AlbertTokenizer",
     "albert",
     {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"},
     add_albert_pieces,
     add_albert_splitting,
     false},
    {"XLMRobertaTokenizer",
     "xlm-roberta",
     {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
     add_xlm_roberta_pieces,
     add_roberta_splitting,
     true},
    {"CamembertTokenizer",
     "camembert",
     {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
     add_camembert_pieces,
     add_roberta_splitting,
     true},
    {"DebertaV2Tokenizer",
     "deberta-v2",
     {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
     add_deberta_pieces,
     add_deberta_splitting,
     false},
};

static const struct spm_class *find_class(const struct tokenizer_settings *settings) {
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (settings->class_name.bytes > 0
                ? view_equals_c(settings->class_name, CLASSES[i].name)
                : view_equals_c(settings->model_type, CLASSES[i].model_type))
            return &CLASSES[i];
    return NULL;
}

static enum status build(struct spm_reader *reader) {
    struct tokenizer_settings *settings = &reader->settings;
    const struct spm_class *class = find_class(settings);
    struct view said = settings->class_name.bytes > 0 ? settings->class_name : settings->model_type;
    if (class == NULL)
        return error_set(reader->err, STATUS_UNSUPPORTED,
                         "a sentencepiece model of a \"%.*s\" is not supported; a tokenizer.json "
                         "would be",
                         view_shown(said), said.data);
    if (reader->file.model_type != SENTENCEPIECE_UNIGRAM)
        return error_set(reader->err, STATUS_UNSUPPORTED,
                         "a sentencepiece model of type %d is not supported, supported: Unigram",
                         reader->file.model_type);
    bool splits_specials = false;
    enum status status =
        tokenizer_settings_flag(settings, "add_prefix_space", &reader->prefix_space, reader->err);
    if (status == STATUS_OK)
        status = tokenizer_settings_flag(settings, "split_special_tokens", &splits_specials,
                                         reader->err);
    if (status == STATUS_OK && splits_specials)
        status =
            error_set(reader->err, STATUS_UNSUPPORTED, "split_special_tokens is not supported");
    if (status == STATUS_OK)
        status = tokenizer_settings_read_roles(settings, class->usual, reader->err);
    unigram_init(&reader->tokenizer->model.unigram);
    reader->tokenizer->model.kind = TOKEN_MODEL_UNIGRAM;
    if (status == STATUS_OK)
        status = class->add_pieces(reader);
    if (status == STATUS_OK)
        status = class->add_splitting(reader);
    if (status == STATUS_OK)
        status = add_added_tokens(reader);
    return status == STATUS_OK ? add_templates(reader, class->roberta) : status;
}

enum status tokenizer_read_spm(struct tokenizer *tokenizer, const char *dir, const char *name,
                               struct error *err) {
    struct spm_reader reader = {.tokenizer = tokenizer, .prefix_space = true, .err = err};
    char path[PATH_MAX], *data = NULL;
    size_t bytes = 0;
    int length = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return error_set(err, STATUS_IO, "the path of the model directory is too long");
    enum status status = tokenizer_settings_open(dir, &reader.settings, err);
    if (status == STATUS_OK)
        status = file_read(path, LIMIT_TOKENIZER_FILE_BYTES, &data, &bytes, err);
    if (status == STATUS_OK) {
        status = sentencepiece_file_parse((struct view){data, bytes}, &reader.file, err);
        if (status == STATUS_OK)
            status = build(&reader);
        if (status == STATUS_NO_MEMORY)
            error_set(err, status, "no memory for the tokenizer");
        if (status != STATUS_OK)
            error_prefix(err, "%s", path);
    }
    tokenizer->file_options.add_special_tokens = true;
    sentencepiece_file_free(&reader.file);
    tokenizer_settings_close(&reader.settings);
    free(data);
    return status;
}
