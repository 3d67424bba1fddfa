/* test_activation.c: scores from logits, also from logits where a careless formula overflows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "engine/compute/activation.h"
#include "tests/unit/compute/numbers.h"

static void known_scores(void **state) {
    (void)state;
    const float logits[] = {-3, 2, 1};
    const double softmax[] = {0.0049017, 0.7274752, 0.2676232};
    const double sigmoid[] = {0.0474259, 0.8807971, 0.7310586};
    float scores[3];
    activation_softmax(logits, 3, scores);
    for (int i = 0; i < 3; i++)
        assert_near((double)scores[i], softmax[i], 1e-7);
    activation_sigmoid(logits, 3, scores);
    for (int i = 0; i < 3; i++)
        assert_near((double)scores[i], sigmoid[i], 1e-7);
}

static void softmax_subtracts_the_largest_not_the_one_of_largest_magnitude(void **state) {
    (void)state;
    float scores[] = {-200, 1};
    activation_softmax(scores, 2, scores);
    assert_true(scores[0] >= 0 && scores[0] < 1e-30f && scores[1] == 1);
}

static void extreme_logits_give_finite_scores(void **state) {
    (void)state;
    const float logits[] = {FLT_MAX, -FLT_MAX, 0, 800, -800};
    float scores[5];
    activation_softmax(logits, 5, scores);
    assert_true(activation_all_finite(scores, 5) && scores[0] == 1);
    activation_sigmoid(logits, 5, scores);
    assert_true(activation_all_finite(scores, 5));
    assert_true(scores[0] == 1 && scores[1] == 0 && scores[2] == 0.5f);
}

static void one_value_that_is_not_finite_is_found(void **state) {
    (void)state;
    float values[37] = {0};
    assert_true(activation_all_finite(values, 37));
    values[36] = NAN;
    assert_false(activation_all_finite(values, 37));
    assert_true(activation_all_finite(values, 36));
    values[0] = -INFINITY;
    assert_false(activation_all_finite(values, 36));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_scores),
        cmocka_unit_test(softmax_subtracts_the_largest_not_the_one_of_largest_magnitude),
        cmocka_unit_test(extreme_logits_give_finite_scores),
        cmocka_unit_test(one_value_that_is_not_finite_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
