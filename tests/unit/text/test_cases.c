/* test_cases.c: the tokenizer on the cases of tests/golden/cases (values of the pinned
 * library), each in its own directory with a tokenizer.json. */
#include "tests/unit/text/fixtures.h"

#define CASES "tests/golden/cases"

static const char *text_of(const json_t *row, const char *field) {
    return json_string_value(json_object_get(row, field));
}

static bool case_holds(const json_t *row) {
    char dir[256];
    snprintf(dir, sizeof dir, CASES "/%s", text_of(row, "fixture"));
    const char *error = text_of(row, "error");
    struct tokenizer *tokenizer;
    struct error err = {0};
    enum status status = tokenizer_open(dir, &tokenizer, &err);
    if (error != NULL && strcmp(error, "load") == 0) {
        tokenizer_close(tokenizer);
        return (status == STATUS_BAD_FILE || status == STATUS_UNSUPPORTED) && err.message[0] != 0;
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "%s: %s\n", dir, err.message);
        return false;
    }
    struct tokenizer_scratch *scratch;
    assert_int_equal(tokenizer_scratch_open(tokenizer, &scratch), STATUS_OK);
    struct encoding encoding;
    encoding_init(&encoding);
    struct view text = fixture_view(json_object_get(row, "text"));
    struct view pair = {"", 0};
    const json_t *second = json_object_get(row, "text_pair");
    if (json_is_string(second))
        pair = fixture_view(second);
    struct tokenizer_options options = tokenizer_file_options(tokenizer);
    status = tokenizer_encode(tokenizer, scratch, text, json_is_string(second) ? &pair : NULL,
                              &options, &encoding, &err);
    bool right = error != NULL ? status == STATUS_INVALID_VALUE
                               : status == STATUS_OK && fixture_matches(&encoding, row, text, pair);
    encoding_free(&encoding);
    tokenizer_scratch_close(scratch);
    tokenizer_close(tokenizer);
    return right;
}

static void every_case_gives_the_ids_types_and_offsets_of_the_reference(void **state) {
    (void)state;
    FILE *file = fopen(CASES "/cases.jsonl", "r");
    assert_non_null(file);
    size_t rows = 0, wrong = 0;
    for (;;) {
        json_error_t fault;
        json_t *row = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &fault);
        if (row == NULL)
            break;
        rows++;
        if (!case_holds(row)) {
            wrong++;
            fprintf(stderr, "%s %s: %s\n", text_of(row, "case"), text_of(row, "fixture"),
                    text_of(row, "note"));
        }
        json_decref(row);
    }
    fclose(file);
    assert_true(rows > 160);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gives_the_ids_types_and_offsets_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
