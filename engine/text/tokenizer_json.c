/* tokenizer_json.c: tokenizer.json into the parts of a tokenizer. Every field is checked here, and
 * every type that is not built is refused by name; nothing is skipped.
 *
 * A new kind of normalizer, pre-tokenizer, model or post-processor is one more row of the table
 * that its section below has. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/text/json_field.h"
#include "engine/text/tokenizer_parts.h"

enum { SEQUENCE_DEPTH_MAX = 4, PLACE_BYTES = 96 };

/* One part of the file, read by the row of its type; `kind` is the row's. */
typedef enum status part_reader(struct tokenizer *tokenizer, struct json_place place, int kind);

struct part_type {
    const char *name;
    part_reader *read;
    int kind; /* of the step that the type stands for, where it is one step without fields */
};

static enum status read_part(struct tokenizer *tokenizer, struct json_place place,
                             const struct part_type *types, size_t count) {
    struct view type;
    enum status status = json_field_view(place, "type", &type);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        if (view_equals_c(type, types[i].name))
            return types[i].read(tokenizer, place, types[i].kind);
    char built[256] = "";
    for (size_t i = 0, bytes = 0; i < count && bytes < sizeof built; i++)
        bytes += (size_t)snprintf(built + bytes, sizeof built - bytes, "%s%s", i ? ", " : "",
                                  types[i].name);
    return error_set(place.err, STATUS_UNSUPPORTED,
                     "%s of type \"%.*s\" is not supported, supported: %s", place.name,
                     view_shown(type), type.data, built);
}

/* Reads each part of a Sequence in turn. */
static enum status read_sequence(struct tokenizer *tokenizer, struct json_place place,
                                 const char *field, const struct part_type *types, size_t count) {
    json_t *parts;
    enum status status = json_field_array(place, field, &parts);
    if (status == STATUS_OK && place.depth == SEQUENCE_DEPTH_MAX)
        status = json_field_fault(place, field, STATUS_UNSUPPORTED, "is nested too deeply");
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(parts); i++) {
        char name[PLACE_BYTES];
        snprintf(name, sizeof name, "%s.%s[%zu]", place.name, field, i);
        struct json_place part = {json_array_get(parts, i), name, place.err, place.depth + 1};
        status = json_is_object(part.object)
                     ? read_part(tokenizer, part, types, count)
                     : json_field_fault(part, "", STATUS_BAD_FILE, "is not an object");
    }
    return status;
}

/* ---- normalizer ---- */

static enum status step_status(struct json_place place, enum status status) {
    return status == STATUS_UNSUPPORTED ? json_field_fault(place, "", status, "has too many steps")
                                        : status;
}

static enum status read_bert_normalizer(struct tokenizer *tokenizer, struct json_place place,
                                        int kind) {
    (void)kind;
    bool clean, ideographs, lowercase;
    enum status status = json_field_bool(place, "clean_text", &clean);
    if (status == STATUS_OK)
        status = json_field_bool(place, "handle_chinese_chars", &ideographs);
    if (status == STATUS_OK)
        status = json_field_bool(place, "lowercase", &lowercase);
    if (status != STATUS_OK)
        return status;
    bool strip = lowercase; /* what null and an absent key mean */
    status = json_field_bool_optional(place, "strip_accents", &strip);
    if (status != STATUS_OK)
        return status;
    return step_status(
        place, normalizer_add_bert(&tokenizer->normalizer, clean, ideographs, strip, lowercase));
}

static enum status read_normalizer_step(struct tokenizer *tokenizer, struct json_place place,
                                        int kind) {
    return step_status(place, normalizer_add(&tokenizer->normalizer, (enum normalizer_kind)kind));
}

static enum status read_normalizers(struct tokenizer *tokenizer, struct json_place place, int kind);

static const struct part_type NORMALIZERS[] = {
    {"BertNormalizer", read_bert_normalizer, 0},
    {"NFD", read_normalizer_step, NORMALIZER_NFD},
    {"StripAccents", read_normalizer_step, NORMALIZER_STRIP_MARKS},
    {"Lowercase", read_normalizer_step, NORMALIZER_LOWERCASE},
    {"Sequence", read_normalizers, 0},
};
enum { NORMALIZERS_COUNT = sizeof NORMALIZERS / sizeof *NORMALIZERS };

static enum status read_normalizers(struct tokenizer *tokenizer, struct json_place place,
                                    int kind) {
    (void)kind;
    return read_sequence(tokenizer, place, "normalizers", NORMALIZERS, NORMALIZERS_COUNT);
}

/* ---- pre-tokenizer ---- */

static enum status read_pretokenizer_step(struct tokenizer *tokenizer, struct json_place place,
                                          int kind) {
    return step_status(place,
                       pretokenizer_add(&tokenizer->pretokenizer, (enum pretokenizer_kind)kind));
}

static enum status read_pretokenizers(struct tokenizer *tokenizer, struct json_place place,
                                      int kind);

static const struct part_type PRETOKENIZERS[] = {
    {"BertPreTokenizer", read_pretokenizer_step, PRETOKENIZER_BERT},
    {"Whitespace", read_pretokenizer_step, PRETOKENIZER_WHITESPACE},
    {"WhitespaceSplit", read_pretokenizer_step, PRETOKENIZER_WHITESPACE_SPLIT},
    {"Sequence", read_pretokenizers, 0},
};
enum { PRETOKENIZERS_COUNT = sizeof PRETOKENIZERS / sizeof *PRETOKENIZERS };

static enum status read_pretokenizers(struct tokenizer *tokenizer, struct json_place place,
                                      int kind) {
    (void)kind;
    return read_sequence(tokenizer, place, "pretokenizers", PRETOKENIZERS, PRETOKENIZERS_COUNT);
}

/* ---- model ---- */

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

static enum status read_model(struct tokenizer *tokenizer, struct json_place document) {
    struct json_place place = {NULL, "model", document.err, 0};
    enum status status = json_field_object(document, "model", &place.object);
    if (status != STATUS_OK)
        return status;
    /* Old files do not say the type; only a WordPiece has this field and no merges. */
    if (json_object_get(place.object, "type") == NULL &&
        json_object_get(place.object, "max_input_chars_per_word") != NULL &&
        json_object_get(place.object, "merges") == NULL)
        return read_wordpiece(tokenizer, place, 0);
    return read_part(tokenizer, place, MODELS, sizeof MODELS / sizeof *MODELS);
}

/* ---- added tokens ---- */

static enum status read_added_token(struct tokenizer *tokenizer, struct json_place place) {
    struct added_token token = {0};
    struct view content;
    uint64_t id;
    enum status status = json_field_count(place, "id", LIMIT_VOCABULARY - 1, &id);
    if (status == STATUS_OK)
        status = json_field_view(place, "content", &content);
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"single_word", &token.single_word},
                 {"lstrip", &token.lstrip},
                 {"rstrip", &token.rstrip},
                 {"normalized", &token.normalized},
                 {"special", &token.special}};
    for (size_t i = 0; status == STATUS_OK && i < sizeof flags / sizeof *flags; i++)
        status = json_field_bool(place, flags[i].name, flags[i].flag);
    if (status != STATUS_OK)
        return status;
    status = tokenizer_add_token(tokenizer, token, (int64_t)id, content, place.err);
    if (status != STATUS_OK)
        error_prefix(place.err, "%s \"%.*s\"", place.name, view_shown(content), content.data);
    return status;
}

static enum status read_added_tokens(struct tokenizer *tokenizer, struct json_place document) {
    json_t *list = json_object_get(document.object, "added_tokens");
    if (list == NULL)
        return STATUS_OK;
    enum status status = json_field_array(document, "added_tokens", &list);
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(list); i++) {
        char name[PLACE_BYTES];
        snprintf(name, sizeof name, "added_tokens[%zu]", i);
        struct json_place place = {json_array_get(list, i), name, document.err, 0};
        status = json_is_object(place.object)
                     ? read_added_token(tokenizer, place)
                     : json_field_fault(place, "", STATUS_BAD_FILE, "is not an object");
    }
    return status;
}

/* ---- post-processor ---- */

/* ["[SEP]", 3] */
static enum status read_named_id(struct json_place place, const char *field, int32_t *id) {
    json_t *pair;
    enum status status = json_field_array(place, field, &pair);
    if (status != STATUS_OK)
        return status;
    const json_t *number = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_integer(number) || json_integer_value(number) < 0 ||
        json_integer_value(number) >= LIMIT_VOCABULARY)
        return json_field_fault(place, field, STATUS_BAD_FILE, "is not a token with its id");
    *id = (int32_t)json_integer_value(number);
    return STATUS_OK;
}

static enum status read_bert_processing(struct tokenizer *tokenizer, struct json_place place,
                                        int kind) {
    (void)kind;
    int32_t cls, sep;
    enum status status = read_named_id(place, "cls", &cls);
    if (status == STATUS_OK)
        status = read_named_id(place, "sep", &sep);
    return status == STATUS_OK ? tokenizer_add_bert_templates(tokenizer, cls, sep) : status;
}

/* Appends the ids that special_tokens gives to a name of a template. */
static enum status add_special(struct token_template *template, struct json_place processor,
                               struct view name, uint8_t type_id) {
    json_t *specials, *ids;
    enum status status = json_field_object(processor, "special_tokens", &specials);
    if (status != STATUS_OK)
        return status;
    struct json_place place = {json_object_getn(specials, name.data, name.bytes),
                               "post_processor.special_tokens", processor.err, 0};
    if (!json_is_object(place.object))
        return error_set(place.err, STATUS_BAD_FILE, "%s has no \"%.*s\"", place.name,
                         view_shown(name), name.data);
    status = json_field_array(place, "ids", &ids);
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) >= LIMIT_VOCABULARY)
            return json_field_fault(place, "ids", STATUS_BAD_FILE, "has an entry that is no id");
        status = template_add_special(template, (int32_t)json_integer_value(id), type_id);
        if (status != STATUS_OK)
            return json_field_fault(processor, "", status, "has too many special tokens");
    }
    return status;
}

/* {"SpecialToken": {"id", "type_id"}} or {"Sequence": {"id": "A", "type_id"}} */
static enum status read_template_piece(struct token_template *template, struct json_place processor,
                                       struct json_place piece) {
    json_t *special = json_object_get(piece.object, "SpecialToken");
    json_t *sequence = json_object_get(piece.object, "Sequence");
    struct json_place place = {special != NULL ? special : sequence, piece.name, piece.err, 0};
    struct view id;
    uint64_t type_id;
    if (!json_is_object(place.object) || json_object_size(piece.object) != 1)
        return json_field_fault(piece, "", STATUS_BAD_FILE,
                                "has an entry that is neither SpecialToken nor Sequence");
    enum status status = json_field_view(place, "id", &id);
    if (status == STATUS_OK)
        status = json_field_count(place, "type_id", UINT8_MAX, &type_id);
    if (status != STATUS_OK)
        return status;
    if (special != NULL)
        return add_special(template, processor, id, (uint8_t)type_id);
    if (!view_equals_c(id, "A") && !view_equals_c(id, "B"))
        return json_field_fault(place, "id", STATUS_BAD_FILE, "is neither A nor B");
    status = template_add_segment(template, view_equals_c(id, "B"), (uint8_t)type_id);
    return status == STATUS_OK ? status
                               : json_field_fault(piece, "", status, "has too many entries");
}

static enum status read_template(struct token_template *template, struct json_place processor,
                                 const char *field, uint32_t segments_of_b) {
    json_t *pieces;
    enum status status = json_field_array(processor, field, &pieces);
    char name[PLACE_BYTES];
    snprintf(name, sizeof name, "%s.%s", processor.name, field);
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(pieces); i++) {
        struct json_place piece = {json_array_get(pieces, i), name, processor.err, 0};
        status = read_template_piece(template, processor, piece);
    }
    if (status == STATUS_OK && (template_segment_count(template, 0) != 1 ||
                                template_segment_count(template, 1) != segments_of_b))
        return json_field_fault(processor, field, STATUS_UNSUPPORTED,
                                "does not have each sequence once");
    return status;
}

static enum status read_templates(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    enum status status = read_template(&tokenizer->templates[0], place, "single", 0);
    return status == STATUS_OK ? read_template(&tokenizer->templates[1], place, "pair", 1) : status;
}

static const struct part_type POST_PROCESSORS[] = {
    {"BertProcessing", read_bert_processing, 0},
    {"TemplateProcessing", read_templates, 0},
};

/* Without a post-processor the tokens stand alone, with the types 0 and 1. */
static enum status add_bare_templates(struct tokenizer *tokenizer) {
    enum status status = template_add_segment(&tokenizer->templates[0], 0, 0);
    if (status == STATUS_OK)
        status = template_add_segment(&tokenizer->templates[1], 0, 0);
    return status == STATUS_OK ? template_add_segment(&tokenizer->templates[1], 1, 1) : status;
}

/* ---- truncation, decoder ---- */

static enum status read_choice(struct json_place place, const char *field, const char *const *names,
                               size_t count, size_t *out) {
    struct view value;
    enum status status = json_field_view(place, field, &value);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        if (view_equals_c(value, names[i])) {
            *out = i;
            return STATUS_OK;
        }
    return json_field_fault(place, field, STATUS_UNSUPPORTED, "is not a known value");
}

static enum status read_truncation(struct tokenizer *tokenizer, struct json_place document) {
    static const char *const SIDES[] = {"Right", "Left"};
    static const char *const STRATEGIES[] = {"LongestFirst", "OnlyFirst", "OnlySecond"};
    struct json_place place = {NULL, "truncation", document.err, 0};
    enum status status = json_field_part(document, "truncation", &place.object);
    if (status != STATUS_OK || place.object == NULL)
        return status;
    struct tokenizer_options *options = &tokenizer->file_options;
    uint32_t specials = tokenizer->templates[0].special_count;
    uint64_t length, stride;
    size_t side = TOKENIZER_RIGHT, strategy;
    if (json_object_get(place.object, "direction") != NULL)
        status = read_choice(place, "direction", SIDES, 2, &side);
    if (status == STATUS_OK)
        status = read_choice(place, "strategy", STRATEGIES, 3, &strategy);
    if (status == STATUS_OK)
        status = json_field_count(place, "max_length", INT64_MAX, &length);
    if (status == STATUS_OK)
        status = json_field_count(place, "stride", INT64_MAX, &stride);
    if (status != STATUS_OK)
        return status;
    if (length == 0 || length < specials)
        return json_field_fault(place, "max_length", STATUS_BAD_FILE,
                                "leaves no room for the special tokens");
    if (stride > 0 && stride >= length - specials)
        return json_field_fault(place, "stride", STATUS_BAD_FILE, "is not below the length");
    options->tokens_max = length < UINT32_MAX ? (uint32_t)length : 0;
    options->side = (enum tokenizer_side)side;
    options->strategy = (enum tokenizer_strategy)strategy;
    return STATUS_OK;
}

/* Decoders turn ids into text, which nothing here asks for; only BERT's is known. */
static enum status read_wordpiece_decoder(struct tokenizer *tokenizer, struct json_place place,
                                          int kind) {
    (void)tokenizer, (void)place, (void)kind;
    return STATUS_OK;
}

static const struct part_type DECODERS[] = {{"WordPiece", read_wordpiece_decoder, 0}};

/* ---- the file ---- */

/* Reads a part that may be absent or null; *found says whether it is there. */
static enum status read_optional(struct tokenizer *tokenizer, struct json_place document,
                                 const char *field, const struct part_type *types, size_t count,
                                 bool *found) {
    struct json_place place = {NULL, field, document.err, 0};
    enum status status = json_field_part(document, field, &place.object);
    *found = place.object != NULL;
    if (status != STATUS_OK || place.object == NULL)
        return status;
    return read_part(tokenizer, place, types, count);
}

static enum status check_top(struct json_place document) {
    static const char *const FIELDS[] = {"version",        "truncation", "padding",
                                         "added_tokens",   "normalizer", "pre_tokenizer",
                                         "post_processor", "decoder",    "model"};
    const char *name;
    json_t *value;
    json_object_foreach(document.object, name, value) {
        size_t i = 0;
        while (i < sizeof FIELDS / sizeof *FIELDS && strcmp(name, FIELDS[i]) != 0)
            i++;
        if (i == sizeof FIELDS / sizeof *FIELDS)
            return error_set(document.err, STATUS_UNSUPPORTED, "field \"%.64s\" is not known",
                             name);
    }
    struct view version = view_of("1.0");
    if (json_object_get(document.object, "version") != NULL &&
        json_field_view(document, "version", &version) != STATUS_OK)
        return STATUS_BAD_FILE;
    if (!view_equals_c(version, "1.0"))
        return error_set(document.err, STATUS_UNSUPPORTED, "version \"%.*s\" is not \"1.0\"",
                         view_shown(version), version.data);
    return STATUS_OK;
}

static enum status read_document(struct tokenizer *tokenizer, struct json_place document) {
    bool found;
    json_t *padding; /* never obeyed: rows have no padding here */
    enum status status = check_top(document);
    if (status == STATUS_OK)
        status = json_field_part(document, "padding", &padding);
    if (status == STATUS_OK)
        status = read_optional(tokenizer, document, "normalizer", NORMALIZERS, NORMALIZERS_COUNT,
                               &found);
    if (status == STATUS_OK)
        status = read_optional(tokenizer, document, "pre_tokenizer", PRETOKENIZERS,
                               PRETOKENIZERS_COUNT, &found);
    if (status == STATUS_OK)
        status = read_model(tokenizer, document);
    if (status == STATUS_OK)
        status = read_added_tokens(tokenizer, document);
    if (status == STATUS_OK)
        status = read_optional(tokenizer, document, "decoder", DECODERS, 1, &found);
    if (status == STATUS_OK)
        status = read_optional(tokenizer, document, "post_processor", POST_PROCESSORS,
                               sizeof POST_PROCESSORS / sizeof *POST_PROCESSORS, &found);
    if (status == STATUS_OK && !found)
        status = add_bare_templates(tokenizer);
    return status == STATUS_OK ? read_truncation(tokenizer, document) : status;
}

enum status tokenizer_read_json(struct tokenizer *tokenizer, struct view json, struct error *err) {
    json_t *document;
    enum status status = json_document_parse(json, false, &document, err);
    if (status != STATUS_OK)
        return status;
    tokenizer->file_options.add_special_tokens = true;
    status = read_document(tokenizer, (struct json_place){document, "", err, 0});
    json_decref(document);
    return status;
}
