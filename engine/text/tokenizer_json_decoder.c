/* tokenizer_json_decoder.c: the decoder of tokenizer.json. Fields that a decoder shares with
 * another kind of part, and does not use itself, are checked all the same, as the pinned library
 * does. */
#include <jansson.h>

#include "engine/text/tokenizer_json.h"
#include "engine/text/utf8.h"

static enum status add(struct tokenizer *tokenizer, struct json_place place,
                       struct decoder_step step) {
    enum status status = decoder_add(&tokenizer->decoder, &step);
    return status == STATUS_OK
               ? status
               : json_field_fault(place, "", status,
                                  status == STATUS_UNSUPPORTED ? "has too many steps"
                                                               : "needs more memory");
}

/* A string of exactly one code point. */
static enum status read_character(struct json_place place, const char *field, struct view *out) {
    enum status status = json_field_view(place, field, out);
    if (status == STATUS_OK &&
        (out->bytes == 0 || utf8_length((unsigned char)out->data[0]) != out->bytes))
        return json_field_fault(place, field, STATUS_BAD_FILE, "is not one character");
    return status;
}

static enum status read_simple(struct tokenizer *tokenizer, struct json_place place, int kind) {
    return add(tokenizer, place, (struct decoder_step){.kind = (enum decoder_kind)kind});
}

static enum status read_wordpiece(struct tokenizer *tokenizer, struct json_place place, int kind) {
    struct decoder_step step = {.kind = (enum decoder_kind)kind};
    enum status status = json_field_view(place, "prefix", &step.pattern);
    if (status == STATUS_OK)
        status = json_field_bool(place, "cleanup", &step.flag);
    return status == STATUS_OK ? add(tokenizer, place, step) : status;
}

static enum status read_byte_level(struct tokenizer *tokenizer, struct json_place place, int kind) {
    bool unused;
    enum status status = json_field_bool(place, "add_prefix_space", &unused);
    if (status == STATUS_OK)
        status = json_field_bool(place, "trim_offsets", &unused);
    return status == STATUS_OK ? read_simple(tokenizer, place, kind) : status;
}

static enum status read_metaspace(struct tokenizer *tokenizer, struct json_place place, int kind) {
    struct decoder_step step = {.kind = (enum decoder_kind)kind};
    struct view scheme = view_of("always");
    bool prefix_space =
        true; /* old files have this; false is an error unless the scheme is never */
    enum status status = read_character(place, "replacement", &step.pattern);
    if (status == STATUS_OK)
        status = json_field_bool_optional(place, "add_prefix_space", &prefix_space);
    if (status == STATUS_OK && json_object_get(place.object, "prepend_scheme") != NULL)
        status = json_field_view(place, "prepend_scheme", &scheme);
    if (status != STATUS_OK)
        return status;
    bool never = view_equals_c(scheme, "never");
    if (!never && !view_equals_c(scheme, "always") && !view_equals_c(scheme, "first"))
        return json_field_fault(place, "prepend_scheme", STATUS_BAD_FILE,
                                "is none of always, first, never");
    if (!prefix_space && !never)
        return json_field_fault(place, "add_prefix_space", STATUS_BAD_FILE,
                                "contradicts the prepend_scheme");
    step.flag = !never;
    return add(tokenizer, place, step);
}

static enum status read_strip(struct tokenizer *tokenizer, struct json_place place, int kind) {
    struct decoder_step step = {.kind = (enum decoder_kind)kind};
    enum status status = read_character(place, "content", &step.pattern);
    if (status == STATUS_OK)
        status = json_field_count(place, "start", INT64_MAX, &step.start);
    if (status == STATUS_OK)
        status = json_field_count(place, "stop", INT64_MAX, &step.stop);
    return status == STATUS_OK ? add(tokenizer, place, step) : status;
}

static enum status add_regex(struct tokenizer *tokenizer, struct json_place place,
                             struct view content, struct view expression) {
    struct decoder_step step = {.kind = DECODER_REPLACE_REGEX, .content = content};
    enum status status = pattern_open_regex(expression, &step.regex, place.err);
    if (status != STATUS_OK) {
        error_prefix(place.err, "%s.pattern", place.name);
        return status;
    }
    status = add(tokenizer, place, step);
    if (status != STATUS_OK)
        pattern_close(step.regex);
    return status;
}

static enum status read_replace(struct tokenizer *tokenizer, struct json_place place, int kind) {
    struct decoder_step step = {.kind = (enum decoder_kind)kind};
    json_t *pattern;
    enum status status = json_field_object(place, "pattern", &pattern);
    if (status == STATUS_OK)
        status = json_field_view(place, "content", &step.content);
    if (status != STATUS_OK)
        return status;
    const json_t *regex = json_object_get(pattern, "Regex");
    if (json_is_string(regex))
        return add_regex(tokenizer, place, step.content, json_view(regex));
    if (!json_is_string(json_object_get(pattern, "String")))
        return json_field_fault(place, "pattern", STATUS_BAD_FILE, "has neither String nor Regex");
    step.pattern = json_view(json_object_get(pattern, "String"));
    return add(tokenizer, place, step);
}

static enum status read_bpe(struct tokenizer *tokenizer, struct json_place place, int kind) {
    struct decoder_step step = {.kind = (enum decoder_kind)kind};
    enum status status = json_field_view(place, "suffix", &step.pattern);
    return status == STATUS_OK ? add(tokenizer, place, step) : status;
}

static enum status read_decoders(struct tokenizer *tokenizer, struct json_place place, int kind);

static const struct part_type DECODERS[] = {
    {"WordPiece", read_wordpiece, DECODER_WORDPIECE},
    {"ByteLevel", read_byte_level, DECODER_BYTE_LEVEL},
    {"Metaspace", read_metaspace, DECODER_METASPACE},
    {"ByteFallback", read_simple, DECODER_BYTE_FALLBACK},
    {"Fuse", read_simple, DECODER_FUSE},
    {"Strip", read_strip, DECODER_STRIP},
    {"Replace", read_replace, DECODER_REPLACE},
    {"BPEDecoder", read_bpe, DECODER_BPE},
    {"Sequence", read_decoders, 0},
};
enum { DECODERS_COUNT = sizeof DECODERS / sizeof *DECODERS };

static enum status read_decoders(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    return tokenizer_json_read_sequence(tokenizer, place, "decoders", DECODERS, DECODERS_COUNT);
}

enum status tokenizer_json_read_decoder(struct tokenizer *tokenizer, struct json_place document) {
    return tokenizer_json_read_optional(tokenizer, document, "decoder", DECODERS, DECODERS_COUNT,
                                        &tokenizer->decoder.present);
}
