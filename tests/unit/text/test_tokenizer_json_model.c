/* test_tokenizer_json_model.c: what the model of a tokenizer.json may say, and how its refusal
 * names what it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine/text/tokenizer_parts.h"

#define PAIRS(merges, more)                                                                        \
    "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":" merges more "}"
#define PIECES(vocab, unknown) "{\"type\":\"Unigram\",\"vocab\":" vocab ",\"unk_id\":" unknown "}"

static enum status open_model(const char *model, struct tokenizer **tokenizer, struct error *err) {
    char text[1024];
    snprintf(text, sizeof text, "{\"version\":\"1.0\",\"model\":%s}", model);
    return tokenizer_open_json(view_of(text), tokenizer, err);
}

static void what_is_wrong_is_refused_and_named(void **state) {
    (void)state;
    static const struct {
        const char *model;
        enum status status;
        const char *named;
    } ROWS[] = {
        {"{}", STATUS_BAD_FILE, "model.type"},
        {PAIRS("[\"a b\"]", ",\"dropout\":0.1"), STATUS_UNSUPPORTED, "dropout"},
        {PAIRS("[\"a b\"]", ",\"dropout\":\"no\""), STATUS_BAD_FILE, "dropout"},
        {PAIRS("[\"a b\"]", ",\"fuse_unk\":1"), STATUS_BAD_FILE, "fuse_unk"},
        {PAIRS("[\"a b\"]", ",\"unk_token\":1"), STATUS_BAD_FILE, "unk_token"},
        {PAIRS("[\"a  b\"]", ""), STATUS_BAD_FILE, "merge 0"},
        {PAIRS("[\"a b\",\"ab\"]", ""), STATUS_BAD_FILE, "merge 1"},
        {PAIRS("[\"\"]", ""), STATUS_BAD_FILE, "merge 0"},
        {PAIRS("[\"a c\"]", ""), STATUS_BAD_FILE, "\"c\""},
        {PAIRS("[\"b a\"]", ""), STATUS_BAD_FILE, "\"ba\""},
        {PAIRS("[\"a b\",[\"a\",\"b\"]]", ""), STATUS_BAD_FILE, "merges"},
        {PAIRS("[[\"a\",\"b\"],\"a b\"]", ""), STATUS_BAD_FILE, "merges"},
        {PAIRS("[[\"a\",\"b\",\"b\"]]", ""), STATUS_BAD_FILE, "merges"},
        {PAIRS("{}", ""), STATUS_BAD_FILE, "merges"},
        {PAIRS("[\"a b\"]", ",\"continuing_subword_prefix\":\"##\""), STATUS_BAD_FILE, "shorter"},
        {PAIRS("[]", ",\"continuing_subword_prefix\":\"##\",\"byte_fallback\":true"),
         STATUS_UNSUPPORTED, "byte_fallback"},
        {PIECES("[]", "0"), STATUS_BAD_FILE, "unk_id"},
        {PIECES("[[\"a\",0]]", "1"), STATUS_BAD_FILE, "unk_id"},
        {PIECES("[[\"a\",0]]", "-1"), STATUS_BAD_FILE, "unk_id"},
        {PIECES("[[\"a\",0],[\"b\"]]", "0"), STATUS_BAD_FILE, "entry 1"},
        {PIECES("[[\"a\",null]]", "0"), STATUS_BAD_FILE, "entry 0"},
        {PIECES("[[\"a\",0,0]]", "0"), STATUS_BAD_FILE, "entry 0"},
        {PIECES("[[0,\"a\"]]", "0"), STATUS_BAD_FILE, "entry 0"},
        {PIECES("{}", "0"), STATUS_BAD_FILE, "vocab"},
        {PIECES("[[\"a\",-1.5]]", "0,\"byte_fallback\":null"), STATUS_BAD_FILE, "byte_fallback"},
        {"{\"type\":\"WordLevel\",\"vocab\":{}}", STATUS_BAD_FILE, "unk_token"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct tokenizer *tokenizer;
        struct error err = {0};
        enum status status = open_model(ROWS[i].model, &tokenizer, &err);
        if (status != ROWS[i].status || strstr(err.message, ROWS[i].named) == NULL)
            fail_msg("row %zu: %s: %s", i, status_name(status), err.message);
        assert_null(tokenizer);
    }
}

static void forms_that_differ_only_in_spelling_are_read(void **state) {
    (void)state;
    static const struct {
        const char *model;
        enum token_model_kind kind;
    } ROWS[] = {
        {PAIRS("[]", ""), TOKEN_MODEL_BPE},
        {PAIRS("[\"#version: 0.2\",\"a b\"]", ",\"dropout\":0.0"), TOKEN_MODEL_BPE},
        {PAIRS("[[\"a\",\"b\"]]", ",\"dropout\":null,\"unk_token\":null"), TOKEN_MODEL_BPE},
        {"{\"vocab\":{\"a\":0},\"merges\":[]}", TOKEN_MODEL_BPE},
        {PIECES("[]", "null"), TOKEN_MODEL_UNIGRAM},
        {"{\"vocab\":[[\"a\",-1]],\"unk_id\":0}", TOKEN_MODEL_UNIGRAM},
        {"{\"vocab\":{\"a\":0},\"unk_token\":\"b\"}", TOKEN_MODEL_WORD_LEVEL},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct tokenizer *tokenizer;
        struct error err = {0};
        if (open_model(ROWS[i].model, &tokenizer, &err) != STATUS_OK)
            fail_msg("row %zu: %s", i, err.message);
        assert_int_equal(tokenizer->model.kind, ROWS[i].kind);
        tokenizer_close(tokenizer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_refused_and_named),
        cmocka_unit_test(forms_that_differ_only_in_spelling_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
