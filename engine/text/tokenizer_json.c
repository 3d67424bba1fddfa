/* tokenizer_json.c: tokenizer.json into the parts of a tokenizer: the document, its top-level
 * fields, and the readers by type that the parts share. Every field is checked, and every type
 * that is not built is refused by name; nothing is skipped. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/tokenizer_json.h"

enum { SEQUENCE_DEPTH_MAX = 4 };

enum status tokenizer_json_read_part(struct tokenizer *tokenizer, struct json_place place,
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

enum status tokenizer_json_read_sequence(struct tokenizer *tokenizer, struct json_place place,
                                         const char *field, const struct part_type *types,
                                         size_t count) {
    json_t *parts;
    enum status status = json_field_array(place, field, &parts);
    if (status == STATUS_OK && place.depth == SEQUENCE_DEPTH_MAX)
        status = json_field_fault(place, field, STATUS_UNSUPPORTED, "is nested too deeply");
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(parts); i++) {
        char name[TOKENIZER_JSON_PLACE_BYTES];
        snprintf(name, sizeof name, "%s.%s[%zu]", place.name, field, i);
        struct json_place part = {json_array_get(parts, i), name, place.err, place.depth + 1};
        status = json_is_object(part.object)
                     ? tokenizer_json_read_part(tokenizer, part, types, count)
                     : json_field_fault(part, "", STATUS_BAD_FILE, "is not an object");
    }
    return status;
}

enum status tokenizer_json_read_optional(struct tokenizer *tokenizer, struct json_place document,
                                         const char *field, const struct part_type *types,
                                         size_t count, bool *found) {
    struct json_place place = {NULL, field, document.err, 0};
    enum status status = json_field_part(document, field, &place.object);
    *found = place.object != NULL;
    if (status != STATUS_OK || place.object == NULL)
        return status;
    return tokenizer_json_read_part(tokenizer, place, types, count);
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
    json_t *padding; /* never obeyed: rows have no padding here */
    enum status status = check_top(document);
    if (status == STATUS_OK)
        status = json_field_part(document, "padding", &padding);
    if (status == STATUS_OK)
        status = tokenizer_json_read_normalizer(tokenizer, document);
    if (status == STATUS_OK)
        status = tokenizer_json_read_pretokenizer(tokenizer, document);
    if (status == STATUS_OK)
        status = tokenizer_json_read_model(tokenizer, document);
    if (status == STATUS_OK)
        status = tokenizer_json_read_added_tokens(tokenizer, document);
    if (status == STATUS_OK)
        status = tokenizer_json_read_decoder(tokenizer, document);
    if (status == STATUS_OK)
        status = tokenizer_json_read_post_processor(tokenizer, document);
    if (status == STATUS_OK)
        status = tokenizer_json_read_truncation(tokenizer, document);
    return status;
}

enum status tokenizer_read_json(struct tokenizer *tokenizer, struct view json, struct error *err) {
    json_t *document = NULL;
    char *rest;
    size_t rest_bytes;
    enum status status = tokenizer_json_take_pieces(tokenizer, json, &rest, &rest_bytes, err);
    if (status == STATUS_OK)
        status = json_document_parse(rest != NULL ? (struct view){rest, rest_bytes} : json, false,
                                     &document, err);
    tokenizer->file_options.add_special_tokens = true;
    if (status == STATUS_OK)
        status = read_document(tokenizer, (struct json_place){document, "", err, 0});
    json_decref(document);
    free(rest);
    return status;
}
