/* test_added_tokens.c: many and long added tokens: they are found, and neither a text that nearly
 * spells them nor their number makes the search worse than linear. */
#include <time.h>

#include "engine/text/tokenizer_parts.h"
#include "tests/unit/text/fixtures.h"

/* A tokenizer with the added tokens, whose ids go on from the model's one. */
static struct tokenizer *open_with(json_t *tokens) {
    json_t *document = json_pack("{s:s, s:o, s:{s:s, s:s, s:s, s:i, s:{s:i}}}", "version", "1.0",
                                 "added_tokens", tokens, "model", "type", "WordPiece", "unk_token",
                                 "[UNK]", "continuing_subword_prefix", "##",
                                 "max_input_chars_per_word", 100, "vocab", "[UNK]", 0);
    char *text = json_dumps(document, JSON_COMPACT);
    struct tokenizer *tokenizer = NULL;
    struct error err = {0};
    if (tokenizer_open_json(view_of(text), &tokenizer, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    free(text);
    json_decref(document);
    return tokenizer;
}

static void add(json_t *tokens, const char *content, bool normalized, bool rstrip) {
    json_array_append_new(tokens, json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                                            (int)json_array_size(tokens) + 1, "content", content,
                                            "single_word", 0, "lstrip", 0, "rstrip", rstrip,
                                            "normalized", normalized, "special", 0));
}

/* Seconds of the processor that a text of one piece over and over takes; the least of three. */
static double seconds(const struct tokenizer *tokenizer, const char *piece, size_t bytes) {
    size_t length = strlen(piece);
    char *text = malloc(bytes);
    assert_non_null(text);
    for (size_t i = 0; i < bytes; i++)
        text[i] = piece[i % length];
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
    encoding_init(&encoding);
    assert_int_equal(tokenizer_scratch_open(tokenizer, &scratch), STATUS_OK);
    struct tokenizer_options options = {.add_special_tokens = true};
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        clock_t start = clock();
        assert_int_equal(tokenizer_encode(tokenizer, scratch, (struct view){text, bytes}, NULL,
                                          &options, &encoding, NULL),
                         STATUS_OK);
        double taken = (double)(clock() - start) / CLOCKS_PER_SEC;
        best = taken < best ? taken : best;
    }
    encoding_free(&encoding);
    tokenizer_scratch_close(scratch);
    free(text);
    return best;
}

static void texts_that_nearly_spell_long_tokens_take_linear_time(void **state) {
    (void)state;
    enum { LONG = 20000, SMALL = 250 << 10, LARGE = 1 << 20 };
    char *content = malloc(LONG + 2);
    assert_non_null(content);
    for (int normalized = 0; normalized < 2; normalized++) {
        json_t *tokens = json_array();
        memset(content, 'a', LONG);
        memcpy(content + LONG, "b", 2);
        add(tokens, content, normalized, false);
        content[0] = 'b';
        content[LONG] = '\0';
        add(tokens, content, normalized, false);
        add(tokens, "a", normalized, false);
        add(tokens, "[SEP]", normalized, true);
        add(tokens, " ", normalized, true);
        struct tokenizer *tokenizer = open_with(tokens);
        static const char *const PIECES[] = {"a", "ab", "[SEP]", "[SEP] ", " ", "[SEP", "]"};
        for (size_t i = 0; i < sizeof PIECES / sizeof *PIECES; i++) {
            double small = seconds(tokenizer, PIECES[i], SMALL);
            double large = seconds(tokenizer, PIECES[i], LARGE);
            /* Times of a fraction of a millisecond say nothing. */
            if (large > 0.01 && large > 8 * small)
                fail_msg("\"%s\": %.4f s for 250 KB, %.4f s for 1 MB", PIECES[i], small, large);
            assert_true(large < 2);
        }
        tokenizer_close(tokenizer);
    }
    free(content);
}

static void fifty_thousand_tokens_load_fast_and_are_all_found(void **state) {
    (void)state;
    enum { COUNT = 50000 };
    json_t *tokens = json_array();
    char content[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(content, sizeof content, "<extra token number %d>", i);
        add(tokens, content, i % 2, false);
    }
    clock_t start = clock();
    struct tokenizer *tokenizer = open_with(tokens);
    double taken = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (taken > 5)
        fail_msg("loading took %.2f s", taken);
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
    encoding_init(&encoding);
    assert_int_equal(tokenizer_scratch_open(tokenizer, &scratch), STATUS_OK);
    struct tokenizer_options options = {.add_special_tokens = true};
    for (int i = 0; i < COUNT; i += 997) {
        int bytes = snprintf(content, sizeof content, "x<extra token number %d>>", i);
        assert_int_equal(
            tokenizer_encode(tokenizer, scratch, view_of(content), NULL, &options, &encoding, NULL),
            STATUS_OK);
        assert_int_equal(encoding.count, 3);
        assert_int_equal(encoding.ids[1], i + 1);
        assert_int_equal(encoding.starts[1], 1);
        assert_int_equal(encoding.ends[1], bytes - 1);
    }
    encoding_free(&encoding);
    tokenizer_scratch_close(scratch);
    tokenizer_close(tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_nearly_spell_long_tokens_take_linear_time),
        cmocka_unit_test(fifty_thousand_tokens_load_fast_and_are_all_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
