/* tokenizer_json_post.c: what stands around the model in tokenizer.json: added tokens,
 * post-processor, truncation. */
#include <jansson.h>
#include <stdio.h>

#include "engine/base/limits.h"
#include "engine/text/tokenizer_json.h"

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

enum status tokenizer_json_read_added_tokens(struct tokenizer *tokenizer,
                                             struct json_place document) {
    json_t *list = json_object_get(document.object, "added_tokens");
    if (list == NULL)
        return STATUS_OK;
    enum status status = json_field_array(document, "added_tokens", &list);
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(list); i++) {
        char name[TOKENIZER_JSON_PLACE_BYTES];
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

static enum status processor_status(struct json_place place, enum status status) {
    return status == STATUS_UNSUPPORTED
               ? json_field_fault(place, "", status,
                                  "has too many entries, or follows a processor "
                                  "that leaves no text or pair")
               : status;
}

static enum status read_trim(struct tokenizer *tokenizer, struct json_place place) {
    bool trim, prefix_space;
    enum status status = json_field_bool(place, "trim_offsets", &trim);
    if (status == STATUS_OK)
        status = json_field_bool(place, "add_prefix_space", &prefix_space);
    if (status == STATUS_OK && trim)
        status = processor_status(place, tokenizer_add_offset_trim(tokenizer, prefix_space));
    return status;
}

static enum status read_wrapping(struct tokenizer *tokenizer, struct json_place place,
                                 int roberta) {
    int32_t cls, sep;
    enum status status = read_named_id(place, "cls", &cls);
    if (status == STATUS_OK)
        status = read_named_id(place, "sep", &sep);
    if (status == STATUS_OK && roberta)
        status = read_trim(tokenizer, place);
    if (status != STATUS_OK)
        return status;
    return processor_status(place, roberta ? tokenizer_add_roberta_templates(tokenizer, cls, sep)
                                           : tokenizer_add_bert_templates(tokenizer, cls, sep));
}

static enum status read_byte_level(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    return read_trim(tokenizer, place);
}

/* Appends the ids that special_tokens gives to a name of a template. */
static enum status add_special(struct template_form *form, struct json_place processor,
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
        status = template_form_special(form, (int32_t)json_integer_value(id), type_id, i > 0);
        if (status != STATUS_OK)
            return json_field_fault(processor, "", status, "has too many special tokens");
    }
    return status;
}

/* {"SpecialToken": {"id", "type_id"}} or {"Sequence": {"id": "A", "type_id"}} */
static enum status read_template_piece(struct template_form *form, struct json_place processor,
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
        return add_special(form, processor, id, (uint8_t)type_id);
    if (!view_equals_c(id, "A") && !view_equals_c(id, "B"))
        return json_field_fault(place, "id", STATUS_BAD_FILE, "is neither A nor B");
    status = template_form_segment(form, view_equals_c(id, "B"), (uint8_t)type_id);
    return status == STATUS_OK ? status
                               : json_field_fault(piece, "", status, "has too many entries");
}

static enum status read_form(struct template_form *form, struct json_place processor,
                             const char *field) {
    json_t *pieces;
    enum status status = json_field_array(processor, field, &pieces);
    char name[TOKENIZER_JSON_PLACE_BYTES];
    snprintf(name, sizeof name, "%s.%s", processor.name, field);
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(pieces); i++) {
        struct json_place piece = {json_array_get(pieces, i), name, processor.err, 0};
        status = read_template_piece(form, processor, piece);
    }
    return status;
}

/* A form may repeat a sequence or leave it out, as in the library; B has no meaning without one. */
static enum status read_template(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    struct template_form single = {.pieces_count = 0}, pair = {.pieces_count = 0};
    enum status status = read_form(&single, place, "single");
    for (uint32_t i = 0; status == STATUS_OK && i < single.pieces_count; i++)
        if (single.pieces[i].id < 0 && single.pieces[i].segment == 1)
            return json_field_fault(place, "single", STATUS_UNSUPPORTED, "has the sequence B");
    if (status == STATUS_OK)
        status = read_form(&pair, place, "pair");
    return status == STATUS_OK
               ? processor_status(place, tokenizer_add_form_templates(tokenizer, &single, &pair))
               : status;
}

static enum status read_processors(struct tokenizer *tokenizer, struct json_place place, int kind);

static const struct part_type POST_PROCESSORS[] = {
    {"BertProcessing", read_wrapping, 0},     {"RobertaProcessing", read_wrapping, 1},
    {"TemplateProcessing", read_template, 0}, {"ByteLevel", read_byte_level, 0},
    {"Sequence", read_processors, 0},
};
enum { POST_PROCESSORS_COUNT = sizeof POST_PROCESSORS / sizeof *POST_PROCESSORS };

static enum status read_processors(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    return tokenizer_json_read_sequence(tokenizer, place, "processors", POST_PROCESSORS,
                                        POST_PROCESSORS_COUNT);
}

/* Without a post-processor the tokens stand alone, with the types 0 and 1. */
enum status tokenizer_json_read_post_processor(struct tokenizer *tokenizer,
                                               struct json_place document) {
    bool found;
    tokenizer_begin_templates(tokenizer);
    enum status status = tokenizer_json_read_optional(
        tokenizer, document, "post_processor", POST_PROCESSORS, POST_PROCESSORS_COUNT, &found);
    tokenizer_end_templates(tokenizer);
    return status;
}

/* ---- truncation ---- */

enum status tokenizer_json_read_truncation(struct tokenizer *tokenizer,
                                           struct json_place document) {
    static const char *const SIDES[] = {"Right", "Left"};
    static const char *const STRATEGIES[] = {"LongestFirst", "OnlyFirst", "OnlySecond"};
    struct json_place place = {NULL, "truncation", document.err, 0};
    enum status status = json_field_part(document, "truncation", &place.object);
    if (status != STATUS_OK || place.object == NULL)
        return status;
    struct tokenizer_options *options = &tokenizer->file_options;
    uint32_t specials = tokenizer->templates[0][1].reserved;
    uint64_t length, stride;
    size_t side = TOKENIZER_RIGHT, strategy;
    if (json_object_get(place.object, "direction") != NULL)
        status = json_field_choice(place, "direction", SIDES, 2, &side);
    if (status == STATUS_OK)
        status = json_field_choice(place, "strategy", STRATEGIES, 3, &strategy);
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
    options->stride = (uint32_t)(options->tokens_max > 0 ? stride : 0);
    return STATUS_OK;
}
