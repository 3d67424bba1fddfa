/* test_api_error.c: the error object, and texts of clients in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/api_error.h"

static void assert_written(const struct api_error *err, const char *expected) {
    struct json_writer out;
    json_writer_init(&out, 4096);
    api_error_write(err, API_DIALECT_NATIVE, "req-1", &out);
    assert_int_equal(out.bytes, strlen(expected));
    assert_memory_equal(out.data, expected, out.bytes);
    json_writer_free(&out);
}

static void an_error_has_message_type_code_and_param(void **state) {
    (void)state;
    struct api_error err;
    assert_false(api_error_set(&err, API_INVALID_TYPE, "input[3]", "not %s", "a \"number\""));
    assert_written(&err, "{\"error\":{\"message\":\"not a \\\"number\\\"\","
                         "\"type\":\"invalid_request_error\",\"code\":\"invalid_type\","
                         "\"param\":\"input[3]\"}}");
    api_error_set(&err, API_NOT_FOUND, NULL, "no route");
    assert_written(&err, "{\"error\":{\"message\":\"no route\",\"type\":\"invalid_request_error\","
                         "\"code\":\"not_found\",\"param\":null}}");
}

static void a_500_names_the_request_id(void **state) {
    (void)state;
    struct api_error err;
    api_error_set(&err, API_NOT_FINITE, NULL, "a NaN");
    assert_written(&err, "{\"error\":{\"message\":\"a NaN (request id req-1)\","
                         "\"type\":\"server_error\",\"code\":\"not_finite\",\"param\":null}}");
}

static void the_other_dialect_has_its_own_words_and_statuses(void **state) {
    (void)state;
    static const struct {
        enum api_code code;
        unsigned http_status;
        const char *type;
    } ROWS[] = {{API_EMPTY_INPUT, 400, "Empty"},        {API_TOO_MANY_INPUTS, 413, "Validation"},
                {API_MISSING_FIELD, 422, "Validation"}, {API_INPUT_TOO_LONG, 422, "Tokenizer"},
                {API_QUEUE_FULL, 429, "Overloaded"},    {API_LOADING, 503, "Unhealthy"},
                {API_NOT_FINITE, 500, "Backend"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct api_error err;
        struct json_writer out;
        api_error_set(&err, ROWS[i].code, "x", "why");
        json_writer_init(&out, 4096);
        api_error_write(&err, API_DIALECT_TEI, "req-1", &out);
        json_writer_append(&out, "", 1);
        assert_int_equal(api_error_status(ROWS[i].code, API_DIALECT_TEI), ROWS[i].http_status);
        assert_memory_equal(out.data, "{\"error\":\"why", 13);
        assert_non_null(strstr(out.data, ROWS[i].type));
        json_writer_free(&out);
    }
    assert_int_equal(api_error_status(API_MISSING_FIELD, API_DIALECT_NATIVE), 400);
}

static void what_clients_sent_is_made_valid_utf8(void **state) {
    (void)state;
    char out[8];
    api_text_clean(out, sizeof out, "a\n\x80\xC3\xA9\0b", 7);
    assert_string_equal(out, "a??\xC3\xA9?b");
    api_text_clean(out, sizeof out, "\xED\xA0\x80", 3); /* a surrogate */
    assert_string_equal(out, "???");
    api_text_clean(out, sizeof out, "123456\xE2\x82\xAC", 9); /* no room for the last one */
    assert_string_equal(out, "123456");
    api_text_clean(out, sizeof out, "\xE2\x82", 2);
    assert_string_equal(out, "??");
}

static void engine_errors_keep_their_input(void **state) {
    (void)state;
    struct error error;
    struct api_error err;
    error_set(&error, STATUS_INPUT_TOO_LONG, "513 tokens, 512 allowed");
    error.input = 7;
    api_error_from_engine(&err, &error, true);
    assert_int_equal(api_code_http_status(err.code), 422);
    assert_string_equal(err.param, "input[7]");
    assert_string_equal(err.message, "513 tokens, 512 allowed");
    api_error_from_engine(&err, &error, false);
    assert_string_equal(err.param, "input");
    error_set(&error, STATUS_QUEUE_FULL, "%s", "");
    api_error_from_engine(&err, &error, true);
    assert_int_equal(api_code_http_status(err.code), 429);
    assert_string_equal(err.param, "");
    assert_string_equal(err.message, status_meaning(STATUS_QUEUE_FULL));
}

static void codes_agree_with_the_status_table(void **state) {
    (void)state;
    for (int s = STATUS_OK + 1; s < STATUS_COUNT; s++) {
        struct error error;
        struct api_error err;
        error_set(&error, (enum status)s, "x");
        api_error_from_engine(&err, &error, true);
        if (s != STATUS_CANCELLED) /* its reason is the front end's */
            assert_string_equal(api_code_name(err.code), status_code((enum status)s));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_has_message_type_code_and_param),
        cmocka_unit_test(the_other_dialect_has_its_own_words_and_statuses),
        cmocka_unit_test(a_500_names_the_request_id),
        cmocka_unit_test(what_clients_sent_is_made_valid_utf8),
        cmocka_unit_test(engine_errors_keep_their_input),
        cmocka_unit_test(codes_agree_with_the_status_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
