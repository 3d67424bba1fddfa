/* kernels.h: the hot loops of our own, in one version for each instruction set.
 *
 * One source (vector_math.h, vector_rows.h, vector_logits.h, vector_attention.h) is compiled by
 * kernels_base.c, kernels_avx2.c and kernels_avx512.c; kernels_best() picks by what the CPU has.
 * Versions agree within rounding, not bit for bit; one machine always picks the same one, and
 * within a version a value's bits depend only on its own row, never on the row's place or its
 * neighbours.
 *
 * NaN goes in, NaN comes out: no kernel hides a value that is not finite. */
#ifndef BERTD_COMPUTE_KERNELS_H
#define BERTD_COMPUTE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/model/model.h"

/* One attention head of one text. T tokens, D head dimension. Row i of the queries starts
 * `query_stride` floats after row i - 1, and so on; keys and values have the same stride. */
struct attend_args {
    const float *query, *key, *value; /* [queries, D], [T, D], [T, D] */
    size_t query_stride, key_stride;
    size_t length;   /* T, 1 or more */
    size_t queries;  /* how many of the first rows are computed: 1..T */
    size_t head_dim; /* D */
    float scale;     /* 1 / sqrt(D) */
    float *out;      /* [queries, D] */
    size_t out_stride;
    float *scratch; /* attend_scratch(T, D) floats, 64-byte aligned */
};

/* What a row of integer sums becomes: y = row_scale * scales * (integers - row_zero * sums) + bias,
 * added to y where `add`. [width] each. */
struct dequantise_args {
    const float *scales, *sums, *bias;
    bool add;
};

enum { LOGITS_COLUMNS = 16 };

struct kernels {
    const char *name; /* "base", "avx2", "avx512" */

    /* out[i] = source[i] for `count` numbers of type F32, F16 or BF16 at any alignment. */
    void (*widen)(enum tensor_type type, const unsigned char *source, size_t count, float *out);

    /* out[i] = x[i] as bf16, rounded to nearest even; NaN stays NaN. */
    void (*narrow)(const float *x, size_t count, uint16_t *out);

    /* One row as bytes over its own range: x = *scale * (out - *zero), *zero a whole number. A
     * number that is not finite makes *scale so. */
    void (*quantise)(const float *x, size_t width, uint8_t *out, float *scale, float *zero);
    void (*dequantise)(const struct dequantise_args *args, const int32_t *integers, size_t width,
                       float row_scale, float row_zero, float *y);

    /* x[i] += y[i] */
    void (*add)(float *x, const float *y, size_t count);

    /* x[i] = f(x[i]); GELU with erf is within 2e-7 * max(1, |x|) of the exact value. */
    void (*activate)(enum activation_function function, float *x, size_t count);

    /* Layer norm in place over each of `rows` rows of `width` floats:
     * (x - mean) / sqrt(variance + eps) * gamma + beta (Ba, Kiros, Hinton 2016). */
    void (*norm)(float *x, size_t rows, size_t width, const float *gamma, const float *beta,
                 float eps);

    /* A block of logits [rows, LOGITS_COLUMNS], a column for each position, a row for each entry of
     * the vocabulary: adds bias[r] to row r; of each column the largest number and the sum of
     * e^(number - largest), which is NaN where a number is not finite. rows: 1 or more. */
    void (*logits)(float *y, size_t rows, const float *bias, float *largest, float *sums);

    /* softmax(query * key^T * scale) * value (Vaswani et al. 2017), scores in blocks of a few
     * query rows, so that scratch grows linearly with T. */
    void (*attend)(const struct attend_args *args);
    void (*attend_probed)(const struct attend_args *args); /* the same, watched by probe.h */
    size_t (*attend_scratch)(size_t length, size_t head_dim);
};

/* NULL where the compiler or the CPU lacks the instruction set. `kernels_base` always works. */
const struct kernels *kernels_avx2(void);
const struct kernels *kernels_avx512(void);
const struct kernels *kernels_base(void);

/* The fastest version that this CPU runs. */
const struct kernels *kernels_best(void);

#endif
