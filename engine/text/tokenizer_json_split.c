/* tokenizer_json_split.c: the normalizer and the pre-tokenizer of tokenizer.json. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/tokenizer_json.h"
#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

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
    const struct normalizer_step step = {.kind = (enum normalizer_kind)kind};
    return step_status(place, normalizer_add(&tokenizer->normalizer, &step));
}

/* Appends a step that owns memory; on failure that is given back. */
static enum status add_owning_step(struct tokenizer *tokenizer, struct json_place place,
                                   struct normalizer_step *step, enum status status) {
    if (status == STATUS_OK)
        status = step_status(place, normalizer_add(&tokenizer->normalizer, step));
    if (status != STATUS_OK)
        normalizer_step_free(step);
    return status;
}

static enum status read_strip(struct tokenizer *tokenizer, struct json_place place, int kind) {
    struct normalizer_step step = {.kind = (enum normalizer_kind)kind};
    enum status status = json_field_bool(place, "strip_left", &step.left);
    if (status == STATUS_OK)
        status = json_field_bool(place, "strip_right", &step.right);
    return add_owning_step(tokenizer, place, &step, status);
}

/* A string of the document as content of a step, which outlives the document. */
static enum status read_content(struct json_place place, const char *field,
                                struct normalizer_step *step) {
    struct view content;
    enum status status = json_field_view(place, field, &content);
    if (status != STATUS_OK)
        return status;
    step->owned = malloc(content.bytes + 1);
    if (step->owned == NULL)
        return error_set(place.err, STATUS_NO_MEMORY, "no memory");
    memcpy(step->owned, content.data, content.bytes);
    step->content = (struct view){step->owned, content.bytes};
    return STATUS_OK;
}

/* {"String": "..."} or {"Regex": "..."} */
static enum status read_pattern(struct json_place place, struct pattern **pattern) {
    json_t *object;
    struct view text;
    enum status status = json_field_object(place, "pattern", &object);
    if (status != STATUS_OK)
        return status;
    struct json_place inner = {object, "pattern", place.err, 0};
    bool regex = json_object_get(object, "Regex") != NULL;
    if (json_object_size(object) != 1)
        return json_field_fault(place, "pattern", STATUS_BAD_FILE, "is not one String or Regex");
    status = json_field_view(inner, regex ? "Regex" : "String", &text);
    if (status == STATUS_OK)
        status = regex ? pattern_open_regex(text, pattern, place.err)
                       : pattern_open_string(text, pattern, place.err);
    return status == STATUS_OK ? status : error_prefix(place.err, "%s", place.name);
}

static enum status read_prepend(struct tokenizer *tokenizer, struct json_place place, int kind) {
    struct normalizer_step step = {.kind = (enum normalizer_kind)kind};
    return add_owning_step(tokenizer, place, &step, read_content(place, "prepend", &step));
}

static enum status read_replace(struct tokenizer *tokenizer, struct json_place place, int kind) {
    struct normalizer_step step = {.kind = (enum normalizer_kind)kind};
    enum status status = read_pattern(place, &step.pattern);
    if (status == STATUS_OK)
        status = read_content(place, "content", &step);
    return add_owning_step(tokenizer, place, &step, status);
}

static enum status read_precompiled(struct tokenizer *tokenizer, struct json_place place,
                                    int kind) {
    struct normalizer_step step = {.kind = (enum normalizer_kind)kind};
    struct view base64;
    enum status status = json_field_view(place, "precompiled_charsmap", &base64);
    if (status == STATUS_OK) {
        status = charsmap_open(base64, &step.charsmap, place.err);
        if (status != STATUS_OK)
            error_prefix(place.err, "%s.precompiled_charsmap", place.name);
    }
    return add_owning_step(tokenizer, place, &step, status);
}

static enum status read_normalizers(struct tokenizer *tokenizer, struct json_place place, int kind);

static const struct part_type NORMALIZERS[] = {
    {"BertNormalizer", read_bert_normalizer, 0},
    {"NFC", read_normalizer_step, NORMALIZER_NFC},
    {"NFD", read_normalizer_step, NORMALIZER_NFD},
    {"NFKC", read_normalizer_step, NORMALIZER_NFKC},
    {"NFKD", read_normalizer_step, NORMALIZER_NFKD},
    {"StripAccents", read_normalizer_step, NORMALIZER_STRIP_MARKS},
    {"Lowercase", read_normalizer_step, NORMALIZER_LOWERCASE},
    {"Strip", read_strip, NORMALIZER_STRIP},
    {"Nmt", read_normalizer_step, NORMALIZER_NMT},
    {"Prepend", read_prepend, NORMALIZER_PREPEND},
    {"Replace", read_replace, NORMALIZER_REPLACE},
    {"ByteLevel", read_normalizer_step, NORMALIZER_BYTE_LEVEL},
    {"Precompiled", read_precompiled, NORMALIZER_PRECOMPILED},
    {"Sequence", read_normalizers, 0},
};
enum { NORMALIZERS_COUNT = sizeof NORMALIZERS / sizeof *NORMALIZERS };

static enum status read_normalizers(struct tokenizer *tokenizer, struct json_place place,
                                    int kind) {
    (void)kind;
    return tokenizer_json_read_sequence(tokenizer, place, "normalizers", NORMALIZERS,
                                        NORMALIZERS_COUNT);
}

enum status tokenizer_json_read_normalizer(struct tokenizer *tokenizer,
                                           struct json_place document) {
    bool found;
    return tokenizer_json_read_optional(tokenizer, document, "normalizer", NORMALIZERS,
                                        NORMALIZERS_COUNT, &found);
}

/* ---- pre-tokenizer ---- */

static enum status read_pretokenizer_step(struct tokenizer *tokenizer, struct json_place place,
                                          int kind) {
    const struct pretokenizer_step step = {.kind = (enum pretokenizer_kind)kind};
    return step_status(place, pretokenizer_add(&tokenizer->pretokenizer, &step));
}

/* A string of one code point. */
static enum status read_char(struct json_place place, const char *field, uint32_t *code) {
    struct view text;
    enum status status = json_field_view(place, field, &text);
    if (status != STATUS_OK)
        return status;
    if (text.bytes == 0 || text.bytes != utf8_length((unsigned char)text.data[0]))
        return json_field_fault(place, field, STATUS_BAD_FILE, "is not one character");
    *code = utf8_decode(text.data);
    return STATUS_OK;
}

static enum status read_behavior(struct json_place place, enum split_behavior *behavior) {
    static const char *const NAMES[SPLIT_BEHAVIORS] = {"Removed", "Isolated", "MergedWithPrevious",
                                                       "MergedWithNext", "Contiguous"};
    size_t choice = SPLIT_REMOVED;
    enum status status = json_field_choice(place, "behavior", NAMES, SPLIT_BEHAVIORS, &choice);
    *behavior = (enum split_behavior)choice;
    return status;
}

static enum status read_byte_level(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    bool prefix, trim, regex = true; /* trim_offsets is the post-processor's */
    enum status status = json_field_bool(place, "add_prefix_space", &prefix);
    if (status == STATUS_OK)
        status = json_field_bool(place, "trim_offsets", &trim);
    if (status == STATUS_OK)
        status = json_field_bool_optional(place, "use_regex", &regex);
    return status == STATUS_OK
               ? step_status(place,
                             pretokenizer_add_byte_level(&tokenizer->pretokenizer, prefix, regex))
               : status;
}

/* Old files say add_prefix_space, new ones prepend_scheme; false goes with "never" only. */
static enum status read_metaspace(struct tokenizer *tokenizer, struct json_place place, int kind) {
    static const char *const SCHEMES[] = {"always", "first", "never"};
    (void)kind;
    uint32_t replacement;
    bool prefix = true, split = true;
    size_t scheme = METASPACE_ALWAYS;
    enum status status = read_char(place, "replacement", &replacement);
    if (status == STATUS_OK)
        status = json_field_bool_optional(place, "add_prefix_space", &prefix);
    if (status == STATUS_OK)
        status = json_field_bool_optional(place, "split", &split);
    if (status == STATUS_OK && json_object_get(place.object, "prepend_scheme") != NULL)
        status = json_field_choice(place, "prepend_scheme", SCHEMES, 3, &scheme);
    if (status != STATUS_OK)
        return status;
    if (!prefix && scheme != METASPACE_NEVER)
        return json_field_fault(place, "add_prefix_space", STATUS_BAD_FILE,
                                "contradicts prepend_scheme, which is not \"never\"");
    return step_status(place, pretokenizer_add_metaspace(&tokenizer->pretokenizer, replacement,
                                                         (enum metaspace_scheme)scheme, split));
}

static enum status read_punctuation(struct tokenizer *tokenizer, struct json_place place,
                                    int kind) {
    (void)kind;
    struct pretokenizer_step step = {
        .kind = PRETOKENIZER_FLAGS, .behavior = SPLIT_ISOLATED, .flags = UNICODE_PUNCTUATION};
    enum status status = STATUS_OK;
    if (json_object_get(place.object, "behavior") != NULL)
        status = read_behavior(place, &step.behavior);
    return status == STATUS_OK
               ? step_status(place, pretokenizer_add(&tokenizer->pretokenizer, &step))
               : status;
}

static enum status read_split(struct tokenizer *tokenizer, struct json_place place, int kind) {
    struct pretokenizer_step step = {.kind = (enum pretokenizer_kind)kind};
    enum status status = read_behavior(place, &step.behavior);
    if (status == STATUS_OK)
        status = json_field_bool(place, "invert", &step.invert);
    if (status == STATUS_OK)
        status = read_pattern(place, &step.pattern);
    if (status == STATUS_OK)
        status = step_status(place, pretokenizer_add(&tokenizer->pretokenizer, &step));
    if (status != STATUS_OK)
        pattern_close(step.pattern);
    return status;
}

static enum status read_digits(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    bool individual;
    enum status status = json_field_bool(place, "individual_digits", &individual);
    if (status != STATUS_OK)
        return status;
    const struct pretokenizer_step step = {.kind = PRETOKENIZER_FLAGS,
                                           .behavior =
                                               individual ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS,
                                           .flags = UNICODE_NUMERIC};
    return step_status(place, pretokenizer_add(&tokenizer->pretokenizer, &step));
}

static enum status read_delimiter(struct tokenizer *tokenizer, struct json_place place, int kind) {
    (void)kind;
    struct pretokenizer_step step = {.kind = PRETOKENIZER_CHAR, .behavior = SPLIT_REMOVED};
    enum status status = read_char(place, "delimiter", &step.code);
    return status == STATUS_OK
               ? step_status(place, pretokenizer_add(&tokenizer->pretokenizer, &step))
               : status;
}

static enum status read_fixed_length(struct tokenizer *tokenizer, struct json_place place,
                                     int kind) {
    (void)kind;
    uint64_t length = 5;
    enum status status = STATUS_OK;
    if (json_object_get(place.object, "length") != NULL)
        status = json_field_count(place, "length", UINT32_MAX, &length);
    if (status != STATUS_OK)
        return status;
    if (length == 0)
        return json_field_fault(place, "length", STATUS_BAD_FILE, "is 0");
    const struct pretokenizer_step step = {.kind = PRETOKENIZER_FIXED_LENGTH,
                                           .length = (size_t)length};
    return step_status(place, pretokenizer_add(&tokenizer->pretokenizer, &step));
}

static enum status read_pretokenizers(struct tokenizer *tokenizer, struct json_place place,
                                      int kind);

static const struct part_type PRETOKENIZERS[] = {
    {"BertPreTokenizer", read_pretokenizer_step, PRETOKENIZER_BERT},
    {"Whitespace", read_pretokenizer_step, PRETOKENIZER_WHITESPACE},
    {"WhitespaceSplit", read_pretokenizer_step, PRETOKENIZER_WHITESPACE_SPLIT},
    {"ByteLevel", read_byte_level, 0},
    {"Metaspace", read_metaspace, 0},
    {"Punctuation", read_punctuation, 0},
    {"Split", read_split, PRETOKENIZER_SPLIT},
    {"Digits", read_digits, 0},
    {"CharDelimiterSplit", read_delimiter, 0},
    {"UnicodeScripts", read_pretokenizer_step, PRETOKENIZER_SCRIPTS},
    {"FixedLength", read_fixed_length, 0},
    {"Sequence", read_pretokenizers, 0},
};
enum { PRETOKENIZERS_COUNT = sizeof PRETOKENIZERS / sizeof *PRETOKENIZERS };

static enum status read_pretokenizers(struct tokenizer *tokenizer, struct json_place place,
                                      int kind) {
    (void)kind;
    return tokenizer_json_read_sequence(tokenizer, place, "pretokenizers", PRETOKENIZERS,
                                        PRETOKENIZERS_COUNT);
}

enum status tokenizer_json_read_pretokenizer(struct tokenizer *tokenizer,
                                             struct json_place document) {
    bool found;
    return tokenizer_json_read_optional(tokenizer, document, "pre_tokenizer", PRETOKENIZERS,
                                        PRETOKENIZERS_COUNT, &found);
}
