/* test_json_write.c: numbers are the shortest that read back, strings are escaped, commas are
 * right, and the maximum holds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/json_write.h"

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Significant digits of a formatted number. */
static int digits_of(const char *number) {
    int count = 0, zeros = 0;
    for (const char *c = number; *c && *c != 'e'; c++) {
        if (*c < '0' || *c > '9' || (*c == '0' && count == 0))
            continue;
        zeros = *c == '0' ? zeros + 1 : 0;
        count++;
    }
    return count - zeros;
}

/* The definition, taken literally: the fewest digits of a rounded print that read back. */
static int digits_needed(float value) {
    char text[64];
    for (int count = 1; count < 9; count++) {
        snprintf(text, sizeof text, "%.*e", count - 1, (double)value);
        if (strtof(text, NULL) == value)
            return digits_of(text);
    }
    return 9;
}

static void check_float(float value) {
    char text[JSON_NUMBER_BYTES];
    size_t n = json_format_float(value, text);
    assert_int_equal(n, strlen(text));
    char *end;
    float back = strtof(text, &end);
    if (*end || back != value || signbit(back) != signbit(value) ||
        digits_of(text) > digits_needed(value))
        fail_msg("%.9g was written as %s", (double)value, text);
}

static void floats_read_back_and_are_shortest(void **state) {
    (void)state;
    uint32_t random = 12345;
    for (int i = 0; i < 20000; i++) {
        random = random * 1664525u + 1013904223u;
        float any = float_of_bits(random);
        if (isfinite(any) && any != 0.0f)
            check_float(any);
        check_float((float)(random >> 8) / 16777216.0f + 1e-7f); /* like a score */
    }
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (int step = -1; step <= 1; step++)
            if ((exponent << 23) + (uint32_t)step - 1 < 0x7F7FFFFF)
                check_float(float_of_bits((exponent << 23) + (uint32_t)step));
    for (int i = 1; i <= 9999; i++)
        check_float((float)i / 10000.0f);
}

static void floats_have_known_spellings(void **state) {
    (void)state;
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.0f, "0"},
        {-0.0f, "-0"},
        {1.0f, "1"},
        {0.91f, "0.91"},
        {-0.5f, "-0.5"},
        {1.5f, "1.5"},
        {100.0f, "100"},
        {16777216.0f, "16777216"},
        {0.1f, "0.1"},
        {1.0f / 3.0f, "0.33333334"},
        {0.00001f, "0.00001"},
        {1.25e-9f, "1.25e-9"},
        {1e20f, "1e20"},
        {3.4028235e38f, "3.4028235e38"},
        {1e-45f, "1e-45"},
        {123.456f, "123.456"},
        {235000992.0f, "235001000"}, /* a tie that reads back */
    };
    char text[JSON_NUMBER_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_format_float(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void assert_json(const struct json_writer *json, const char *expected) {
    assert_false(json->failed);
    assert_int_equal(json->bytes, strlen(expected));
    assert_memory_equal(json->data, expected, json->bytes);
}

static void values_are_separated_by_commas(void **state) {
    (void)state;
    struct json_writer json;
    json_init(&json, 4096);
    json_open(&json, '{');
    json_key(&json, "a");
    json_open(&json, '[');
    json_count(&json, 1);
    json_write_integer(&json, -2);
    json_open(&json, '[');
    json_close(&json, ']');
    json_float(&json, 0.5f);
    json_double(&json, 1.0 / 3.0);
    json_close(&json, ']');
    json_key(&json, "b");
    json_bool(&json, true);
    json_key(&json, "c");
    json_write_null(&json);
    json_key(&json, "d");
    json_value(&json, view_of("{}"));
    json_close(&json, '}');
    assert_json(&json, "{\"a\":[1,-2,[],0.5,0.333333],\"b\":true,\"c\":null,\"d\":{}}");
    json_reset(&json);
    json_text(&json, "x");
    assert_json(&json, "\"x\"");
    json_free(&json);
}

static void strings_are_escaped(void **state) {
    (void)state;
    struct json_writer json;
    json_init(&json, 4096);
    json_write_string(&json, (struct view){"a\"\\\b\t\n\f\r\v\0\x1f\x7f/\xC3\xA9z", 16});
    assert_json(&json, "\"a\\\"\\\\\\b\\t\\n\\f\\r\\u000b\\u0000\\u001f\\u007f/\xC3\xA9z\"");
    json_reset(&json);
    json_write_string(&json, (struct view){NULL, 0});
    assert_json(&json, "\"\"");
    json_free(&json);
}

static void the_maximum_holds_and_the_failure_sticks(void **state) {
    (void)state;
    struct json_writer json;
    json_init(&json, 1000);
    char text[998];
    memset(text, 'x', sizeof text);
    json_write_string(&json, (struct view){text, sizeof text});
    assert_false(json.failed);
    assert_int_equal(json.bytes, 1000);
    json_count(&json, 1);
    assert_true(json.failed);
    assert_int_equal(json.bytes, 1000);
    json_reset(&json);
    json_count(&json, 1);
    assert_json(&json, "1");
    json_free(&json);
}

static void numbers_that_are_not_finite_are_failures(void **state) {
    (void)state;
    struct json_writer json;
    json_init(&json, 100);
    json_float(&json, NAN);
    assert_true(json.failed);
    json_reset(&json);
    json_double(&json, INFINITY);
    assert_true(json.failed);
    json_free(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_read_back_and_are_shortest),
        cmocka_unit_test(floats_have_known_spellings),
        cmocka_unit_test(values_are_separated_by_commas),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(the_maximum_holds_and_the_failure_sticks),
        cmocka_unit_test(numbers_that_are_not_finite_are_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
