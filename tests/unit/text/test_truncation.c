/* test_truncation.c: the formula against one that cuts token by token, and windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/text/truncation.h"

/* longest_first by its description: both halves, and what a shorter segment leaves over. */
static void expected_lengths(uint32_t budget, uint32_t counts[2]) {
    uint32_t half = budget / 2, odd = budget % 2;
    if (counts[0] + counts[1] <= budget)
        return;
    if (counts[0] <= half && counts[0] <= counts[1])
        counts[1] = budget - counts[0];
    else if (counts[1] <= half)
        counts[0] = budget - counts[1];
    else if (counts[0] > counts[1])
        counts[0] = half + odd, counts[1] = half;
    else
        counts[0] = half, counts[1] = half + odd;
}

static void longest_first_leaves_the_short_one_and_halves_two_long_ones(void **state) {
    (void)state;
    for (uint32_t budget = 1; budget < 14; budget++)
        for (uint32_t a = 0; a < 20; a++)
            for (uint32_t b = 0; b < 20; b++) {
                uint32_t got[2] = {a, b}, right[2] = {a, b};
                assert_int_equal(truncation_apply(TOKENIZER_LONGEST_FIRST, budget, true, got, NULL),
                                 STATUS_OK);
                expected_lengths(budget, right);
                assert_int_equal(got[0], right[0]);
                assert_int_equal(got[1], right[1]);
            }
}

static void one_sided_strategies_cut_their_side_or_fail(void **state) {
    (void)state;
    struct error err;
    uint32_t counts[2] = {10, 4};
    assert_int_equal(truncation_apply(TOKENIZER_ONLY_FIRST, 9, true, counts, &err), STATUS_OK);
    assert_int_equal(counts[0], 5);
    assert_int_equal(counts[1], 4);
    assert_int_equal(truncation_apply(TOKENIZER_ONLY_SECOND, 6, true, counts, &err), STATUS_OK);
    assert_int_equal(counts[1], 1);
    assert_int_equal(truncation_apply(TOKENIZER_ONLY_SECOND, 5, true, counts, &err),
                     STATUS_INVALID_VALUE);
    assert_int_equal(counts[0] + counts[1], 6);
    counts[1] = 0;
    assert_int_equal(truncation_apply(TOKENIZER_ONLY_SECOND, 4, false, counts, &err),
                     STATUS_INVALID_VALUE);
    assert_int_equal(truncation_apply(TOKENIZER_ONLY_SECOND, 0, false, counts, &err), STATUS_OK);
    assert_int_equal(counts[0], 0);
}

static void windows_cover_everything_once(void **state) {
    (void)state;
    assert_int_equal(truncation_windows(0, 8, 2), 1);
    assert_int_equal(truncation_windows(8, 8, 7), 1);
    assert_int_equal(truncation_windows(9, 8, 0), 2);
    assert_int_equal(truncation_windows(9, 8, 7), 2);
    assert_int_equal(truncation_windows(14, 8, 2), 2);
    assert_int_equal(truncation_windows(15, 8, 2), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_first_leaves_the_short_one_and_halves_two_long_ones),
        cmocka_unit_test(one_sided_strategies_cut_their_side_or_fail),
        cmocka_unit_test(windows_cover_everything_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
