/* test_normalizer.c: ranges through every kind of rewrite; all code points are in test_digests.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/text/normalizer.h"

/* Applies the steps and compares code points and ranges with `expected`, ended by code 0. */
static void check(const struct normalizer *normalizer, const char *text,
                  const struct normal_char *expected) {
    struct normal_text normal;
    normal_text_init(&normal);
    struct view view = view_of(text);
    assert_int_equal(normal_text_set(&normal, view, 0, view.bytes), STATUS_OK);
    assert_int_equal(normalizer_apply(normalizer, &normal), STATUS_OK);
    size_t i = 0;
    for (; expected[i].code != 0; i++) {
        assert_true(i < normal.now.count);
        assert_int_equal(normal.now.chars[i].code, expected[i].code);
        assert_int_equal(normal.now.chars[i].start, expected[i].start);
        assert_int_equal(normal.now.chars[i].end, expected[i].end);
    }
    assert_int_equal(normal.now.count, i);
    normal_text_free(&normal);
}

static void cleaning_drops_and_blanks_and_keeps_ranges(void **state) {
    (void)state;
    struct normalizer clean = {{{.kind = NORMALIZER_CLEAN}}, 1};
    check(&clean, "a\xe2\x80\x8b\tb",
          (const struct normal_char[]){{'a', 0, 1}, {' ', 4, 5}, {'b', 5, 6}, {0, 0, 0}});
}

static void an_ideograph_lends_its_range_to_its_blanks(void **state) {
    (void)state;
    struct normalizer space = {{{.kind = NORMALIZER_IDEOGRAPHS}}, 1};
    check(&space, "a\xe4\xb8\xad",
          (const struct normal_char[]){
              {'a', 0, 1}, {' ', 1, 4}, {0x4E2D, 1, 4}, {' ', 1, 4}, {0, 0, 0}});
}

static void decomposition_sorts_marks_and_ranges_stay_in_order(void **state) {
    (void)state;
    struct normalizer nfd = {{{.kind = NORMALIZER_NFD}}, 1};
    /* o with circumflex, then dot below: the dot moves in front of the circumflex. */
    check(&nfd, "\xc3\xb4\xcc\xa3",
          (const struct normal_char[]){{'o', 0, 2}, {0x323, 2, 4}, {0x302, 2, 4}, {0, 0, 0}});
}

static void a_long_run_of_marks_is_sorted_stably(void **state) {
    (void)state;
    char text[1 + 4 * 100 + 1] = "a";
    for (size_t i = 0; i < 100; i++) /* acute above, dot below */
        memcpy(text + 1 + 4 * i, "\xcc\x81\xcc\xa3", 5);
    struct normal_text normal;
    normal_text_init(&normal);
    struct view view = view_of(text);
    struct normalizer nfd = {{{.kind = NORMALIZER_NFD}}, 1};
    assert_int_equal(normal_text_set(&normal, view, 0, view.bytes), STATUS_OK);
    assert_int_equal(normalizer_apply(&nfd, &normal), STATUS_OK);
    assert_int_equal(normal.now.count, 201);
    for (size_t i = 1; i < 201; i++) {
        assert_int_equal(normal.now.chars[i].code, i <= 100 ? 0x323 : 0x301);
        assert_int_equal(normal.now.chars[i].start, 2 * i - 1);
    }
    normal_text_free(&normal);
}

static void lowercase_may_grow(void **state) {
    (void)state;
    struct normalizer lower = {{{.kind = NORMALIZER_LOWERCASE}}, 1};
    check(&lower, "\xc4\xb0Z",
          (const struct normal_char[]){{'i', 0, 2}, {0x307, 0, 2}, {'z', 2, 3}, {0, 0, 0}});
    check(&lower, "Z[", (const struct normal_char[]){{'z', 0, 1}, {'[', 1, 2}, {0, 0, 0}});
}

static void a_step_too_many_is_refused(void **state) {
    (void)state;
    const struct normalizer_step nfd = {.kind = NORMALIZER_NFD};
    struct normalizer normalizer = {.steps_count = 0};
    for (uint32_t i = 0; i < NORMALIZER_STEPS_MAX; i++)
        assert_int_equal(normalizer_add(&normalizer, &nfd), STATUS_OK);
    assert_int_equal(normalizer_add(&normalizer, &nfd), STATUS_UNSUPPORTED);
}

static void composition_takes_the_range_of_its_first_code_point(void **state) {
    (void)state;
    struct normalizer nfc = {{{.kind = NORMALIZER_NFC}}, 1};
    struct normalizer nfkc = {{{.kind = NORMALIZER_NFKC}}, 1};
    check(&nfc, "e\u0301x", (const struct normal_char[]){{0xE9, 0, 1}, {'x', 3, 4}, {0, 0, 0}});
    check(&nfc, "\u1100\u1161\u11a8", (const struct normal_char[]){{0xAC01, 0, 3}, {0, 0, 0}});
    check(&nfkc, "\ufb01x",
          (const struct normal_char[]){{'f', 0, 3}, {'i', 0, 3}, {'x', 3, 4}, {0, 0, 0}});
}

static void stripping_and_prepending_look_at_the_ends(void **state) {
    (void)state;
    struct normalizer strip = {{{.kind = NORMALIZER_STRIP, .left = true, .right = true}}, 1};
    struct normalizer prepend = {{{.kind = NORMALIZER_PREPEND, .content = {"__", 2}}}, 1};
    check(&strip, " \ta ", (const struct normal_char[]){{'a', 2, 3}, {0, 0, 0}});
    check(&strip, "  ", (const struct normal_char[]){{0, 0, 0}});
    check(&prepend, "ab",
          (const struct normal_char[]){
              {'_', 0, 1}, {'_', 0, 1}, {'a', 0, 1}, {'b', 1, 2}, {0, 0, 0}});
    check(&prepend, "", (const struct normal_char[]){{0, 0, 0}});
}

static void a_replacement_takes_the_range_of_the_end_of_its_match(void **state) {
    (void)state;
    struct normalizer_step step = {.kind = NORMALIZER_REPLACE, .content = {"yz", 2}};
    struct normalizer replace = {.steps_count = 0};
    assert_int_equal(pattern_open_string(view_of("ab"), &step.pattern, NULL), STATUS_OK);
    assert_int_equal(normalizer_add(&replace, &step), STATUS_OK);
    check(&replace, "xabab",
          (const struct normal_char[]){
              {'x', 0, 1}, {'y', 2, 3}, {'z', 2, 3}, {'y', 4, 5}, {'z', 4, 5}, {0, 0, 0}});
    normalizer_free(&replace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleaning_drops_and_blanks_and_keeps_ranges),
        cmocka_unit_test(an_ideograph_lends_its_range_to_its_blanks),
        cmocka_unit_test(decomposition_sorts_marks_and_ranges_stay_in_order),
        cmocka_unit_test(a_long_run_of_marks_is_sorted_stably),
        cmocka_unit_test(lowercase_may_grow),
        cmocka_unit_test(a_step_too_many_is_refused),
        cmocka_unit_test(composition_takes_the_range_of_its_first_code_point),
        cmocka_unit_test(stripping_and_prepending_look_at_the_ends),
        cmocka_unit_test(a_replacement_takes_the_range_of_the_end_of_its_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
