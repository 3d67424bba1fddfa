/* tokenizer_json_model.c: the model of tokenizer.json, with its vocabulary. */
#include <jansson.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/text/tokenizer_json.h"
#include "engine/text/unigram_json.h"

enum status tokenizer_json_read_ids(struct tokenizer *tokenizer, struct json_place vocab) {
    json_t *object = vocab.object;
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        struct view token = {json_object_iter_key(at), json_object_iter_key_len(at)};
        const json_t *id = json_object_iter_value(at);
        if (!json_is_integer(id))
            return error_set(vocab.err, STATUS_BAD_FILE, "\"%.*s\" has no integer id",
                             view_shown(token), token.data);
        enum status status =
            vocabulary_add(&tokenizer->vocabulary, token, json_integer_value(id), vocab.err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_vocabulary(struct tokenizer *tokenizer, struct json_place place) {
    struct json_place vocab = {NULL, "model.vocab", place.err, 0};
    enum status status = json_field_object(place, "vocab", &vocab.object);
    if (status != STATUS_OK)
        return status;
    status = tokenizer_json_read_ids(tokenizer, vocab);
    return status == STATUS_OK ? status : error_prefix(place.err, "%s", vocab.name);
}

static enum status read_wordpiece(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    struct view unknown, prefix;
    uint64_t word_chars_max;
    enum status status = json_field_view(place, "unk_token", &unknown);
    if (status == STATUS_OK)
        status = json_field_view(place, "continuing_subword_prefix", &prefix);
    if (status == STATUS_OK)
        status = json_field_count(place, "max_input_chars_per_word", UINT64_MAX, &word_chars_max);
    if (status == STATUS_OK)
        status = read_vocabulary(tokenizer, place);
    if (status != STATUS_OK)
        return status;
    tokenizer->model.kind = TOKEN_MODEL_WORDPIECE;
    status = wordpiece_init(&tokenizer->model.wordpiece, &tokenizer->vocabulary.trie, prefix,
                            unknown, word_chars_max, place.err);
    if (status != STATUS_OK)
        error_prefix(place.err, "%s", place.name);
    return status;
}

/* ---- BPE ---- */

/* A probability of leaving merges out would make the answer a matter of chance. */
static enum status check_dropout(struct json_place place) {
    const json_t *dropout = json_object_get(place.object, "dropout");
    if (dropout == NULL || json_is_null(dropout))
        return STATUS_OK;
    if (!json_is_number(dropout))
        return json_field_fault(place, "dropout", STATUS_BAD_FILE, "is not a number");
    if (json_number_value(dropout) != 0)
        return json_field_fault(place, "dropout", STATUS_UNSUPPORTED,
                                "is not 0: random merges are not supported");
    return STATUS_OK;
}

static enum status read_merge(struct bpe *bpe, struct json_place place, const json_t *merge,
                              bool pairs) {
    if (!pairs && json_is_string(merge)) {
        struct view line = json_view(merge);
        bool version = line.bytes >= 8 && memcmp(line.data, "#version", 8) == 0;
        return version ? STATUS_OK : bpe_add_merge_line(bpe, line, place.err);
    }
    const json_t *left = json_array_get(merge, 0), *right = json_array_get(merge, 1);
    if (!pairs || json_array_size(merge) != 2 || !json_is_string(left) || !json_is_string(right))
        return json_field_fault(place, "merges", STATUS_BAD_FILE,
                                "has an entry that is not of the form of the others");
    return bpe_add_merge(bpe, json_view(left), json_view(right), place.err);
}

static enum status read_merges(struct tokenizer *tokenizer, struct json_place place,
                               const struct bpe_settings *settings) {
    json_t *merges;
    enum status status = json_field_array(place, "merges", &merges);
    if (status != STATUS_OK)
        return status;
    struct bpe *bpe = &tokenizer->model.bpe;
    status =
        bpe_init(bpe, &tokenizer->vocabulary.trie, settings, json_array_size(merges), place.err);
    if (status == STATUS_OK)
        tokenizer->model.kind = TOKEN_MODEL_BPE;
    bool pairs = json_is_array(json_array_get(merges, 0));
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(merges); i++)
        status = read_merge(bpe, place, json_array_get(merges, i), pairs);
    if (status != STATUS_OK)
        error_prefix(place.err, "%s", place.name);
    return status;
}

static enum status read_bpe(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    struct bpe_settings settings = {.unknown = {NULL, 0}};
    enum status status = check_dropout(place);
    const struct {
        const char *name;
        struct view *text;
    } texts[] = {{"unk_token", &settings.unknown},
                 {"continuing_subword_prefix", &settings.prefix},
                 {"end_of_word_suffix", &settings.suffix}};
    for (size_t i = 0; status == STATUS_OK && i < sizeof texts / sizeof *texts; i++) {
        const json_t *value = json_object_get(place.object, texts[i].name);
        if (value != NULL && !json_is_null(value))
            status = json_field_view(place, texts[i].name, texts[i].text);
    }
    if (status == STATUS_OK)
        status = json_field_bool_optional(place, "fuse_unk", &settings.fuse_unknown);
    if (status == STATUS_OK)
        status = json_field_bool_optional(place, "byte_fallback", &settings.byte_fallback);
    if (status == STATUS_OK)
        status = json_field_bool_optional(place, "ignore_merges", &settings.ignore_merges);
    if (status == STATUS_OK)
        status = read_vocabulary(tokenizer, place);
    return status == STATUS_OK ? read_merges(tokenizer, place, &settings) : status;
}

/* ---- Unigram ---- */

enum status tokenizer_json_take_pieces(struct tokenizer *tokenizer, struct view json, char **rest,
                                       size_t *rest_bytes, struct error *err) {
    unigram_init(&tokenizer->model.unigram);
    tokenizer->model.kind = TOKEN_MODEL_UNIGRAM;
    enum status status = unigram_json_take(json, &tokenizer->vocabulary, &tokenizer->model.unigram,
                                           rest, rest_bytes, err);
    if (*rest == NULL)
        token_model_free(&tokenizer->model);
    return status;
}

static enum status read_unigram(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    uint64_t unknown_id = 0;
    bool byte_fallback = false;
    const json_t *unknown = json_object_get(place.object, "unk_id");
    bool has_unknown = unknown != NULL && !json_is_null(unknown);
    enum status status = STATUS_OK;
    if (has_unknown)
        status = json_field_count(place, "unk_id", LIMIT_VOCABULARY, &unknown_id);
    if (status == STATUS_OK && json_object_get(place.object, "byte_fallback") != NULL)
        status = json_field_bool(place, "byte_fallback", &byte_fallback);
    if (status != STATUS_OK)
        return status;
    /* The pieces of an array were taken before the document was parsed. */
    json_t *vocab;
    status = json_field_array(place, "vocab", &vocab);
    if (status != STATUS_OK)
        return status;
    if (tokenizer->model.kind != TOKEN_MODEL_UNIGRAM || json_array_size(vocab) > 0)
        return json_field_fault(place, "vocab", STATUS_INTERNAL, "was not found before");
    status = unigram_finish(&tokenizer->model.unigram, &tokenizer->vocabulary.trie,
                            has_unknown ? (int64_t)unknown_id : -1, byte_fallback, place.err);
    if (status != STATUS_OK)
        error_prefix(place.err, "%s", place.name);
    return status;
}

/* ---- WordLevel ---- */

static enum status read_word_level(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    struct view unknown;
    enum status status = json_field_view(place, "unk_token", &unknown);
    if (status == STATUS_OK)
        status = read_vocabulary(tokenizer, place);
    if (status != STATUS_OK)
        return status;
    tokenizer->model.kind = TOKEN_MODEL_WORD_LEVEL;
    tokenizer->model.word_level = (struct word_level){
        &tokenizer->vocabulary.trie, vocabulary_find(&tokenizer->vocabulary, unknown)};
    return STATUS_OK;
}

/* ---- the model ---- */

static const struct part_type MODELS[] = {{"WordPiece", read_wordpiece, 0},
                                          {"BPE", read_bpe, 0},
                                          {"Unigram", read_unigram, 0},
                                          {"WordLevel", read_word_level, 0}};

/* Old files do not say the type; then the fields tell. */
static part_reader *reader_by_fields(const json_t *model) {
    const json_t *vocab = json_object_get(model, "vocab");
    if (json_is_array(vocab))
        return read_unigram;
    if (json_object_get(model, "merges") != NULL)
        return read_bpe;
    if (json_object_get(model, "max_input_chars_per_word") != NULL)
        return read_wordpiece;
    return json_object_get(model, "unk_token") != NULL ? read_word_level : NULL;
}

enum status tokenizer_json_read_model(struct tokenizer *tokenizer, struct json_place document) {
    struct json_place place = {NULL, "model", document.err, 0};
    enum status status = json_field_object(document, "model", &place.object);
    if (status != STATUS_OK)
        return status;
    part_reader *read =
        json_object_get(place.object, "type") == NULL ? reader_by_fields(place.object) : NULL;
    return read != NULL
               ? read(tokenizer, place, 0)
               : tokenizer_json_read_part(tokenizer, place, MODELS, sizeof MODELS / sizeof *MODELS);
}
