/* tokenizer_json_model.c: the model of tokenizer.json, with its vocabulary. */
#include <jansson.h>

#include "engine/text/tokenizer_json.h"

static enum status read_vocabulary(struct tokenizer *tokenizer, struct json_place place) {
    json_t *vocab;
    enum status status = json_field_object(place, "vocab", &vocab);
    if (status != STATUS_OK)
        return status;
    for (void *at = json_object_iter(vocab); at != NULL; at = json_object_iter_next(vocab, at)) {
        struct view token = {json_object_iter_key(at), json_object_iter_key_len(at)};
        const json_t *id = json_object_iter_value(at);
        if (!json_is_integer(id))
            return error_set(place.err, STATUS_BAD_FILE, "model.vocab: \"%.*s\" has no integer id",
                             view_shown(token), token.data);
        status = vocabulary_add(&tokenizer->vocabulary, token, json_integer_value(id), place.err);
        if (status != STATUS_OK) {
            error_prefix(place.err, "model.vocab");
            return status;
        }
    }
    return STATUS_OK;
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
    tokenizer->model_kind = MODEL_WORDPIECE;
    status = wordpiece_init(&tokenizer->wordpiece, &tokenizer->vocabulary.trie, prefix, unknown,
                            word_chars_max, place.err);
    if (status != STATUS_OK)
        error_prefix(place.err, "%s", place.name);
    return status;
}

static const struct part_type MODELS[] = {{"WordPiece", read_wordpiece, 0}};

enum status tokenizer_json_read_model(struct tokenizer *tokenizer, struct json_place document) {
    struct json_place place = {NULL, "model", document.err, 0};
    enum status status = json_field_object(document, "model", &place.object);
    if (status != STATUS_OK)
        return status;
    /* Old files do not say the type; only a WordPiece has this field and no merges. */
    if (json_object_get(place.object, "type") == NULL &&
        json_object_get(place.object, "max_input_chars_per_word") != NULL &&
        json_object_get(place.object, "merges") == NULL)
        return read_wordpiece(tokenizer, place, 0);
    return tokenizer_json_read_part(tokenizer, place, MODELS, sizeof MODELS / sizeof *MODELS);
}
