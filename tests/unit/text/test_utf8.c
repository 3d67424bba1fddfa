/* test_utf8.c: the check at the entrance, and decoding behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/text/utf8.h"

static void every_code_point_is_well_formed_and_comes_back(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 0x110000; code++) {
        char bytes[UTF8_BYTES_MAX];
        size_t length = utf8_encode(code, bytes);
        bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        assert_int_equal(utf8_check((struct view){bytes, length}, NULL), !surrogate);
        if (!surrogate) {
            assert_int_equal(utf8_decode(bytes), code);
            assert_int_equal(utf8_length((unsigned char)bytes[0]), length);
            assert_int_equal(utf8_back(bytes, length), 0);
        }
    }
}

static void malformed_bytes_are_found_at_their_place(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t length, fault;
    } CASES[] = {{"\xff", 1, 0},
                 {"ab\x80", 3, 2},
                 {"\xc0\x80", 2, 0},
                 {"\xc1\xbf", 2, 0},
                 {"\xe0\x9f\xbf", 3, 0},
                 {"\xed\xa0\x80", 3, 0},
                 {"\xf0\x8f\xbf\xbf", 4, 0},
                 {"\xf4\x90\x80\x80", 4, 0},
                 {"\xf5\x80\x80\x80", 4, 0},
                 {"x\xe2\x82", 3, 1},
                 {"x\xf0\x9f\x98", 4, 1},
                 {"\xe2\x28\xa1", 3, 0},
                 {"12345678\xc3(", 10, 8},
                 {"1234567\x80", 8, 7}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        size_t fault = 99;
        assert_false(utf8_check((struct view){CASES[i].bytes, CASES[i].length}, &fault));
        assert_int_equal(fault, CASES[i].fault);
    }
}

static void nul_and_nothing_are_text(void **state) {
    (void)state;
    assert_true(utf8_check((struct view){"a\0b", 3}, NULL));
    assert_true(utf8_check((struct view){NULL, 0}, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_well_formed_and_comes_back),
        cmocka_unit_test(malformed_bytes_are_found_at_their_place),
        cmocka_unit_test(nul_and_nothing_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
