/* test_score.c: logits to scores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "engine/engine_internal.h"

static void assert_scores(enum activation activation, const float *logits, const float *want,
                          uint32_t count) {
    float scores[8];
    for (uint32_t i = 0; i < count; i++)
        scores[i] = logits[i];
    assert_true(score_activate(activation, scores, count));
    for (uint32_t i = 0; i < count; i++)
        assert_true(fabsf(scores[i] - want[i]) <= 1e-7f);
}

static void softmax_and_sigmoid_give_the_reference_values(void **state) {
    (void)state;
    const float logits[] = {-3, 2, 1};
    const float softmax[] = {0.0049017f, 0.7274752f, 0.2676232f};
    const float sigmoid[] = {0.0474259f, 0.8807971f, 0.7310586f};
    assert_scores(ACTIVATION_SOFTMAX, logits, softmax, 3);
    assert_scores(ACTIVATION_SIGMOID, logits, sigmoid, 3);
    assert_scores(ACTIVATION_NONE, logits, logits, 3);
}

static void large_logits_do_not_overflow(void **state) {
    (void)state;
    assert_scores(ACTIVATION_SOFTMAX, (const float[]){-200, 1}, (const float[]){0, 1}, 2);
    assert_scores(ACTIVATION_SOFTMAX, (const float[]){3e38f, -3e38f}, (const float[]){1, 0}, 2);
    assert_scores(ACTIVATION_SIGMOID, (const float[]){-3e38f, 3e38f}, (const float[]){0, 1}, 2);
    assert_scores(ACTIVATION_SOFTMAX, (const float[]){5}, (const float[]){1}, 1);
}

static void what_is_not_finite_is_told(void **state) {
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    const enum activation all[] = {ACTIVATION_SOFTMAX, ACTIVATION_SIGMOID, ACTIVATION_NONE};
    for (int b = 0; b < 3; b++)
        for (int a = 0; a < 3; a++) {
            float logits[] = {1, 2, bad[b]};
            assert_false(score_activate(all[a], logits, 3));
        }
}

static void the_activation_follows_the_problem_type(void **state) {
    (void)state;
    const struct {
        enum problem_type type;
        uint32_t labels;
        enum activation want;
    } cases[] = {
        {PROBLEM_REGRESSION, 1, ACTIVATION_NONE},     {PROBLEM_REGRESSION, 3, ACTIVATION_NONE},
        {PROBLEM_MULTI_LABEL, 3, ACTIVATION_SIGMOID}, {PROBLEM_SINGLE_LABEL, 3, ACTIVATION_SOFTMAX},
        {PROBLEM_NONE, 1, ACTIVATION_SIGMOID},        {PROBLEM_NONE, 2, ACTIVATION_SOFTMAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model_config config = {.problem_type = cases[i].type,
                                      .labels_count = cases[i].labels};
        assert_int_equal(engine_activation(&config), cases[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_and_sigmoid_give_the_reference_values),
        cmocka_unit_test(large_logits_do_not_overflow),
        cmocka_unit_test(what_is_not_finite_is_told),
        cmocka_unit_test(the_activation_follows_the_problem_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
