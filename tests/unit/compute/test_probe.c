/* test_probe.c: a thread's time counts once, in the kind that was entered last; watched kernels do
 * what the others do, and only a thread that asks has an account. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/compute/kernels.h"
#include "engine/compute/probe.h"
#include "tests/unit/compute/numbers.h"

static void spin(uint64_t ns) {
    const uint64_t end_ns = clock_now_ns() + ns;
    while (clock_now_ns() < end_ns)
        continue;
}

static void time_counts_in_the_kind_that_was_entered_last(void **state) {
    (void)state;
    enum { TURN_NS = 200000 };
    struct probe probe;
    const uint64_t start_ns = clock_now_ns();
    probe_begin(&probe);
    assert_int_equal(probe_enter(PROBE_QKV), PROBE_OTHER);
    spin(TURN_NS);
    assert_int_equal(probe_enter(PROBE_QUANTISE), PROBE_QKV);
    probe_count(3, 5);
    spin(2 * TURN_NS);
    assert_int_equal(probe_enter(PROBE_QKV), PROBE_QUANTISE);
    probe_count(7, 0);
    spin(TURN_NS);
    assert_int_equal(probe_enter(PROBE_OTHER), PROBE_QKV);
    probe_end();
    const uint64_t whole_ns = clock_now_ns() - start_ns;

    assert_true(probe.parts[PROBE_QKV].ns >= 2 * TURN_NS);
    assert_true(probe.parts[PROBE_QUANTISE].ns >= 2 * TURN_NS);
    assert_int_equal(probe.parts[PROBE_QKV].turns, 2);
    assert_int_equal(probe.parts[PROBE_QUANTISE].turns, 1);
    assert_true(probe.parts[PROBE_QUANTISE].flops == 3 && probe.parts[PROBE_QUANTISE].bytes == 5);
    assert_true(probe.parts[PROBE_QKV].flops == 7);
    uint64_t sum_ns = 0;
    for (int kind = 0; kind < PROBE_KINDS; kind++)
        sum_ns += probe.parts[kind].ns;
    assert_true(sum_ns <= whole_ns);
    assert_int_equal(probe.parts[PROBE_NORM].turns, 0);
}

static void nothing_counts_without_a_probe(void **state) {
    (void)state;
    struct probe probe, untouched;
    probe_begin(&probe);
    probe_end();
    untouched = probe;
    assert_int_equal(probe_enter(PROBE_NORM), PROBE_OTHER);
    probe_count(1, 1);
    assert_memory_equal(&probe, &untouched, sizeof probe);
}

static void the_clock_costs_something_and_not_much(void **state) {
    (void)state;
    const double cost_ns = probe_measure_cost();
    assert_true(cost_ns > 0 && cost_ns < 20000);
}

/* One run of each watched kernel; all that they write, end to end. */
enum { WIDTH = 37, ROWS = 5, LENGTH = 29, DIM = 11, WRITTEN = 2048 };

static void run_kernels(const struct kernels *kernels, const float *numbers, float *scratch,
                        float written[WRITTEN]) {
    memset(written, 0, WRITTEN * sizeof *written);
    float *at = written;
    memcpy(at, numbers, ROWS * WIDTH * sizeof *at);
    kernels->activate(FUNCTION_GELU_ERF, at, ROWS * WIDTH);
    kernels->norm(at, ROWS, WIDTH, numbers, numbers + WIDTH, 1e-5f);
    at += ROWS * WIDTH;
    kernels->narrow(numbers, WIDTH, (uint16_t *)at);
    at += WIDTH;
    float scale, zero;
    kernels->quantise(numbers, WIDTH, (uint8_t *)at, &scale, &zero);
    at += WIDTH;
    int32_t integers[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        integers[i] = i * 7 - 50;
    const struct dequantise_args columns = {numbers, numbers + WIDTH, numbers + 2 * WIDTH, false};
    kernels->dequantise(&columns, integers, WIDTH, scale, zero, at);
    at += WIDTH;
    kernels->attend(&(struct attend_args){.query = numbers,
                                          .key = numbers + LENGTH * DIM,
                                          .value = numbers + 2 * LENGTH * DIM,
                                          .query_stride = DIM,
                                          .key_stride = DIM,
                                          .length = LENGTH,
                                          .queries = LENGTH,
                                          .head_dim = DIM,
                                          .scale = 0.3f,
                                          .out = at,
                                          .out_stride = DIM,
                                          .scratch = scratch});
}

static void watched_kernels_give_the_same_bytes(void **state) {
    (void)state;
    const struct kernels *best = kernels_best(), *probed = kernels_probed();
    float *numbers = random_floats(3 * LENGTH * DIM);
    float *scratch = floats(best->attend_scratch(LENGTH, DIM));
    float expected[WRITTEN], got[WRITTEN];
    run_kernels(best, numbers, scratch, expected);
    run_kernels(probed, numbers, scratch, got); /* no probe: unwatched */
    assert_memory_equal(got, expected, sizeof got);
    struct probe probe;
    probe_begin(&probe);
    run_kernels(probed, numbers, scratch, got);
    probe_end();
    assert_memory_equal(got, expected, sizeof got);

    const enum probe_kind seen[] = {PROBE_ACTIVATION, PROBE_NORM,    PROBE_CONVERT, PROBE_QUANTISE,
                                    PROBE_SCORES,     PROBE_SOFTMAX, PROBE_CONTEXT};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        assert_true(probe.parts[seen[i]].turns > 0);
    assert_true(probe.parts[PROBE_NORM].bytes == 8.0 * ROWS * WIDTH);
    assert_true(probe.parts[PROBE_SCORES].flops == 2.0 * LENGTH * LENGTH * DIM);
    assert_true(probe.parts[PROBE_CONTEXT].flops == 2.0 * LENGTH * LENGTH * DIM);
    assert_true(probe.parts[PROBE_SOFTMAX].bytes == 8.0 * LENGTH * LENGTH);
    free(scratch);
    free(numbers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_counts_in_the_kind_that_was_entered_last),
        cmocka_unit_test(nothing_counts_without_a_probe),
        cmocka_unit_test(the_clock_costs_something_and_not_much),
        cmocka_unit_test(watched_kernels_give_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
