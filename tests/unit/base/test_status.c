/* test_status.c: names of the status table, and errors whose message fills its room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/status.h"

static void every_status_has_texts(void **state) {
    (void)state;
    for (int s = 0; s < STATUS_COUNT; s++) {
        assert_true(strlen(status_name((enum status)s)) > 0);
        assert_true(strlen(status_code((enum status)s)) > 0);
        assert_true(strlen(status_meaning((enum status)s)) > 0);
    }
    assert_string_equal(status_name((enum status)9999), "INTERNAL");
}

static void a_long_message_is_cut_between_code_points(void **state) {
    (void)state;
    struct error err;
    char text[2 * ERROR_MESSAGE_BYTES];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'a', sizeof text);
        for (size_t i = shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xE2\x82\xAC", 3);
        text[sizeof text - 1] = '\0';
        assert_int_equal(error_set(&err, STATUS_IO, "%s", text), STATUS_IO);
        size_t n = strlen(err.message);
        assert_true(n >= ERROR_MESSAGE_BYTES - 4);
        assert_int_equal((n - shift) % 3, 0);
    }
}

static void a_prefix_comes_first(void **state) {
    (void)state;
    struct error err;
    error_set(&err, STATUS_BAD_FILE, "field is %d", 3);
    assert_int_equal(error_prefix(&err, "%s", "config.json"), STATUS_BAD_FILE);
    assert_string_equal(err.message, "config.json: field is 3");
}

static void a_message_is_one_line(void **state) {
    (void)state;
    struct error err;
    error_set(&err, STATUS_BAD_FILE, "token \"%s\"", "a\nb\x7F\x1B[2J\xC3\xA9");
    assert_string_equal(err.message, "token \"a?b??[2J\xC3\xA9\"");
    error_prefix(&err, "dir%s", "\r\n");
    assert_string_equal(err.message, "dir??: token \"a?b??[2J\xC3\xA9\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_texts),
        cmocka_unit_test(a_long_message_is_cut_between_code_points),
        cmocka_unit_test(a_prefix_comes_first),
        cmocka_unit_test(a_message_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
