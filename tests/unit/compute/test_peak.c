/* test_peak.c: a peak is known where the loop for it runs, and no product beats it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/compute/linear.h"
#include "engine/compute/peak.h"
#include "tests/unit/compute/numbers.h"

enum { INPUTS = 384, OUTPUTS = 384, ROWS = 64 };

/* Operations a second of a product, at its best of a few runs. */
static double product_flops(void) {
    float *weight = random_floats(INPUTS * OUTPUTS), *bias = random_floats(OUTPUTS);
    float *x = random_floats(ROWS * INPUTS), *y = floats(ROWS * OUTPUTS);
    const struct linear_weights weights = {
        .weight = {.name = "w",
                   .data = (unsigned char *)weight,
                   .bytes = sizeof *weight * INPUTS * OUTPUTS,
                   .type = TENSOR_F32,
                   .rank = 2,
                   .shape = {OUTPUTS, INPUTS}},
        .bias = {.name = "b",
                 .data = (unsigned char *)bias,
                 .bytes = sizeof *bias * OUTPUTS,
                 .type = TENSOR_F32,
                 .rank = 1,
                 .shape = {OUTPUTS}},
    };
    const struct linear_weights *const sources[] = {&weights};
    struct linear_set *set;
    struct linear *linear;
    struct linear_scratch *scratch;
    struct error err;
    assert_int_equal(linear_set_open(GEMM_F32, kernels_best(), GEMM_ALL_BLOCKS, &set, &err), 0);
    assert_int_equal(linear_open(set, sources, 1, GEMM_STORE, &linear, &err), 0);
    assert_int_equal(linear_pack(linear, MEMORY_NODE_ANY, &err), 0);
    assert_int_equal(linear_scratch_open(set, MEMORY_NODE_ANY, &scratch, &err), 0);
    double best_ns = 1e18;
    for (int i = 0; i < 50; i++) {
        const uint64_t start_ns = clock_now_ns();
        linear_run(linear, scratch, x, ROWS, y);
        best_ns = fmin(best_ns, (double)(clock_now_ns() - start_ns));
    }
    linear_scratch_close(scratch);
    linear_close(linear);
    linear_set_close(set);
    free(y);
    free(x);
    free(bias);
    free(weight);
    return 2.0 * INPUTS * OUTPUTS * ROWS * 1e9 / best_ns;
}

static void no_product_beats_the_peak(void **state) {
    (void)state;
    double peak = 0, product = 0;
    for (int i = 0; i < 10; i++) { /* both at the clock rate of the same moment */
        peak = fmax(peak, peak_measure_flops(GEMM_F32));
        product = fmax(product, product_flops());
    }
    assert_int_equal(peak > 0, *peak_name(GEMM_F32) != '\0');
    assert_true(peak > 0 || !kernels_avx2());
    assert_true(peak == 0 || product < 1.1 * peak);
}

static void types_that_the_cpu_has_not_have_no_peak(void **state) {
    (void)state;
    for (int type = GEMM_F32; type <= GEMM_INT8; type++) {
        const enum gemm_dtype dtype = (enum gemm_dtype)type;
        const double peak = peak_measure_flops(dtype);
        assert_true(gemm_has_dtype(dtype) || peak == 0);
        assert_int_equal(peak > 0, *peak_name(dtype) != '\0');
    }
}

static void memory_has_a_rate(void **state) {
    (void)state;
    enum { BYTES = 1 << 20 };
    void *memory = aligned_alloc(64, BYTES);
    assert_non_null(memory);
    assert_true(peak_measure_update(kernels_best(), memory, BYTES) > 1e6);
    assert_true(peak_measure_read(kernels_best(), memory, BYTES) > 1e6);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_product_beats_the_peak),
        cmocka_unit_test(types_that_the_cpu_has_not_have_no_peak),
        cmocka_unit_test(memory_has_a_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
