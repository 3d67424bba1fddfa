/* test_http_headers.c: which framings and body headers are allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/http_headers.h"

/* Headers as "Name: value" lines, ended by NULL. */
static struct http_headers parse(bool http_1_1, const char *const *lines) {
    struct http_headers headers = {.http_1_1 = http_1_1};
    for (; *lines; lines++) {
        const char *colon = strchr(*lines, ':');
        assert_non_null(colon);
        http_headers_add(&headers, (struct view){*lines, (size_t)(colon - *lines)},
                         view_of(colon + 2));
    }
    return headers;
}

#define PARSE(...) parse(true, (const char *const[]){"Host: x", __VA_ARGS__, NULL})

static void assert_framing(struct http_headers headers, enum api_code code) {
    struct api_error err = {.code = API_CODE_COUNT};
    assert_int_equal(http_headers_check(&headers, &err), code == API_CODE_COUNT);
    assert_int_equal(err.code, code);
}

static void assert_json(struct http_headers headers, enum api_code code) {
    struct api_error err = {.code = API_CODE_COUNT};
    assert_int_equal(http_headers_check_json(&headers, 100, &err), code == API_CODE_COUNT);
    assert_int_equal(err.code, code);
}

static void a_framing_that_can_be_read_in_two_ways_is_refused(void **state) {
    (void)state;
    assert_framing(PARSE("Content-Length: 5", "Transfer-Encoding: chunked"), API_INVALID_FRAMING);
    assert_framing(PARSE("Content-Length: 5", "content-length: 5"), API_INVALID_FRAMING);
    assert_framing(PARSE("Content-Length: +5"), API_INVALID_FRAMING);
    assert_framing(PARSE("Content-Length : 5"), API_INVALID_FRAMING);
    assert_framing(PARSE("Transfer-Encoding: gzip, chunked"), API_CODING_NOT_IMPLEMENTED);
    assert_framing(PARSE("Transfer-Encoding: identity"), API_CODING_NOT_IMPLEMENTED);
    assert_framing(PARSE("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
                   API_CODING_NOT_IMPLEMENTED);
    assert_framing(parse(false, (const char *const[]){"Transfer-Encoding: chunked", NULL}),
                   API_INVALID_FRAMING);
    assert_framing(PARSE("Transfer-Encoding: chunked "), API_CODING_NOT_IMPLEMENTED);
    assert_framing(PARSE("Transfer-Encoding: CHUNKED"), API_CODE_COUNT);
    assert_framing(PARSE("Content-Length: 5"), API_CODE_COUNT);
}

/* A request as a parser leaves it that ends each part in place; 'N' stands for a NUL that was sent,
 * '|' for those that the parser wrote. */
static struct http_headers parse_in_place(const char *text) {
    char data[256];
    const size_t bytes = strlen(text);
    assert_true(bytes < sizeof data);
    for (size_t i = 0; i <= bytes; i++)
        data[i] = text[i] == '|' || text[i] == 'N' ? '\0' : text[i];
    char *at = strchr(text, '|') + 1 - text + data;
    struct http_headers headers = {.target = http_target_of(at)};
    at += strcspn(text + (at - data), "|") + 1;
    http_headers_begin(&headers, data, at);
    at += strcspn(text + (at - data), "|") + 2;
    while (*at) {
        const char *value = at + strlen(at) + 1;
        http_headers_add(&headers, view_of(at), view_of(value));
        at += strcspn(text + (value - data), "|") + 2 + (size_t)(value - at);
    }
    http_headers_end(&headers, data, bytes);
    return headers;
}

static void a_nul_that_hides_the_rest_of_a_part_is_refused(void **state) {
    (void)state;
    assert_framing(parse_in_place("GET|/a|HTTP/1.1||Host|x||A|b||||"), API_CODE_COUNT);
    assert_framing(parse_in_place("GNET|/a|HTTP/1.1||Host|x||||"), API_INVALID_FRAMING);
    assert_framing(parse_in_place("GET|/aNb|HTTP/1.1||Host|x||||"), API_INVALID_FRAMING);
    assert_framing(parse_in_place("GET|/aN|HTTP/1.1||Host|x||||"), API_INVALID_FRAMING);
    assert_framing(parse_in_place("GET|/a|HTTP/1.1N||Host|x||||"), API_INVALID_FRAMING);
    assert_framing(parse_in_place("GET|/a|HTTP/1.1||Host|xNy||A|b||||"), API_INVALID_FRAMING);
    assert_framing(parse_in_place("GET|/a|HTTP/1.1||Host|x||A|bN||||"), API_INVALID_FRAMING);
}

static void a_slash_in_disguise_is_no_slash_of_a_path(void **state) {
    (void)state;
    assert_true(http_target_of("/v1%2fclassify").has_slash);
    assert_true(http_target_of("/v1%2Fclassify?a").has_slash);
    assert_false(http_target_of("/v1/classify?a=%2f").has_slash);
    assert_false(http_target_of("/%6civez%2").has_slash);
    assert_true(http_target_of("/a%00").has_nul);
    assert_false(http_target_of("/a%0").has_nul);
}

static void http_1_1_wants_one_host_and_http_1_0_none(void **state) {
    (void)state;
    assert_framing(parse(true, (const char *const[]){"A: b", NULL}), API_INVALID_FRAMING);
    assert_framing(PARSE("Host: y"), API_INVALID_FRAMING);
    assert_framing(parse(false, (const char *const[]){"A: b", NULL}), API_CODE_COUNT);
}

static void long_headers_and_targets_are_refused(void **state) {
    (void)state;
    struct api_error err;
    struct http_headers headers = PARSE("A: b");
    headers.bytes = LIMIT_HEADER_BYTES;
    assert_framing(headers, API_CODE_COUNT);
    headers.bytes++;
    assert_framing(headers, API_HEADERS_TOO_LARGE);
    headers.target.bytes = LIMIT_TARGET_BYTES;
    assert_true(http_headers_check_request(&headers, &err));
    headers.target.bytes++;
    assert_false(http_headers_check_request(&headers, &err));
    assert_int_equal(err.code, API_TARGET_TOO_LONG);
}

static void only_100_continue_can_be_expected(void **state) {
    (void)state;
    struct api_error err;
    struct http_headers headers = PARSE("Expect: 100-Continue", "Content-Length: 3");
    assert_true(http_headers_check_request(&headers, &err));
    assert_true(http_headers_continue(&headers));
    headers = PARSE("Expect: 100-continue", "Content-Length: 0");
    assert_false(http_headers_continue(&headers));
    headers = PARSE("Expect: tea");
    assert_false(http_headers_check_request(&headers, &err));
    assert_int_equal(err.code, API_EXPECTATION_FAILED);
}

static void a_body_is_json_of_a_stated_length_without_coding(void **state) {
    (void)state;
    assert_json(PARSE("Content-Length: 100"), API_CODE_COUNT);
    assert_json(PARSE("Content-Length: 101"), API_BODY_TOO_LARGE);
    assert_json(PARSE("Content-Length: 99999999999999999999999"), API_BODY_TOO_LARGE);
    assert_json(PARSE("Transfer-Encoding: chunked"), API_CODE_COUNT);
    assert_json(PARSE("A: b"), API_LENGTH_REQUIRED);
    assert_json(PARSE("Content-Length: 1", "Content-Encoding: gzip"), API_UNSUPPORTED_MEDIA_TYPE);
    assert_json(PARSE("Content-Length: 1", "Content-Encoding: identity"), API_CODE_COUNT);
    assert_json(PARSE("Content-Length: 1", "Content-Type: text/plain"), API_UNSUPPORTED_MEDIA_TYPE);
    assert_json(PARSE("Content-Length: 1", "Content-Type: application/jsonx"),
                API_UNSUPPORTED_MEDIA_TYPE);
    assert_json(PARSE("Content-Length: 1", "Content-Type: Application/JSON; charset=utf-8"),
                API_CODE_COUNT);
    assert_json(PARSE("Content-Length: 1", "Content-Type: application/x-www-form-urlencoded"),
                API_CODE_COUNT);
}

static void a_request_id_is_kept_only_when_it_is_sane(void **state) {
    (void)state;
    char line[LIMIT_REQUEST_ID_BYTES + 32] = "X-Request-Id: ";
    assert_string_equal(PARSE("X-Request-Id: a-1_B.c/=").request_id, "a-1_B.c/=");
    assert_string_equal(PARSE("X-Request-Id: a b").request_id, "");
    assert_string_equal(PARSE("X-Request-Id: a\"b").request_id, "");
    assert_string_equal(PARSE("X-Request-Id: \xC3\xA9").request_id, "");
    memset(line + 14, 'a', LIMIT_REQUEST_ID_BYTES);
    assert_string_equal(PARSE(line).request_id, line + 14);
    line[14 + LIMIT_REQUEST_ID_BYTES] = 'a';
    assert_string_equal(PARSE(line).request_id, "");
}

static void a_timeout_is_a_whole_number_of_milliseconds(void **state) {
    (void)state;
    struct api_error err;
    struct http_headers headers = PARSE("X-Request-Timeout-Ms: 250");
    assert_true(headers.has_timeout && headers.timeout_ms == 250);
    headers = PARSE("X-Request-Timeout-Ms: 99999999999999999999");
    assert_int_equal(headers.timeout_ms, UINT32_MAX);
    static const char *const bad[] = {"X-Request-Timeout-Ms: 0", "X-Request-Timeout-Ms: 1.5",
                                      "X-Request-Timeout-Ms: -1", "X-Request-Timeout-Ms: "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        headers = PARSE(bad[i]);
        assert_false(http_headers_check_request(&headers, &err));
        assert_int_equal(err.code, API_INVALID_VALUE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_framing_that_can_be_read_in_two_ways_is_refused),
        cmocka_unit_test(a_nul_that_hides_the_rest_of_a_part_is_refused),
        cmocka_unit_test(a_slash_in_disguise_is_no_slash_of_a_path),
        cmocka_unit_test(http_1_1_wants_one_host_and_http_1_0_none),
        cmocka_unit_test(long_headers_and_targets_are_refused),
        cmocka_unit_test(only_100_continue_can_be_expected),
        cmocka_unit_test(a_body_is_json_of_a_stated_length_without_coding),
        cmocka_unit_test(a_request_id_is_kept_only_when_it_is_sane),
        cmocka_unit_test(a_timeout_is_a_whole_number_of_milliseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
