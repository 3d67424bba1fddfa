/* vector_rows.h: kernels that go along rows: widening, sums, activation functions, layer norm.
 * Included by kernels_*.c only. A rest that does not fill a vector runs through the same vector
 * code, so that a value's bits do not depend on its place. */
#ifndef BERTD_COMPUTE_VECTOR_ROWS_H
#define BERTD_COMPUTE_VECTOR_ROWS_H

#include "engine/compute/vector_math.h"

#include <math.h>

VEC_INLINE vec load_type(enum tensor_type type, const unsigned char *source) {
    if (type == TENSOR_F16)
        return vec_load_f16(source);
    if (type == TENSOR_BF16)
        return vec_load_bf16(source);
    return vec_load((const float *)(const void *)source); /* at any address */
}

VEC_INLINE void widen_type(enum tensor_type type, const unsigned char *source, size_t count,
                           float *out) {
    size_t bytes = type == TENSOR_F32 ? 4 : 2, i = 0;
    for (; i + VEC_LANES <= count; i += VEC_LANES)
        vec_store(out + i, load_type(type, source + i * bytes));
    if (i < count) {
        unsigned char rest[VEC_LANES * 4] = {0};
        memcpy(rest, source + i * bytes, (count - i) * bytes);
        vec_store_part(out + i, load_type(type, rest), count - i);
    }
}

static void widen(enum tensor_type type, const unsigned char *source, size_t count, float *out) {
    if (type == TENSOR_F16)
        widen_type(TENSOR_F16, source, count, out);
    else if (type == TENSOR_BF16)
        widen_type(TENSOR_BF16, source, count, out);
    else
        widen_type(TENSOR_F32, source, count, out);
}

/* Adds half of what is cut off, less one bit where the rest is even; NaN would run over into
 * infinity, so it only gets its quiet bit. */
VEC_INLINE vec_half narrow_vec(vec v) {
    vec_bits bits = (vec_bits)v, nan = (vec_bits)((bits & 0x7FFFFFFFu) > 0x7F800000u);
    vec_bits rounded = bits + 0x7FFFu + (bits >> 16 & 1u);
    return __builtin_convertvector(((rounded & ~nan) | ((bits | 0x400000u) & nan)) >> 16, vec_half);
}

static void narrow(const float *x, size_t count, uint16_t *out) {
    size_t i = 0;
    for (; i + VEC_LANES <= count; i += VEC_LANES) {
        vec_half half = narrow_vec(vec_load(x + i));
        memcpy(out + i, &half, sizeof half);
    }
    if (i < count) {
        vec_half half = narrow_vec(vec_load_part(x + i, count - i));
        memcpy(out + i, &half, (count - i) * sizeof *out);
    }
}

static void add(float *x, const float *y, size_t count) {
    size_t i = 0;
    for (; i + VEC_LANES <= count; i += VEC_LANES)
        vec_store(x + i, vec_load(x + i) + vec_load(y + i));
    for (; i < count; i++)
        x[i] += y[i];
}

VEC_INLINE vec apply(enum activation_function function, vec x) {
    vec half = vec_set(0.5f), one = vec_set(1.0f);
    switch (function) {
    case FUNCTION_GELU_ERF: /* x Phi(x) (Hendrycks, Gimpel 2016) */
        return half * x * (one + vec_erf(x * vec_set(0.70710678f)));
    case FUNCTION_GELU_TANH: { /* its approximation in the same paper */
        vec cubic = vec_fma(vec_set(0.044715f) * x * x, x, x);
        return half * x * (one + vec_tanh(vec_set(0.79788456f) * cubic));
    }
    case FUNCTION_RELU:
        return vec_max(vec_set(0.0f), x);
    case FUNCTION_TANH:
        return vec_tanh(x);
    case FUNCTION_NONE:
        break;
    }
    return x;
}

VEC_INLINE void activate_with(enum activation_function function, float *x, size_t count) {
    size_t i = 0;
    for (; i + VEC_LANES <= count; i += VEC_LANES)
        vec_store(x + i, apply(function, vec_load(x + i)));
    if (i < count)
        vec_store_part(x + i, apply(function, vec_load_part(x + i, count - i)), count - i);
}

static void activate(enum activation_function function, float *x, size_t count) {
    switch (function) {
    case FUNCTION_GELU_ERF:
        activate_with(FUNCTION_GELU_ERF, x, count);
        break;
    case FUNCTION_GELU_TANH:
        activate_with(FUNCTION_GELU_TANH, x, count);
        break;
    case FUNCTION_RELU:
        activate_with(FUNCTION_RELU, x, count);
        break;
    case FUNCTION_TANH:
        activate_with(FUNCTION_TANH, x, count);
        break;
    case FUNCTION_NONE:
        break;
    }
}

/* Two passes. The first mean is rounded, and with eps as small as 1e-12 that alone would give a
 * constant row a visible result; so the second pass also finds the mean's own error (`rest`). */
static void norm_row(float *x, size_t width, const float *gamma, const float *beta, float eps) {
    const size_t whole = width / VEC_LANES * VEC_LANES, part = width - whole;
    vec sum = vec_set(0.0f), other = sum;
    size_t i = 0;
    for (; i + 2 * VEC_LANES <= whole; i += 2 * VEC_LANES) {
        sum = sum + vec_load(x + i);
        other = other + vec_load(x + i + VEC_LANES);
    }
    if (i < whole)
        sum = sum + vec_load(x + i);
    if (part)
        other = other + vec_load_part(x + whole, part);
    const float count = (float)width;
    const float mean = vec_sum(sum + other) / count;

    vec mean_v = vec_set(mean), squares = vec_set(0.0f);
    sum = squares;
    for (i = 0; i < whole; i += VEC_LANES) {
        vec d = vec_load(x + i) - mean_v;
        sum = sum + d;
        squares = vec_fma(d, d, squares);
    }
    if (part) {
        vec d = vec_keep(vec_load_part(x + whole, part) - mean_v, part);
        sum = sum + d;
        squares = vec_fma(d, d, squares);
    }
    const float rest = vec_sum(sum) / count;
    const float variance = vec_sum(squares) / count - rest * rest;
    const float factor = 1.0f / sqrtf((variance < 0 ? 0 : variance) + eps);

    vec rest_v = vec_set(rest), factor_v = vec_set(factor);
    for (i = 0; i < whole; i += VEC_LANES) {
        vec d = (vec_load(x + i) - mean_v - rest_v) * factor_v;
        vec_store(x + i, vec_fma(d, vec_load(gamma + i), vec_load(beta + i)));
    }
    if (part) {
        vec d = (vec_load_part(x + whole, part) - mean_v - rest_v) * factor_v;
        d = vec_fma(d, vec_load_part(gamma + whole, part), vec_load_part(beta + whole, part));
        vec_store_part(x + whole, d, part);
    }
}

static void norm(float *x, size_t rows, size_t width, const float *gamma, const float *beta,
                 float eps) {
    for (size_t r = 0; r < rows; r++)
        norm_row(x + r * width, width, gamma, beta, eps);
}

#endif
