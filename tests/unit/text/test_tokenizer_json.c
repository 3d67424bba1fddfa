/* test_tokenizer_json.c: what a tokenizer.json may not say, and how its refusal names it. Each row
 * replaces one part of a small good file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/tokenizer_parts.h"

#define BERT                                                                                       \
    "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"              \
    "\"strip_accents\":null,\"lowercase\":true}"
#define WORDS                                                                                      \
    "{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","        \
    "\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]\":2,\"a\":3}}"
#define MODEL(vocab)                                                                               \
    "{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","        \
    "\"max_input_chars_per_word\":100,\"vocab\":" vocab "}"
#define ADDED(id, content, normalized)                                                             \
    "[{\"id\":" id ",\"content\":\"" content "\",\"single_word\":false,\"lstrip\":false,"          \
    "\"rstrip\":false,\"normalized\":" normalized ",\"special\":false}]"
#define TEMPLATE(single, pair)                                                                     \
    "{\"type\":\"TemplateProcessing\",\"single\":" single ",\"pair\":" pair                        \
    ",\"special_tokens\":{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[1],\"tokens\":[\"[CLS]\"]}}}"
#define A "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"
#define B "{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}"
#define CUT(length, stride)                                                                        \
    "{\"direction\":\"Right\",\"max_length\":" length ",\"strategy\":\"LongestFirst\","            \
    "\"stride\":" stride "}"

/* The parts of the file, in the order of PARTS. */
enum part { NORMALIZER, SPLIT, PROCESSOR, DECODER, VOCABULARY, TOKENS, TRUNCATION, PARTS_COUNT };
static const char *const NAMES[PARTS_COUNT] = {"normalizer", "pre_tokenizer", "post_processor",
                                               "decoder",    "model",         "added_tokens",
                                               "truncation"};

static enum status open_with(enum part part, const char *value, const char *more,
                             struct tokenizer **tokenizer, struct error *err) {
    const char *values[PARTS_COUNT] = {
        BERT,
        "{\"type\":\"BertPreTokenizer\"}",
        "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",2],\"cls\":[\"[CLS]\",1]}",
        "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}",
        WORDS,
        "[]",
        "null"};
    values[part] = value;
    char text[4096];
    int used = snprintf(text, sizeof text, "{\"version\":\"1.0\"%s", more);
    for (int i = 0; i < PARTS_COUNT; i++)
        if (values[i] != NULL)
            used += snprintf(text + used, sizeof text - (size_t)used, ",\"%s\":%s", NAMES[i],
                             values[i]);
    snprintf(text + used, sizeof text - (size_t)used, "}");
    return tokenizer_open_json(view_of(text), tokenizer, err);
}

/* A part, what it says instead, and how that is refused. */
static const struct {
    enum part part;
    const char *value;
    enum status status;
    const char *named; /* in the message */
} ROWS[] = {
    {NORMALIZER, "{\"type\":\"Frobnicate\"}", STATUS_UNSUPPORTED, "Frobnicate"},
    {NORMALIZER, "{\"type\":\"Precompiled\"}", STATUS_BAD_FILE, "precompiled_charsmap"},
    {NORMALIZER, "{}", STATUS_BAD_FILE, "normalizer.type"},
    {NORMALIZER, "[]", STATUS_BAD_FILE, "normalizer"},
    {NORMALIZER, "{\"type\":\"BertNormalizer\",\"clean_text\":true}", STATUS_BAD_FILE,
     "handle_chinese_chars"},
    {NORMALIZER,
     "{\"type\":\"BertNormalizer\",\"clean_text\":1,\"handle_chinese_chars\":true,"
     "\"lowercase\":true}",
     STATUS_BAD_FILE, "clean_text"},
    {NORMALIZER,
     "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
     "\"lowercase\":true,\"strip_accents\":\"no\"}",
     STATUS_BAD_FILE, "strip_accents"},
    {NORMALIZER, "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Fold\"}]}",
     STATUS_UNSUPPORTED, "Fold"},
    {NORMALIZER, "{\"type\":\"Sequence\",\"normalizers\":[3]}", STATUS_BAD_FILE,
     "normalizer.normalizers[0]"},
    {SPLIT, "{\"type\":\"ByteLevel\"}", STATUS_BAD_FILE, "add_prefix_space"},
    {SPLIT, "{\"type\":\"Frobnicate\"}", STATUS_UNSUPPORTED, "Frobnicate"},
    {SPLIT, "{\"type\":\"Metaspace\",\"replacement\":\"ab\"}", STATUS_BAD_FILE, "replacement"},
    {SPLIT,
     "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false,"
     "\"prepend_scheme\":\"first\"}",
     STATUS_BAD_FILE, "add_prefix_space"},
    {SPLIT, "{\"type\":\"Punctuation\",\"behavior\":\"isolated\"}", STATUS_UNSUPPORTED, "behavior"},
    {SPLIT, "{\"type\":\"FixedLength\",\"length\":0}", STATUS_BAD_FILE, "length"},
    {SPLIT, "{\"type\":\"Sequence\"}", STATUS_BAD_FILE, "pretokenizers"},
    {PROCESSOR, "{\"type\":\"Other\"}", STATUS_UNSUPPORTED, "Other"},
    {PROCESSOR, "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",2]}", STATUS_BAD_FILE, "cls"},
    {PROCESSOR, "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",-2],\"cls\":[\"[CLS]\",1]}",
     STATUS_BAD_FILE, "sep"},
    {PROCESSOR, TEMPLATE("[" B "]", "[" A "," B "]"), STATUS_UNSUPPORTED, "single"},
    {PROCESSOR,
     "{\"type\":\"Sequence\",\"processors\":[" TEMPLATE("[]", "[]") "," TEMPLATE("[]", "[]") "]}",
     STATUS_UNSUPPORTED, "processors[1]"},
    {PROCESSOR, "{\"type\":\"ByteLevel\",\"trim_offsets\":true}", STATUS_BAD_FILE,
     "add_prefix_space"},
    {PROCESSOR, "{\"type\":\"RobertaProcessing\",\"sep\":[\"[SEP]\",2],\"cls\":[\"[CLS]\",1]}",
     STATUS_BAD_FILE, "trim_offsets"},
    {PROCESSOR, TEMPLATE("[{\"SpecialToken\":{\"id\":\"[X]\",\"type_id\":0}}," A "]", "[]"),
     STATUS_BAD_FILE, "[X]"},
    {PROCESSOR, TEMPLATE("[{\"Sequence\":{\"id\":\"C\",\"type_id\":0}}]", "[]"), STATUS_BAD_FILE,
     "single.id"},
    {PROCESSOR, TEMPLATE("[{\"Sequence\":{\"id\":\"A\",\"type_id\":256}}]", "[]"), STATUS_BAD_FILE,
     "type_id"},
    {PROCESSOR, TEMPLATE("[{}]", "[]"), STATUS_BAD_FILE, "single"},
    {DECODER, "{\"type\":\"CTC\"}", STATUS_UNSUPPORTED, "CTC"},
    {DECODER, "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"CTC\"}]}", STATUS_UNSUPPORTED,
     "decoders[0] of type \"CTC\""},
    {DECODER, "{\"type\":\"Strip\",\"content\":\"ab\",\"start\":1,\"stop\":0}", STATUS_BAD_FILE,
     "content"},
    {DECODER, "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}",
     STATUS_BAD_FILE, "prepend_scheme"},
    {DECODER, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(a\"},\"content\":\"\"}",
     STATUS_UNSUPPORTED, "decoder.pattern"},
    {VOCABULARY, NULL, STATUS_BAD_FILE, "model"},
    {VOCABULARY, "{\"type\":\"Other\"}", STATUS_UNSUPPORTED, "Other"},
    {VOCABULARY, MODEL("{}"), STATUS_BAD_FILE, "unk_token"},
    {VOCABULARY, MODEL("[]"), STATUS_BAD_FILE, "model.vocab"},
    {VOCABULARY, MODEL("{\"[UNK]\":0,\"b\":0}"), STATUS_BAD_FILE, "one id"},
    {VOCABULARY, MODEL("{\"[UNK]\":0,\"b\":-1}"), STATUS_BAD_FILE, "\"b\""},
    {VOCABULARY, MODEL("{\"[UNK]\":0,\"b\":4000000}"), STATUS_BAD_FILE, "\"b\""},
    {VOCABULARY, MODEL("{\"[UNK]\":0,\"b\":1.5}"), STATUS_BAD_FILE, "\"b\""},
    {VOCABULARY, MODEL("{\"[UNK]\":0,\"b\":1,\"b\":2}"), STATUS_BAD_FILE, "uplicate"},
    {TOKENS, "{}", STATUS_BAD_FILE, "added_tokens"},
    {TOKENS, "[3]", STATUS_BAD_FILE, "added_tokens[0]"},
    {TOKENS, "[{\"id\":4,\"content\":\"x\"}]", STATUS_BAD_FILE, "single_word"},
    {TOKENS, ADDED("9", "x", "false"), STATUS_BAD_FILE, "id 9"},
    {TOKENS, ADDED("4", "a", "false"), STATUS_BAD_FILE, "id 4"},
    {TOKENS, ADDED("-4", "x", "false"), STATUS_BAD_FILE, "added_tokens[0].id"},
    {TOKENS, ADDED("4", "\\u0301", "true"), STATUS_UNSUPPORTED, "normalization"},
    {TRUNCATION, CUT("1", "0"), STATUS_BAD_FILE, "max_length"},
    {TRUNCATION, CUT("-1", "0"), STATUS_BAD_FILE, "max_length"},
    {TRUNCATION, CUT("5", "3"), STATUS_BAD_FILE, "stride"},
    {TRUNCATION, "{\"max_length\":9,\"strategy\":\"Some\",\"stride\":0}", STATUS_UNSUPPORTED,
     "strategy"},
    {TRUNCATION, "7", STATUS_BAD_FILE, "truncation"},
};

static void what_is_wrong_is_refused_and_named(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct tokenizer *tokenizer;
        struct error err = {0};
        enum status status = open_with(ROWS[i].part, ROWS[i].value, "", &tokenizer, &err);
        if (status != ROWS[i].status || strstr(err.message, ROWS[i].named) == NULL)
            fail_msg("row %zu: %s: %s", i, status_name(status), err.message);
        assert_null(tokenizer);
    }
}

static void parts_that_may_be_absent_or_null_are(void **state) {
    (void)state;
    const enum part parts[] = {NORMALIZER, SPLIT, PROCESSOR, DECODER, TOKENS, TRUNCATION};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int absent = 0; absent < 2; absent++) {
            struct tokenizer *tokenizer;
            struct error err = {0};
            if (parts[i] == TOKENS && !absent)
                continue;
            if (open_with(parts[i], absent ? NULL : "null", "", &tokenizer, &err) != STATUS_OK)
                fail_msg("%s: %s", NAMES[parts[i]], err.message);
            tokenizer_close(tokenizer);
        }
}

static void other_versions_and_unknown_fields_are_refused(void **state) {
    (void)state;
    struct tokenizer *tokenizer;
    struct error err;
    assert_int_equal(open_with(DECODER, "null", ",\"extra\":1", &tokenizer, &err),
                     STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "extra"));
    assert_int_equal(tokenizer_open_json(view_of("[]"), &tokenizer, &err), STATUS_BAD_FILE);
    assert_int_equal(tokenizer_open_json(view_of("{\"version\":\"2.0\"}"), &tokenizer, &err),
                     STATUS_UNSUPPORTED);
    assert_int_equal(tokenizer_open_json(view_of("{\"version\":1}"), &tokenizer, &err),
                     STATUS_BAD_FILE);
    assert_int_equal(tokenizer_open_json(view_of(""), &tokenizer, &err), STATUS_BAD_FILE);
}

static void the_truncation_of_the_file_is_handed_out(void **state) {
    (void)state;
    struct tokenizer *tokenizer;
    struct error err;
    assert_int_equal(open_with(TRUNCATION,
                               "{\"direction\":\"Left\",\"max_length\":9,"
                               "\"strategy\":\"OnlySecond\",\"stride\":2}",
                               "", &tokenizer, &err),
                     STATUS_OK);
    struct tokenizer_options options = tokenizer_file_options(tokenizer);
    assert_int_equal(options.tokens_max, 9);
    assert_int_equal(options.side, TOKENIZER_LEFT);
    assert_int_equal(options.strategy, TOKENIZER_ONLY_SECOND);
    assert_true(options.add_special_tokens);
    tokenizer_close(tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_refused_and_named),
        cmocka_unit_test(parts_that_may_be_absent_or_null_are),
        cmocka_unit_test(other_versions_and_unknown_fields_are_refused),
        cmocka_unit_test(the_truncation_of_the_file_is_handed_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
