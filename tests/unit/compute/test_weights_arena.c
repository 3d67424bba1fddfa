/* test_weights_arena.c: pieces are aligned, zero, apart from each other, and may exceed a chunk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/compute/weights_arena.h"

static void pieces_are_aligned_zero_and_apart(void **state) {
    (void)state;
    enum { PIECES = 40 };
    static const size_t sizes[] = {1, 63, 64, 65, 1000, 3 << 20};
    unsigned char *pieces[PIECES];
    struct weights_arena arena = {0};
    for (size_t i = 0; i < PIECES; i++) {
        const size_t bytes = sizes[i % 6];
        pieces[i] = weights_arena_alloc(&arena, bytes);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 64, 0);
        assert_true(pieces[i][0] == 0 && pieces[i][bytes - 1] == 0);
        memset(pieces[i], (int)(i + 1), bytes);
    }
    for (size_t i = 0; i < PIECES; i++) {
        const size_t bytes = sizes[i % 6];
        assert_true(pieces[i][0] == i + 1 && pieces[i][bytes - 1] == i + 1);
    }
    weights_arena_free(&arena);
    assert_null(arena.chunks);
}

static void a_piece_may_be_larger_than_a_chunk(void **state) {
    (void)state;
    const size_t bytes = (size_t)40 << 20;
    struct weights_arena arena = {0};
    unsigned char *piece = weights_arena_alloc(&arena, bytes);
    assert_non_null(piece);
    piece[0] = piece[bytes - 1] = 1;
    weights_arena_free(&arena);
    weights_arena_free(NULL);
}

static void sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    struct weights_arena arena = {0};
    assert_null(weights_arena_alloc(&arena, SIZE_MAX));
    assert_null(weights_arena_alloc(&arena, SIZE_MAX - 64));
    assert_null(weights_arena_alloc(&arena, SIZE_MAX / 2));
    weights_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_zero_and_apart),
        cmocka_unit_test(a_piece_may_be_larger_than_a_chunk),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
