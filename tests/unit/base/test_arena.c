/* test_arena.c: pieces are aligned, apart from each other, and never past the maximum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/arena.h"

static void pieces_are_aligned_and_do_not_overlap(void **state) {
    (void)state;
    enum { PIECES = 300 };
    unsigned char *pieces[PIECES];
    struct arena arena;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = arena_alloc(&arena, i * 3);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 64, 0);
        memset(pieces[i], (int)(i % 251), i * 3);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t at = 0; at < i * 3; at++)
            assert_int_equal(pieces[i][at], i % 251);
    arena_free(&arena);
}

static void it_never_grows_past_its_maximum(void **state) {
    (void)state;
    struct arena arena;
    size_t got = 0;
    arena_init(&arena, 10000);
    assert_null(arena_alloc(&arena, 10001));
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_calloc(&arena, SIZE_MAX / 2, 3));
    while (arena_alloc(&arena, 64))
        got += 64;
    assert_in_range(got, 5000, 10000);
    assert_true(arena.bytes_total <= 10000);
    arena_free(&arena);
    assert_non_null(arena_alloc(&arena, 9000)); /* as new */
    arena_free(&arena);
}

static void copies_end_in_a_nul_and_counted_items_are_zeroed(void **state) {
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 16);
    assert_string_equal(arena_copy(&arena, (struct view){"abcd", 3}), "abc");
    assert_string_equal(arena_copy(&arena, (struct view){NULL, 0}), "");
    unsigned char *zeros = arena_calloc(&arena, 100, 7);
    assert_non_null(zeros);
    for (size_t i = 0; i < 700; i++)
        assert_int_equal(zeros[i], 0);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_do_not_overlap),
        cmocka_unit_test(it_never_grows_past_its_maximum),
        cmocka_unit_test(copies_end_in_a_nul_and_counted_items_are_zeroed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
