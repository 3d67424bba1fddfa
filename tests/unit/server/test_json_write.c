/* test_json_write.c: structure, escapes, limits and numbers of the JSON writer. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/float_format.h"
#include "server/json_write.h"

static void assert_written(const struct json_writer *writer, const char *expected) {
    assert_false(json_writer_failed(writer));
    assert_int_equal(writer->bytes, strlen(expected));
    assert_memory_equal(writer->data, expected, writer->bytes);
}

static void commas_and_colons_stand_where_json_wants_them(void **state) {
    (void)state;
    struct json_writer w;
    json_writer_init(&w, 4096);
    json_put_begin_object(&w);
    json_put_key(&w, "a");
    json_put_begin_array(&w);
    json_put_integer(&w, -1);
    json_put_begin_object(&w);
    json_put_end_object(&w);
    json_put_begin_array(&w);
    json_put_end_array(&w);
    json_put_null(&w);
    json_put_end_array(&w);
    json_put_key(&w, "b");
    json_put_bool(&w, true);
    json_put_key(&w, "c");
    json_put_raw(&w, "{\"x\":1}");
    json_put_key(&w, "d");
    json_put_unsigned(&w, UINT64_MAX);
    json_put_end_object(&w);
    assert_written(&w, "{\"a\":[-1,{},[],null],\"b\":true,\"c\":{\"x\":1},"
                       "\"d\":18446744073709551615}");
    json_writer_free(&w);
}

static void strings_are_escaped_only_where_json_wants_it(void **state) {
    (void)state;
    struct json_writer w;
    json_writer_init(&w, 4096);
    json_put_string_view(&w, (struct view){"a\"\\\n\x01\0\x7f\xF0\x9F\x98\x80/", 12});
    assert_written(&w, "\"a\\\"\\\\\\n\\u0001\\u0000\\u007f\xF0\x9F\x98\x80/\"");
    json_writer_free(&w);
}

static void the_first_failure_sticks_and_the_maximum_holds(void **state) {
    (void)state;
    struct json_writer w;
    json_writer_init(&w, 10);
    json_put_string(&w, "12345678");
    assert_written(&w, "\"12345678\"");
    json_put_null(&w);
    assert_true(json_writer_failed(&w));
    assert_true(w.bytes <= 10 && w.capacity <= 10);
    json_writer_free(&w);
}

static void a_flush_keeps_the_comma_that_is_due(void **state) {
    (void)state;
    struct json_writer w;
    json_writer_init(&w, 100);
    json_put_begin_array(&w);
    json_put_integer(&w, 1);
    json_writer_flush(&w);
    json_put_integer(&w, 2);
    assert_written(&w, ",2");
    json_writer_free(&w);
}

static void floats_have_their_known_forms(void **state) {
    (void)state;
    static const struct {
        float value;
        const char *text;
    } rows[] = {
        {0.0f, "0.0"},
        {-0.0f, "-0.0"},
        {1.0f, "1.0"},
        {0.1f, "0.1"},
        {0.25f, "0.25"},
        {-0.5f, "-0.5"},
        {0.3f, "0.3"},
        {100.0f, "100.0"},
        {123456.79f, "123456.79"},
        {1e-4f, "0.0001"},
        {1e-5f, "1e-05"},
        {1.5e-7f, "1.5e-07"},
        {16777216.0f, "16777216.0"},
        {1e15f, "1000000000000000.0"},
        {1e16f, "1e+16"},
        {3.4028235e38f, "3.4028235e+38"},
        {1e-45f, "1e-45"},
        {1.1754944e-38f, "1.1754944e-38"},
        {0.99999994f, "0.99999994"},
        {9007199254740992.0f, "9007199000000000.0"},
    };
    char text[FLOAT_FORMAT_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(float_format(text, rows[i].value), strlen(rows[i].text));
        assert_string_equal(text, rows[i].text);
    }
    struct json_writer w;
    json_writer_init(&w, 100);
    json_put_float(&w, NAN);
    json_put_float(&w, -INFINITY);
    json_put_double(&w, NAN);
    assert_written(&w, "null,null,null");
    json_writer_free(&w);
}

static size_t significant_digits(const char *text) {
    char digits[FLOAT_FORMAT_BYTES];
    size_t count = 0;
    for (const char *c = text; *c && *c != 'e'; c++)
        if (*c >= '0' && *c <= '9' && (count > 0 || *c != '0'))
            digits[count++] = *c;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return count;
}

/* Counts values of `count` random bit patterns in [low, low + range) that are not the shortest. */
static size_t count_wrong(uint32_t low, uint32_t range, size_t count) {
    uint64_t random = 88172645463325252ULL;
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint32_t bits = low + (uint32_t)(random >> 32) % range;
        float value;
        memcpy(&value, &bits, sizeof value);
        char text[FLOAT_FORMAT_BYTES], shortest[32];
        float_format(text, value);
        float back = strtof(text, NULL);
        int n = 0;
        do
            snprintf(shortest, sizeof shortest, "%.*e", n++, (double)value);
        while (strtof(shortest, NULL) != value);
        wrong += memcmp(&back, &value, sizeof back) != 0 || significant_digits(text) > (size_t)n ||
                 strtod(text, NULL) != strtod(shortest, NULL);
    }
    return wrong;
}

static void random_floats_read_back_in_the_fewest_digits(void **state) {
    (void)state;
    assert_int_equal(count_wrong(1, 0x7f7fffff, 100000), 0);          /* all positive ones */
    assert_int_equal(count_wrong(0x30000000, 0x0f800001, 200000), 0); /* scores: 2^-31 to 1 */
    assert_int_equal(count_wrong(1, 0x007fffff, 20000), 0);           /* subnormals */
    assert_int_equal(count_wrong(0x4b000000, 0x08000000, 50000), 0);  /* large whole numbers */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_colons_stand_where_json_wants_them),
        cmocka_unit_test(strings_are_escaped_only_where_json_wants_it),
        cmocka_unit_test(the_first_failure_sticks_and_the_maximum_holds),
        cmocka_unit_test(a_flush_keeps_the_comma_that_is_due),
        cmocka_unit_test(floats_have_their_known_forms),
        cmocka_unit_test(random_floats_read_back_in_the_fewest_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
