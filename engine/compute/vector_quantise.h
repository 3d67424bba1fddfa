/* vector_quantise.h: rows of fp32 to bytes and rows of integer sums back to fp32. Included by
 * kernels_*.c only. */
#ifndef BERTD_COMPUTE_VECTOR_QUANTISE_H
#define BERTD_COMPUTE_VECTOR_QUANTISE_H

#include "engine/compute/vector_math.h"

/* Least and largest of a row, and zero or NaN. */
struct range {
    vec least, largest, probe;
};

VEC_INLINE void range_take(struct range *range, vec x) {
    range->least = vec_min(range->least, x);
    range->largest = vec_max(range->largest, x);
    range->probe = vec_fma(x, vec_set(0.0f), range->probe);
}

/* 0..255 each: adding 1.5 * 2^23 rounds to a whole number, which the low bits then hold. */
VEC_INLINE vec_bytes bytes_of(vec x, vec turned, vec zero) {
    vec q = vec_fma(x, turned, zero);
    q = vec_max(vec_set(0.0f), vec_min(vec_set(255.0f), q)) + vec_set(0x1.8p23f);
    return __builtin_convertvector((vec_bits)q & 0xFFu, vec_bytes);
}

static void quantise(const float *x, size_t width, uint8_t *out, float *scale, float *zero) {
    const size_t whole = width - width % VEC_LANES, rest = width - whole;
    /* Zero is always in the range, so that it is a byte exactly. */
    struct range range = {vec_set(0.0f), vec_set(0.0f), vec_set(0.0f)};
    for (size_t i = 0; i < whole; i += VEC_LANES)
        range_take(&range, vec_load(x + i));
    if (rest > 0)
        range_take(&range, vec_load_part(x + whole, rest));
    const float largest = vec_largest(range.largest);
    const float least = -vec_largest(vec_set(0.0f) - range.least);
    const float span = largest - least, turned = span > 0.0f ? 255.0f / span : 0.0f;
    const float shifted = -least * turned + 0x1.8p23f, whole_zero = shifted - 0x1.8p23f;
    for (size_t i = 0; i < whole; i += VEC_LANES) {
        vec_bytes bytes = bytes_of(vec_load(x + i), vec_set(turned), vec_set(whole_zero));
        memcpy(out + i, &bytes, sizeof bytes);
    }
    if (rest > 0) {
        vec_bytes bytes =
            bytes_of(vec_load_part(x + whole, rest), vec_set(turned), vec_set(whole_zero));
        memcpy(out + whole, &bytes, rest);
    }
    *scale = span / 255.0f + vec_sum(range.probe);
    *zero = whole_zero;
}

VEC_INLINE vec dequantised(const struct dequantise_args *args, const int32_t *integers, size_t i,
                           vec row_scale, vec row_zero) {
    vec_integers sums;
    memcpy(&sums, integers + i, sizeof sums);
    vec shifted = vec_fma(row_zero, vec_load(args->sums + i), __builtin_convertvector(sums, vec));
    return vec_fma(shifted * row_scale, vec_load(args->scales + i), vec_load(args->bias + i));
}

static void dequantise(const struct dequantise_args *args, const int32_t *integers, size_t width,
                       float row_scale, float row_zero, float *y) {
    const vec scale = vec_set(row_scale), zero = vec_set(-row_zero);
    const size_t whole = width - width % VEC_LANES;
    for (size_t i = 0; i < whole; i += VEC_LANES) {
        vec row = dequantised(args, integers, i, scale, zero);
        if (args->add)
            row += vec_load(y + i);
        vec_store(y + i, row);
    }
    /* The same arithmetic in one lane. */
    for (size_t i = whole; i < width; i++) {
        vec shifted = vec_fma(zero, vec_set(args->sums[i]), vec_set((float)integers[i]));
        vec row = vec_fma(shifted * scale, vec_set(args->scales[i]), vec_set(args->bias[i]));
        if (args->add)
            row += vec_set(y[i]);
        vec_store_part(y + i, row, 1);
    }
}

#endif
