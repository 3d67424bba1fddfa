/* test_charsmap.c: the character map by its keys, its clusters and its ranges; damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/text/normalizer.h"

enum { UNITS = 1024, NODES = 256, LEAVES = 512, STRINGS = 8 };

static char image[4 + UNITS * 4 + STRINGS];

static void put_u32(char *out, uint32_t value) {
    for (int i = 0; i < 4; i++)
        out[i] = (char)(value >> 8 * i & 0xFF);
}

static void set_unit(uint32_t at, uint32_t unit) {
    put_u32(image + 4 + at * 4, unit);
}

/* A map of three keys of one byte: "a" to "xy", "b" to nothing, CR to "_". */
static struct view make_map(void) {
    static const struct {
        unsigned char byte;
        uint32_t value;
    } KEYS[] = {{'a', 0}, {'b', 2}, {'\r', 3}};
    memset(image, 0, sizeof image);
    put_u32(image, UNITS * 4);
    set_unit(0, NODES << 10);
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        set_unit(NODES + KEYS[i].byte, (uint32_t)LEAVES << 10 | 1u << 8 | KEYS[i].byte);
        set_unit((NODES + KEYS[i].byte) ^ LEAVES, 0x80000000u | KEYS[i].value);
    }
    memcpy(image + 4 + UNITS * 4, "xy\0_\0\0\0", STRINGS);
    return (struct view){image, sizeof image};
}

static void check(const char *text, const struct normal_char *expected, size_t count) {
    struct normalizer_step step = {.kind = NORMALIZER_PRECOMPILED};
    struct normalizer normalizer = {.steps_count = 0};
    struct normal_text normal;
    assert_int_equal(charsmap_open_bytes(make_map(), &step.charsmap, NULL), STATUS_OK);
    assert_int_equal(normalizer_add(&normalizer, &step), STATUS_OK);
    normal_text_init(&normal);
    assert_int_equal(normal_text_set(&normal, view_of(text), 0, strlen(text)), STATUS_OK);
    assert_int_equal(normalizer_apply(&normalizer, &normal), STATUS_OK);
    assert_int_equal(normal.now.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(normal.now.chars[i].code, expected[i].code);
        assert_int_equal(normal.now.chars[i].start, expected[i].start);
        assert_int_equal(normal.now.chars[i].end, expected[i].end);
    }
    normal_text_free(&normal);
    normalizer_free(&normalizer);
}

static void a_replacement_that_grows_shares_the_range(void **state) {
    (void)state;
    const struct normal_char expected[] = {{'c', 0, 1}, {'x', 1, 2}, {'y', 1, 2}, {'c', 2, 3}};
    check("cac", expected, 4);
}

/* What is deleted is consumed by what stands before it. */
static void a_deletion_keeps_the_ranges_behind_it(void **state) {
    (void)state;
    const struct normal_char expected[] = {{'c', 0, 1}, {'d', 2, 3}};
    check("cbd", expected, 2);
}

/* With nothing before it, a deletion moves all ranges: a quirk of the pinned library. */
static void a_deletion_at_the_start_moves_the_ranges(void **state) {
    (void)state;
    const struct normal_char expected[] = {{'c', 0, 1}, {'d', 1, 2}};
    check("bcd", expected, 2);
}

static void the_shortest_key_stands_for_a_short_cluster(void **state) {
    (void)state;
    const struct normal_char mark[] = {{'x', 0, 1}, {'y', 1, 3}};
    const struct normal_char lines[] = {{'_', 0, 1}, {'c', 2, 3}};
    const struct normal_char whole[] = {
        {'x', 0, 1}, {'y', 0, 1}, {0x301, 1, 3}, {0x301, 3, 5}, {0x301, 5, 7}};
    check("a\u0301", mark, 2);
    check("\r\nc", lines, 2);
    check("a\u0301\u0301\u0301", whole, 5); /* seven bytes: each code point */
}

static void damaged_maps_are_refused(void **state) {
    (void)state;
    struct charsmap *map;
    struct view whole = make_map();
    for (size_t bytes = 0; bytes < 4 + UNITS * 4; bytes += 3)
        assert_int_equal(charsmap_open_bytes((struct view){image, bytes}, &map, NULL),
                         STATUS_BAD_FILE);
    set_unit((NODES + 'a') ^ LEAVES, 0x80000000u | STRINGS);
    assert_int_equal(charsmap_open_bytes(whole, &map, NULL), STATUS_BAD_FILE);
    make_map();
    set_unit(NODES + 'b', 0x1FFFFFu << 10 | 'b');
    assert_int_equal(charsmap_open_bytes(whole, &map, NULL), STATUS_BAD_FILE);
    make_map();
    image[sizeof image - 1] = (char)0xFF;
    assert_int_equal(charsmap_open_bytes(whole, &map, NULL), STATUS_BAD_FILE);
    assert_int_equal(charsmap_open(view_of("AA*A"), &map, NULL), STATUS_BAD_FILE);
    assert_null(map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replacement_that_grows_shares_the_range),
        cmocka_unit_test(a_deletion_keeps_the_ranges_behind_it),
        cmocka_unit_test(a_deletion_at_the_start_moves_the_ranges),
        cmocka_unit_test(the_shortest_key_stands_for_a_short_cluster),
        cmocka_unit_test(damaged_maps_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
