/* tokenizer_json_split.c: the normalizer and the pre-tokenizer of tokenizer.json. */
#include <stddef.h>

#include "engine/text/tokenizer_json.h"

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
    return tokenizer_json_read_sequence(tokenizer, place, "pretokenizers", PRETOKENIZERS,
                                        PRETOKENIZERS_COUNT);
}

enum status tokenizer_json_read_pretokenizer(struct tokenizer *tokenizer,
                                             struct json_place document) {
    bool found;
    return tokenizer_json_read_optional(tokenizer, document, "pre_tokenizer", PRETOKENIZERS,
                                        PRETOKENIZERS_COUNT, &found);
}
