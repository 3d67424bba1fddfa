/* test_kernels.c: every version of the kernels that this CPU runs, against plain references in
 * double precision, at odd sizes; and the promise that a row's bits depend on that row alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/compute/kernels.h"
#include "tests/unit/compute/numbers.h"

static const struct kernels *versions[3];
static size_t versions_count;

static int find_versions(void **state) {
    (void)state;
    versions[versions_count++] = kernels_base();
    if (kernels_avx2())
        versions[versions_count++] = kernels_avx2();
    if (kernels_avx512())
        versions[versions_count++] = kernels_avx512();
    return 0;
}

static double exact(enum activation_function function, double x) {
    switch (function) {
    case FUNCTION_GELU_ERF:
        return 0.5 * x * (1 + erf(x / sqrt(2.0)));
    case FUNCTION_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case FUNCTION_RELU:
        return x > 0 ? x : 0;
    case FUNCTION_TANH:
        return tanh(x);
    case FUNCTION_NONE:
        break;
    }
    return x;
}

static void activation_functions_are_exact_over_the_line(void **state) {
    (void)state;
    enum { COUNT = 20011 };
    float *x = floats(COUNT);
    for (size_t v = 0; v < versions_count; v++) {
        for (int f = FUNCTION_GELU_ERF; f <= FUNCTION_NONE; f++) {
            const enum activation_function function = (enum activation_function)f;
            for (int i = 0; i < COUNT; i++)
                x[i] = (float)(i - COUNT / 2) * 0.0013f;
            versions[v]->activate(function, x, COUNT);
            for (int i = 0; i < COUNT; i++) {
                double at = (double)((float)(i - COUNT / 2) * 0.0013f);
                assert_near((double)x[i], exact(function, at), 2.5e-7 * fmax(1, fabs(at)));
            }
        }
    }
    free(x);
}

static void known_gelu_values(void **state) {
    (void)state;
    for (size_t v = 0; v < versions_count; v++) {
        float erf_x[] = {-2.7f, 1, 3}, tanh_x[] = {-2.7f, 1, 3};
        const double erf_y[] = {-0.0093608, 0.8413447, 2.9959503};
        const double tanh_y[] = {-0.0088876, 0.8411920, 2.9963626};
        versions[v]->activate(FUNCTION_GELU_ERF, erf_x, 3);
        versions[v]->activate(FUNCTION_GELU_TANH, tanh_x, 3);
        for (int i = 0; i < 3; i++) {
            assert_near((double)erf_x[i], erf_y[i], 3e-7);
            assert_near((double)tanh_x[i], tanh_y[i], 3e-7);
        }
    }
}

static void values_that_are_not_finite_stay_so(void **state) {
    (void)state;
    for (size_t v = 0; v < versions_count; v++) {
        for (int f = FUNCTION_GELU_ERF; f <= FUNCTION_NONE; f++) {
            float x[19] = {0};
            x[3] = NAN;
            x[18] = NAN;
            versions[v]->activate((enum activation_function)f, x, 19);
            assert_true(isnan(x[3]) && isnan(x[18]) && !isnan(x[4]));
        }
        float *row = random_floats(67), *gamma = random_floats(67), *beta = random_floats(67);
        row[65] = INFINITY;
        versions[v]->norm(row, 1, 67, gamma, beta, 1e-12f);
        assert_true(isnan(row[0]));
        free(beta);
        free(gamma);
        free(row);
    }
}

static void an_element_has_the_same_bits_at_any_place(void **state) {
    (void)state;
    enum { COUNT = 100 };
    for (size_t v = 0; v < versions_count; v++) {
        for (int f = FUNCTION_GELU_ERF; f <= FUNCTION_TANH; f++) {
            float *x = random_floats(COUNT);
            float alone[COUNT];
            for (size_t i = 0; i < COUNT; i++) {
                alone[i] = x[i] * 5;
                x[i] = alone[i];
                versions[v]->activate((enum activation_function)f, alone + i, 1);
            }
            versions[v]->activate((enum activation_function)f, x, COUNT);
            assert_memory_equal(x, alone, sizeof alone);
            free(x);
        }
    }
}

static void sums_are_exact(void **state) {
    (void)state;
    for (size_t v = 0; v < versions_count; v++) {
        for (size_t count = 1; count < 70; count++) {
            float *x = random_floats(count), *y = random_floats(count), *z = floats(count);
            memcpy(z, x, count * sizeof *z);
            versions[v]->add(z, y, count);
            for (size_t i = 0; i < count; i++)
                assert_true(z[i] == x[i] + y[i]);
            free(z);
            free(y);
            free(x);
        }
    }
}

static void assert_norm(const float *x, const float *y, size_t width, const float *gamma,
                        const float *beta, double eps) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < width; i++)
        mean += (double)x[i] / (double)width;
    for (size_t i = 0; i < width; i++)
        variance += pow((double)x[i] - mean, 2) / (double)width;
    for (size_t i = 0; i < width; i++) {
        double d = ((double)x[i] - mean) / sqrt(variance + eps);
        assert_near((double)y[i], d * (double)gamma[i] + (double)beta[i], 5e-6);
    }
}

static void norm_is_exact_at_odd_widths_and_large_offsets(void **state) {
    (void)state;
    static const size_t widths[] = {1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 100, 384, 769};
    for (size_t v = 0; v < versions_count; v++) {
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            const size_t width = widths[w], rows = 3;
            float *x = random_floats(rows * width), *y = floats(rows * width);
            float *gamma = random_floats(width), *beta = random_floats(width);
            for (size_t i = 0; i < width; i++)
                x[width + i] += 100; /* the second row has a large mean */
            memcpy(y, x, rows * width * sizeof *y);
            versions[v]->norm(y, rows, width, gamma, beta, 1e-5f);
            for (size_t r = 0; r < rows; r++)
                assert_norm(x + r * width, y + r * width, width, gamma, beta, 1e-5);
            versions[v]->norm(x + width, 1, width, gamma, beta, 1e-5f);
            assert_memory_equal(x + width, y + width, width * sizeof *y);
            free(beta);
            free(gamma);
            free(y);
            free(x);
        }
    }
}

static void a_constant_row_becomes_beta(void **state) {
    (void)state;
    static const float constants[] = {0, 0.1f, -3.3f, 1234.567f, 1e-9f};
    for (size_t v = 0; v < versions_count; v++) {
        for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
            for (size_t width = 1; width < 400; width += 7) {
                float *x = floats(width), *gamma = random_floats(width);
                float *beta = random_floats(width);
                for (size_t i = 0; i < width; i++)
                    x[i] = constants[c];
                versions[v]->norm(x, 1, width, gamma, beta, 1e-12f);
                for (size_t i = 0; i < width; i++)
                    assert_near((double)x[i], (double)beta[i], 1e-4);
                free(beta);
                free(gamma);
                free(x);
            }
        }
    }
}

static double half_value(uint32_t bits) {
    const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value =
        exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, (int)exponent - 25);
    if (exponent == 31)
        value = fraction ? (double)NAN : (double)INFINITY;
    return bits & 0x8000 ? -value : value;
}

/* Every number of 16 bits, at unaligned places, with a rest that fills no vector. */
static void widening_is_exact(void **state) {
    (void)state;
    enum { COUNT = 65535 };
    static unsigned char source[2 * COUNT + 1];
    static float out[COUNT];
    for (size_t v = 0; v < versions_count; v++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            source[1 + 2 * i] = (unsigned char)(i & 0xFF);
            source[2 + 2 * i] = (unsigned char)(i >> 8);
        }
        versions[v]->widen(TENSOR_F16, source + 1, COUNT, out);
        for (uint32_t i = 0; i < COUNT; i++) {
            double want = half_value(i);
            assert_true(isnan(want) ? isnan(out[i]) : (double)out[i] == want);
        }
        versions[v]->widen(TENSOR_BF16, source + 1, COUNT, out);
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t bits;
            memcpy(&bits, out + i, sizeof bits);
            assert_int_equal(bits, i << 16);
        }
        versions[v]->widen(TENSOR_F32, source + 1, 999, out);
        assert_memory_equal(out, source + 1, 999 * sizeof *out);
    }
}

/* Of the two neighbours in bf16 the nearer one, of two equally near the even one; compared in
 * double, which holds all of them. Ordinary numbers, subnormal ones, the end of the range. */
static void narrowing_rounds_to_nearest_even(void **state) {
    (void)state;
    enum { COUNT = 4099 };
    static float x[COUNT];
    static uint16_t out[COUNT + 1];
    uint32_t seed = 1;
    for (uint32_t i = 0; i < COUNT; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t bits = seed;
        if (i % 4 == 0)
            bits = (seed & 0xFFFF0000u) | 0x8000u; /* halfway */
        if (i % 97 == 0)
            bits = 0x7F7F8000u + (i & 1); /* on the border to infinity */
        memcpy(&x[i], &bits, sizeof bits);
    }
    x[COUNT - 1] = NAN;
    x[COUNT - 2] = INFINITY;
    for (size_t v = 0; v < versions_count; v++) {
        out[COUNT] = 0xABCD;
        versions[v]->narrow(x, COUNT, out);
        assert_int_equal(out[COUNT], 0xABCD);
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t bits, below, above;
            memcpy(&bits, &x[i], sizeof bits);
            if (isnan(x[i])) {
                assert_true((out[i] & 0x7FFF) > 0x7F80);
                continue;
            }
            below = bits & 0xFFFF0000u; /* towards zero */
            above = below + 0x10000u;
            const uint32_t rest = bits & 0xFFFFu;
            const bool up = rest > 0x8000u || (rest == 0x8000u && (below >> 16 & 1));
            assert_int_equal(out[i], (up ? above : below) >> 16);
        }
    }
}

static void the_best_version_is_one_that_runs(void **state) {
    (void)state;
    assert_ptr_equal(kernels_best(), versions[versions_count - 1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activation_functions_are_exact_over_the_line),
        cmocka_unit_test(known_gelu_values),
        cmocka_unit_test(values_that_are_not_finite_stay_so),
        cmocka_unit_test(an_element_has_the_same_bits_at_any_place),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(norm_is_exact_at_odd_widths_and_large_offsets),
        cmocka_unit_test(a_constant_row_becomes_beta),
        cmocka_unit_test(widening_is_exact),
        cmocka_unit_test(narrowing_rounds_to_nearest_even),
        cmocka_unit_test(the_best_version_is_one_that_runs),
    };
    return cmocka_run_group_tests(tests, find_versions, NULL);
}
