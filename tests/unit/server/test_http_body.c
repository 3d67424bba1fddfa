/* test_http_body.c: limits of one body and of all bodies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/http_body.h"

static void pieces_become_one_body(void **state) {
    (void)state;
    _Atomic uint64_t total = 0;
    struct http_body body = {0};
    struct api_error err;
    char expected[20000], piece[100];
    for (size_t i = 0; i < sizeof expected; i += sizeof piece) {
        memset(piece, 'a' + (int)(i / sizeof piece % 26), sizeof piece);
        memcpy(expected + i, piece, sizeof piece);
        assert_true(http_body_append(&body, piece, sizeof piece, 20000, &total, 1 << 20, &err));
    }
    assert_int_equal(body.bytes, sizeof expected);
    assert_memory_equal(body.data, expected, sizeof expected);
    assert_int_equal(total, body.capacity);
    http_body_free(&body, &total);
    assert_int_equal(total, 0);
}

static void one_byte_over_the_limit_is_too_large_and_frees_the_rest(void **state) {
    (void)state;
    _Atomic uint64_t total = 0;
    struct http_body body = {0};
    struct api_error err;
    assert_true(http_body_append(&body, "12345678", 8, 10, &total, 1 << 20, &err));
    assert_true(http_body_append(&body, "90", 2, 10, &total, 1 << 20, &err));
    assert_false(http_body_append(&body, "1", 1, 10, &total, 1 << 20, &err));
    assert_int_equal(err.code, API_BODY_TOO_LARGE);
    assert_int_equal(total, 0);
    assert_int_equal(body.received, 11);
    assert_null(body.data);
}

static void all_bodies_share_one_budget(void **state) {
    (void)state;
    _Atomic uint64_t total = 0;
    struct http_body first = {0}, second = {0};
    struct api_error err;
    static char data[6000];
    assert_true(http_body_append(&first, data, sizeof data, 10000, &total, 10000, &err));
    assert_false(http_body_append(&second, data, sizeof data, 10000, &total, 10000, &err));
    assert_int_equal(err.code, API_QUEUE_FULL);
    assert_int_equal(total, first.capacity);
    http_body_free(&first, &total);
    assert_true(http_body_append(&second, data, sizeof data, 10000, &total, 10000, &err));
    http_body_free(&second, &total);
    assert_int_equal(total, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_become_one_body),
        cmocka_unit_test(one_byte_over_the_limit_is_too_large_and_frees_the_rest),
        cmocka_unit_test(all_bodies_share_one_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
