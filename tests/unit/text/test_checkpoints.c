/* test_checkpoints.c: directories without a tokenizer.json, sentencepiece models and vocab.json
 * with merges.txt: the rows of tests/golden/tokenizer/checkpoints, which
 * tests/golden/generate_checkpoint_fixtures.py wrote with the pinned transformers. */
#include "tests/unit/text/fixtures.h"

#include <string.h>

#define CHECKPOINTS "tests/golden/tokenizer/checkpoints"

struct opened {
    char dir[128];
    struct tokenizer *tokenizer;
    struct tokenizer_scratch *scratch;
};

static void close_last(struct opened *last) {
    tokenizer_scratch_close(last->scratch);
    tokenizer_close(last->tokenizer);
    memset(last, 0, sizeof *last);
}

/* Opens the directory of a row, unless the row before had the same. */
static void open_dir(struct opened *last, const char *dir) {
    char path[128];
    snprintf(path, sizeof path, CHECKPOINTS "/%s", dir);
    if (strcmp(path, last->dir) == 0)
        return;
    close_last(last);
    struct error err = {0};
    if (tokenizer_open(path, &last->tokenizer, &err) != STATUS_OK)
        fail_msg("%s: %s", path, err.message);
    assert_int_equal(tokenizer_scratch_open(last->tokenizer, &last->scratch), STATUS_OK);
    memcpy(last->dir, path, sizeof path);
}

static bool row_holds(struct opened *last, const json_t *row, struct encoding *encoding) {
    struct view text = fixture_view(json_object_get(row, "text")), pair = {"", 0};
    const json_t *second = json_object_get(row, "text_pair");
    if (second != NULL)
        pair = fixture_view(second);
    open_dir(last, json_string_value(json_object_get(row, "dir")));
    struct tokenizer_options options = tokenizer_file_options(last->tokenizer);
    struct error err = {0};
    if (tokenizer_encode(last->tokenizer, last->scratch, text, second != NULL ? &pair : NULL,
                         &options, encoding, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return fixture_matches(encoding, row, text, pair);
}

static void is_refused(const char *dir) {
    char path[128];
    snprintf(path, sizeof path, CHECKPOINTS "/%s", dir);
    struct tokenizer *tokenizer;
    struct error err = {0};
    assert_int_equal(tokenizer_open(path, &tokenizer, &err), STATUS_UNSUPPORTED);
    assert_null(tokenizer);
    assert_non_null(strstr(err.message, path));
}

static void every_text_gives_the_ids_types_and_offsets_of_the_reference(void **state) {
    (void)state;
    FILE *file = fopen(CHECKPOINTS "/encodings.jsonl", "r");
    assert_non_null(file);
    struct opened last = {0};
    struct encoding encoding;
    encoding_init(&encoding);
    size_t rows = 0, wrong = 0, refused = 0;
    json_t *row;
    while ((row = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)) != NULL) {
        if (json_object_get(row, "error") != NULL) {
            is_refused(json_string_value(json_object_get(row, "dir")));
            refused++;
        } else {
            rows++;
            wrong += !row_holds(&last, row, &encoding);
        }
        json_decref(row);
    }
    encoding_free(&encoding);
    close_last(&last);
    fclose(file);
    assert_true(rows >= 500 && refused >= 3);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_gives_the_ids_types_and_offsets_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
