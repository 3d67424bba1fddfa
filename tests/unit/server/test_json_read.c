/* test_json_read.c: what a body may be, and how errors name the place or the field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/json_read.h"

static void assert_refused(const char *body, size_t bytes, enum api_code code, const char *words) {
    json_t *document = NULL;
    struct api_error err = {0};
    assert_false(json_read_document((struct view){body, bytes}, &document, &err));
    assert_null(document);
    assert_int_equal(err.code, code);
    if (!strstr(err.message, words))
        fail_msg("'%s' lacks '%s'", err.message, words);
}

static json_t *read_valid(const char *body) {
    json_t *document = NULL;
    struct api_error err = {0};
    assert_true(json_read_document(view_of(body), &document, &err));
    return document;
}

static void bad_json_has_line_and_column(void **state) {
    (void)state;
    static const char body[] = "{\n  \"input\": \"a\",\n  nul\n}";
    assert_refused(body, sizeof body - 1, API_INVALID_JSON, "line 3, column ");
    assert_refused("", 0, API_INVALID_JSON, "the body is empty");
    assert_refused("{} x", 4, API_INVALID_JSON, "column 4");
    assert_refused("{\"a\":1,\"a\":2}", 13, API_INVALID_JSON, "duplicate");
}

static void text_that_is_not_utf8_is_refused(void **state) {
    (void)state;
    assert_refused("{\"a\":\"\xff\"}", 9, API_INVALID_UTF8, "0xff");
    assert_refused("{\"a\":\"\x80\"}", 9, API_INVALID_UTF8, "0x80");
    assert_refused("\"ok\\ud83dbad\"", 13, API_INVALID_UTF8, "surrogate");
    assert_refused("\"\\ude00\"", 8, API_INVALID_UTF8, "surrogate");
}

static void a_surrogate_pair_and_a_nul_are_data(void **state) {
    (void)state;
    json_t *document = read_valid("[\"\\ud83d\\ude00\",\"a\\u0000b\"]");
    assert_true(view_equals_c(json_read_view(json_array_get(document, 0)), "\xF0\x9F\x98\x80"));
    struct view nul = json_read_view(json_array_get(document, 1));
    assert_int_equal(nul.bytes, 3);
    assert_memory_equal(nul.data, "a\0b", 3);
    json_decref(document);
}

static void depth_sixteen_is_the_last_that_is_read(void **state) {
    (void)state;
    char body[64];
    memset(body, '[', 16);
    memset(body + 16, ']', 16);
    body[32] = '\0';
    json_decref(read_valid(body));
    memset(body, '[', 17);
    memset(body + 17, ']', 17);
    assert_refused(body, 34, API_INVALID_JSON, "column 17");
    json_decref(read_valid("\"[[[[[[[[[[[[[[[[[[[[[[ \\\" [[\""));
    char *deep = malloc(100000);
    assert_non_null(deep);
    memset(deep, '[', 100000);
    assert_refused(deep, 100000, API_INVALID_JSON, "deeper");
    free(deep);
}

static void too_many_values_are_refused_before_they_cost_memory(void **state) {
    (void)state;
    size_t bytes = 2 * (LIMIT_JSON_VALUES + 1) + 1;
    char *body = malloc(bytes);
    assert_non_null(body);
    for (size_t i = 0; i < bytes; i++)
        body[i] = i % 2 ? '1' : ',';
    body[0] = '[';
    body[bytes - 1] = ']';
    assert_refused(body, bytes, API_CALL_TOO_LARGE, "values");
    free(body);
}

static void a_number_out_of_range_names_its_field(void **state) {
    (void)state;
    json_t *document =
        read_valid("{\"top_k\":123456789012345678901234567890,\"k\":3.0,\"n\":null}");
    int64_t whole = 7;
    struct api_error err;
    assert_false(json_read_whole_in(document, "top_k", 1, 100, &whole, &err));
    assert_int_equal(err.code, API_INVALID_VALUE);
    assert_string_equal(err.param, "top_k");
    assert_true(json_read_whole_in(document, "n", 1, 100, &whole, &err));
    assert_int_equal(whole, 7);
    assert_true(json_read_whole_in(document, "k", 1, 100, &whole, &err));
    assert_int_equal(whole, 3);
    json_decref(document);
}

static void wrong_types_and_words_name_the_field(void **state) {
    (void)state;
    static const char *const words[] = {"right", "left", NULL};
    json_t *document = read_valid("{\"a\":\"true\",\"b\":[],\"side\":\"Left\"}");
    struct api_error err;
    bool flag = false;
    int64_t whole = 0;
    uint32_t choice = 0;
    assert_false(json_read_bool(document, "a", &flag, &err));
    assert_int_equal(err.code, API_INVALID_TYPE);
    assert_string_equal(err.param, "a");
    assert_false(json_read_whole_in(document, "b", 0, 1, &whole, &err));
    assert_int_equal(err.code, API_INVALID_TYPE);
    assert_false(json_read_choice(document, "side", words, &choice, &err));
    assert_int_equal(err.code, API_INVALID_VALUE);
    assert_non_null(strstr(err.message, "right, left"));
    assert_false(json_read_choice(document, "b", words, &choice, &err));
    assert_int_equal(err.code, API_INVALID_TYPE);
    json_decref(document);
}

static void an_unknown_field_gets_the_nearest_name(void **state) {
    (void)state;
    static const char *const known[] = {"input", "top_k", "threshold"};
    json_t *document = read_valid("{\"input\":1,\"treshold\":2}");
    struct api_error err;
    assert_false(json_read_known(document, known, 3, NULL, &err));
    assert_int_equal(err.code, API_UNKNOWN_FIELD);
    assert_string_equal(err.param, "treshold");
    assert_non_null(strstr(err.message, "'threshold'"));
    assert_false(json_read_known(document, known, 1, "window", &err));
    assert_string_equal(err.param, "window.treshold");
    json_decref(document);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_json_has_line_and_column),
        cmocka_unit_test(text_that_is_not_utf8_is_refused),
        cmocka_unit_test(a_surrogate_pair_and_a_nul_are_data),
        cmocka_unit_test(depth_sixteen_is_the_last_that_is_read),
        cmocka_unit_test(too_many_values_are_refused_before_they_cost_memory),
        cmocka_unit_test(a_number_out_of_range_names_its_field),
        cmocka_unit_test(wrong_types_and_words_name_the_field),
        cmocka_unit_test(an_unknown_field_gets_the_nearest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
