/* test_text_input.c: lines and JSON lines become inputs, bad ones are named, and the next goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "engine/base/limits.h"
#include "server/text_input.h"

struct expected {
    enum text_input_result result;
    const char *text, *pair; /* of an item */
    const char *message;     /* part of what a bad one says */
};

static void expect_next(struct text_input *input, const struct expected *expected) {
    struct text_item item;
    struct error err;
    assert_int_equal(text_input_next(input, &item, &err), expected->result);
    if (expected->result == TEXT_INPUT_BAD) {
        assert_non_null(strstr(err.message, expected->message));
        assert_null(item.text_pair.data);
        if (expected->text)
            assert_true(view_equals_c(item.text, expected->text));
    }
    if (expected->result != TEXT_INPUT_ITEM)
        return;
    assert_true(view_equals_c(item.text, expected->text));
    assert_true((item.text_pair.data == NULL) == (expected->pair == NULL));
    if (expected->pair)
        assert_true(view_equals_c(item.text_pair, expected->pair));
}

/* Reads `bytes` as a file and compares every input up to the end. */
static void expect_all(struct view bytes, bool jsonl, unsigned allowed,
                       const struct expected *expected) {
    FILE *file = tmpfile();
    struct text_input input;
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.bytes, file), bytes.bytes);
    rewind(file);
    text_input_init(&input, &(struct options_rest){.count = 0}, file, jsonl);
    input.allowed = allowed;
    for (;; expected++) {
        expect_next(&input, expected);
        if (expected->result == TEXT_INPUT_END)
            break;
    }
    assert_false(input.lines.failed);
    assert_int_equal(input.lines.bytes_read, bytes.bytes);
    text_input_free(&input);
    fclose(file);
}

static const struct expected end = {.result = TEXT_INPUT_END};

static void plain_lines_are_texts_and_empty_ones_too(void **state) {
    (void)state;
    const struct expected expected[] = {
        {.text = "one"}, {.text = ""}, {.text = "two\r"}, {.text = "{\"text\":5}"}, end};
    expect_all(view_of("one\n\r\ntwo\r\r\n{\"text\":5}"), false, 0, expected);
    expect_all(view_of(""), false, 0, &end);
    expect_all(view_of("\n"), false, 0, (const struct expected[]){{.text = ""}, end});
}

static void nul_is_a_byte_of_a_text(void **state) {
    (void)state;
    struct text_item item;
    struct text_input input;
    struct error err;
    FILE *file = tmpfile();
    assert_int_equal(fwrite("a\0b\n", 1, 4, file), 4);
    rewind(file);
    text_input_init(&input, &(struct options_rest){.count = 0}, file, false);
    assert_int_equal(text_input_next(&input, &item, &err), TEXT_INPUT_ITEM);
    assert_int_equal(item.text.bytes, 3);
    assert_memory_equal(item.text.data, "a\0b", 3);
    text_input_free(&input);
    fclose(file);
}

static void json_lines_are_strings_or_objects(void **state) {
    (void)state;
    const struct expected expected[] = {
        {.text = "a\nb"},
        {.text = "a", .pair = "b"},
        {.text = "a"},
        {.text = ""},
        {.result = TEXT_INPUT_BAD, .message = "unknown field 'txt'"},
        {.result = TEXT_INPUT_BAD, .message = "text must be a string"},
        {.result = TEXT_INPUT_BAD, .message = "text is missing"},
        {.result = TEXT_INPUT_BAD, .message = "must be a string or an object"},
        {.result = TEXT_INPUT_BAD, .message = "not JSON"},
        {.result = TEXT_INPUT_BAD, .message = "not JSON"},
        {.result = TEXT_INPUT_BAD, .message = "not JSON"},
        {.text = "last"},
        end};
    expect_all(view_of("\"a\\nb\"\n{\"text\":\"a\",\"text_pair\":\"b\"}\n\n  \t\n"
                       "{\"text\":\"a\",\"text_pair\":null}\n\"\"\n{\"txt\":\"a\"}\n{\"text\":5}\n"
                       "{\"text_pair\":\"b\"}\n[\"a\"]\n\"a\n{\"text\":\"a\",\"text\":\"b\"}\n"
                       "\"\\ud800\"\n\"last\""),
               true, 0, expected);
}

/* The line stands for their text. */
static void arrays_are_token_ids_where_allowed(void **state) {
    (void)state;
    const struct expected expected[] = {
        {.text = "[2, 1045, 3]"},
        {.result = TEXT_INPUT_BAD, .message = "is empty"},
        {.result = TEXT_INPUT_BAD, .message = "element 1 of the array"},
        {.result = TEXT_INPUT_BAD, .message = "element 0 of the array"},
        {.result = TEXT_INPUT_BAD, .message = "element 0 of the array"},
        {.result = TEXT_INPUT_BAD, .message = "or an array of token ids"},
        {.text = "a"},
        end};
    expect_all(view_of("[2, 1045, 3]\n[]\n[2,-1]\n[\"a\"]\n[2147483648]\n5\n\"a\"\n"), true,
               TEXT_ALLOWS_IDS, expected);
    struct text_item item;
    struct error err;
    json_t *value = json_pack("[iii]", 2, 1045, 3);
    assert_int_equal(text_item_from_json(value, TEXT_ALLOWS_IDS, &item, &err), STATUS_OK);
    assert_int_equal(item.ids_count, 3);
    assert_int_equal(item.ids[1], 1045);
    text_item_free(&item);
    assert_int_equal(text_item_from_json(value, 0, &item, &err), STATUS_INVALID_VALUE);
    json_decref(value);
}

static void an_unknown_field_gets_the_nearest_name(void **state) {
    (void)state;
    const struct expected expected[] = {
        {.result = TEXT_INPUT_BAD,
         .message = "unknown field 'textpair', the nearest is 'text_pair'"},
        {.result = TEXT_INPUT_BAD, .message = "unknown field 'label'; the fields are: text, text_"},
        end};
    expect_all(view_of("{\"text\":\"a\",\"textpair\":\"b\"}\n{\"label\":1}\n"), true, 0, expected);
}

static void further_fields_are_ignored_when_allowed(void **state) {
    (void)state;
    expect_all(view_of("{\"labels\":[1],\"text\":\"a\"}\n"), true, TEXT_ALLOWS_FIELDS,
               (const struct expected[]){{.text = "a"}, end});
}

static void a_line_over_the_limit_is_skipped_whole(void **state) {
    (void)state;
    size_t bytes = LIMIT_LINE_BYTES + 8;
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, 'x', bytes);
    text[LIMIT_LINE_BYTES + 1] = '\n';
    memcpy(text + LIMIT_LINE_BYTES + 2, "short\n", 6);
    const struct expected expected[] = {
        {.result = TEXT_INPUT_BAD, .text = "", .message = "the line has more"},
        {.text = "short"},
        end};
    expect_all((struct view){text, bytes}, false, 0, expected);
    free(text);
}

static void arguments_come_instead_of_the_file(void **state) {
    (void)state;
    char first[] = "one", second[] = "{\"text\":\"a\"}", *arguments[] = {first, second};
    struct options_rest rest = {.arguments = arguments, .count = 2};
    struct text_input input;
    text_input_init(&input, &rest, NULL, false);
    expect_next(&input, &(struct expected){.text = "one"});
    expect_next(&input, &(struct expected){.text = "{\"text\":\"a\"}"});
    expect_next(&input, &end);
    text_input_free(&input);
    text_input_init(&input, &rest, NULL, true);
    expect_next(&input,
                &(struct expected){.result = TEXT_INPUT_BAD, .text = "one", .message = "not JSON"});
    expect_next(&input, &(struct expected){.text = "a"});
    expect_next(&input, &end);
    text_input_free(&input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lines_are_texts_and_empty_ones_too),
        cmocka_unit_test(nul_is_a_byte_of_a_text),
        cmocka_unit_test(json_lines_are_strings_or_objects),
        cmocka_unit_test(arrays_are_token_ids_where_allowed),
        cmocka_unit_test(an_unknown_field_gets_the_nearest_name),
        cmocka_unit_test(further_fields_are_ignored_when_allowed),
        cmocka_unit_test(a_line_over_the_limit_is_skipped_whole),
        cmocka_unit_test(arguments_come_instead_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
