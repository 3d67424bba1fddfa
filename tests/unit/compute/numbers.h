/* numbers.h: random arrays and comparisons for the tests of compute. After cmocka.h. */
#ifndef BERTD_TESTS_UNIT_COMPUTE_NUMBERS_H
#define BERTD_TESTS_UNIT_COMPUTE_NUMBERS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The same numbers in every run. */
static inline float random_float(void) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)state * 0x1p-31f; /* [-1, 1) */
}

/* 64-byte aligned; the caller frees. */
static inline float *floats(size_t count) {
    float *p = aligned_alloc(64, (count * sizeof(float) + 127) & ~(size_t)63);
    assert_non_null(p);
    return p;
}

static inline float *random_floats(size_t count) {
    float *p = floats(count);
    for (size_t i = 0; i < count; i++)
        p[i] = random_float();
    return p;
}

static inline void assert_near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.9g, want %.9g, off by %.3g, tolerance %.3g", got, want, fabs(got - want),
                 tolerance);
}

#endif
