/* vector_math.h: exp, erf, tanh and partial vectors on `vec`. Included by kernels_*.c only, after
 * the vector operations.
 *
 * The coefficients are minimax fits of our own: a weighted rational least squares whose weights are
 * moved until the error is level, in 40 digits. */
#ifndef BERTD_COMPUTE_VECTOR_MATH_H
#define BERTD_COMPUTE_VECTOR_MATH_H

#include "engine/base/unroll.h"

/* The first `count` (1..VEC_LANES) floats at p, zeros after them. */
VEC_INLINE vec vec_load_part(const float *p, size_t count) {
    float lanes[VEC_LANES] = {0};
    memcpy(lanes, p, count * sizeof *p);
    return vec_load(lanes);
}

VEC_INLINE void vec_store_part(float *p, vec v, size_t count) {
    float lanes[VEC_LANES];
    vec_store(lanes, v);
    memcpy(p, lanes, count * sizeof *p);
}

/* Zeros the lanes from `count` on. */
VEC_INLINE vec vec_keep(vec v, size_t count) {
    float lanes[VEC_LANES];
    vec_store(lanes, v);
    return vec_load_part(lanes, count);
}

/* Sum and maximum over the lanes, in a tree whose order is fixed. */
VEC_INLINE float vec_sum(vec v) {
    float lanes[VEC_LANES];
    vec_store(lanes, v);
    for (size_t half = VEC_LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

VEC_INLINE float vec_largest(vec v) {
    float lanes[VEC_LANES];
    vec_store(lanes, v);
    float largest = lanes[0];
    for (size_t i = 1; i < VEC_LANES; i++)
        largest = lanes[i] > largest ? lanes[i] : largest;
    return largest;
}

/* e^x, relative error under 2e-7 in [-87, 88]; x is moved into that range. x = n ln 2 + r: n is
 * rounded by adding 1.5 * 2^23, whose low bits then hold n; e^r is a polynomial on |r| <= ln 2 / 2;
 * 2^n goes into the exponent bits. NaN stays NaN (see vec_max). */
VEC_INLINE vec vec_exp(vec x) {
    x = vec_max(vec_set(-87.0f), vec_min(vec_set(88.0f), x));
    vec shifted = vec_fma(x, vec_set(0x1.715476p+0f), vec_set(0x1.8p23f));
    vec n = shifted - vec_set(0x1.8p23f);
    vec r = vec_fma(n, vec_set(-0x1.62e4p-1f), x); /* ln 2 in two pieces: n * high is exact */
    r = vec_fma(n, vec_set(-0x1.7f7d1cp-20f), r);
    vec p = vec_set(0.00138367872857f);
    p = vec_fma(p, r, vec_set(0.00837481547516f));
    p = vec_fma(p, r, vec_set(0.041668226618f));
    p = vec_fma(p, r, vec_set(0.166664201748f));
    p = vec_fma(p, r, vec_set(0.499999920752f));
    p = vec_fma(p, r, vec_set(1.00000003632f));
    p = vec_fma(p, r, vec_set(1.00000000055f));
    return (vec)((vec_bits)p + ((vec_bits)shifted << 23));
}

/* erf(z) = z P(z^2) / Q(z^2) up to |z| = sqrt(15), where it is 1 - 4e-8; error of the fit 1.4e-8.
 */
VEC_INLINE vec vec_erf(vec z) {
    vec edge = vec_set(3.8729833f);
    z = vec_max(vec_set(0.0f) - edge, vec_min(edge, z));
    vec u = z * z;
    vec p = vec_set(2.07194262141e-6f);
    p = vec_fma(p, u, vec_set(0.000287496939461f));
    p = vec_fma(p, u, vec_set(0.0037957921806f));
    p = vec_fma(p, u, vec_set(0.0528453947368f));
    p = vec_fma(p, u, vec_set(0.190857747484f));
    p = vec_fma(p, u, vec_set(1.12837904514f));
    vec q = vec_set(3.84545461818e-5f);
    q = vec_fma(q, u, vec_set(0.00117351458435f));
    q = vec_fma(q, u, vec_set(0.0150269041471f));
    q = vec_fma(q, u, vec_set(0.114330032619f));
    q = vec_fma(q, u, vec_set(0.502475195485f));
    q = vec_fma(q, u, vec_set(1.0f));
    return z * p / q;
}

/* tanh(x) = 1 - 2 / (e^2x + 1), absolute error under 2e-7. */
VEC_INLINE vec vec_tanh(vec x) {
    vec one = vec_set(1.0f);
    return one - vec_set(2.0f) / (vec_exp(x + x) + one);
}

#endif
