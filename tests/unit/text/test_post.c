/* test_post.c: what stands around the model: added tokens, truncation with overflowing windows,
 * post-processors, trimmed offsets, on the rows of tests/golden/tokenizer/post.jsonl, which
 * tests/golden/generate_post_fixtures.py wrote with the pinned library. */
#include "engine/text/tokenizer_parts.h"
#include "tests/unit/text/fixtures.h"

#define ROWS "tests/golden/tokenizer/post.jsonl"

static enum status open_row(const json_t *row, json_t *vocab, struct tokenizer **out,
                            struct error *err) {
    json_t *document = json_deep_copy(json_object_get(row, "tokenizer"));
    json_object_set_new(document, "model",
                        json_pack("{s:s, s:s, s:s, s:i, s:O}", "type", "WordPiece", "unk_token",
                                  "[UNK]", "continuing_subword_prefix", "##",
                                  "max_input_chars_per_word", 100, "vocab", vocab));
    char *text = json_dumps(document, JSON_COMPACT);
    enum status status = tokenizer_open_json(view_of(text), out, err);
    free(text);
    json_decref(document);
    return status;
}

static bool mask_holds(const struct encoding *encoding, const json_t *expected) {
    const json_t *mask = json_object_get(expected, "mask");
    for (uint32_t i = 0; i < encoding->count; i++)
        if (encoding->specials[i] != json_integer_value(json_array_get(mask, i)))
            return false;
    return true;
}

/* The library hands out windows of templates that repeat a text as well; these are refused. */
static bool refused_rightly(const struct tokenizer *tokenizer, const json_t *encodings) {
    bool repeats = false;
    for (int i = 0; i < 4; i++)
        for (uint8_t s = 0; s < 2; s++)
            repeats |= template_segment_count(&tokenizer->templates[i / 2][i % 2], s) > 1;
    return repeats && json_array_size(encodings) > 1;
}

static bool row_holds(const json_t *row, json_t *vocab) {
    struct tokenizer *tokenizer = NULL;
    struct tokenizer_scratch *scratch = NULL;
    struct error err = {0};
    enum status status = open_row(row, vocab, &tokenizer, &err);
    if (status == STATUS_OK)
        status = tokenizer_scratch_open(tokenizer, &scratch);
    if (status != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    const json_t *second = json_object_get(row, "text_pair");
    const json_t *encodings = json_object_get(row, "encodings");
    struct view text = fixture_view(json_object_get(row, "text")), pair = {"", 0};
    if (json_is_string(second))
        pair = fixture_view(second);
    struct encoding encoding;
    encoding_init(&encoding);
    struct tokenizer_options options = tokenizer_file_options(tokenizer);
    options.add_special_tokens = json_is_true(json_object_get(row, "add"));
    options.keep_overflow = true;
    status = tokenizer_encode(tokenizer, scratch, text, json_is_string(second) ? &pair : NULL,
                              &options, &encoding, &err);
    bool right = status == STATUS_OK
                     ? tokenizer_overflow_count(scratch) + 1 == json_array_size(encodings)
                     : refused_rightly(tokenizer, encodings);
    if (!right)
        fprintf(stderr, "%s, %u windows, right %zu\n", err.message,
                (unsigned)tokenizer_overflow_count(scratch), json_array_size(encodings));
    for (size_t i = 0; right && status == STATUS_OK && i < json_array_size(encodings); i++) {
        const json_t *expected = json_array_get(encodings, i);
        if (i > 0)
            status = tokenizer_overflow(tokenizer, scratch, i - 1, &encoding, &err);
        right = status == STATUS_OK && fixture_matches(&encoding, expected, text, pair) &&
                mask_holds(&encoding, expected);
    }
    encoding_free(&encoding);
    tokenizer_scratch_close(scratch);
    tokenizer_close(tokenizer);
    return right;
}

static void every_encoding_and_window_is_that_of_the_reference(void **state) {
    (void)state;
    FILE *file = fopen(ROWS, "r");
    assert_non_null(file);
    json_t *header = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL), *row;
    size_t rows = 0, wrong = 0;
    while ((row = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)) != NULL) {
        rows++;
        if (!row_holds(row, json_object_get(header, "vocab"))) {
            char *shown = json_dumps(row, JSON_COMPACT | JSON_ENSURE_ASCII);
            if (wrong++ < 5)
                fprintf(stderr, "row %zu: %s\n\n", rows, shown);
            free(shown);
        }
        json_decref(row);
    }
    json_decref(header);
    fclose(file);
    assert_true(rows >= 300);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_and_window_is_that_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
