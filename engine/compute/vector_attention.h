/* vector_attention.h: attention of one head of one text. Included by kernels_*.c only.
 *
 *   key    -> panels of PANEL keys, transposed:  [T / PANEL][D][PANEL], zeros after the last key
 *   value  -> rows padded to whole vectors:      [T][D padded]
 *   for each block of BLOCK query rows:
 *       scores [BLOCK, T] = query * key^T;  p = exp((scores - largest) * scale)
 *       out = p * value / sum(p)
 *
 * Both products run through one register-blocked kernel of VEC_ROWS x VEC_COLUMNS vectors. A score
 * block is BLOCK x T floats, which stays in the L2 cache for all usual T. All that a row's bits
 * depend on is its text: the sums run in the order of d and of the keys, one lane each. */
#ifndef BERTD_COMPUTE_VECTOR_ATTENTION_H
#define BERTD_COMPUTE_VECTOR_ATTENTION_H

#include "engine/compute/vector_math.h"

#include <math.h>

enum { PANEL = VEC_COLUMNS * VEC_LANES, BLOCK = 2 * VEC_ROWS, LINE_FLOATS = 16 };

static size_t round_up(size_t x, size_t unit) {
    return (x + unit - 1) / unit * unit;
}

/* Floats of each piece of scratch, all multiples of a cache line. */
struct attend_layout {
    size_t keys, values, queries, scores, outputs;
    size_t score_stride, value_stride;
};

static struct attend_layout attend_layout(size_t length, size_t head_dim) {
    struct attend_layout l;
    l.score_stride = round_up(length, PANEL) + LINE_FLOATS; /* no power of two: cache ways */
    l.value_stride = round_up(head_dim, VEC_LANES);
    l.keys = round_up(round_up(length, PANEL) * head_dim, LINE_FLOATS);
    l.values = round_up(length * l.value_stride, LINE_FLOATS);
    l.queries = round_up(BLOCK * head_dim, LINE_FLOATS);
    l.scores = round_up(BLOCK * l.score_stride, LINE_FLOATS);
    l.outputs = round_up(BLOCK * l.value_stride, LINE_FLOATS);
    return l;
}

static size_t attend_scratch(size_t length, size_t head_dim) {
    struct attend_layout l = attend_layout(length, head_dim);
    return l.keys + l.values + l.queries + l.scores + l.outputs;
}

/* c[VEC_ROWS, columns vectors] = a[VEC_ROWS, depth] * b[depth, columns vectors] */
VEC_INLINE void product_block(const float *a, size_t a_stride, const float *b, size_t b_stride,
                              size_t depth, float *c, size_t c_stride, const size_t columns) {
    vec sums[VEC_ROWS][VEC_COLUMNS];
    UNROLL for (size_t r = 0; r < VEC_ROWS; r++) {
        UNROLL for (size_t j = 0; j < columns; j++)
            sums[r][j] = vec_set(0.0f);
    }
    for (size_t k = 0; k < depth; k++, b += b_stride) {
        vec row[VEC_COLUMNS];
        UNROLL for (size_t j = 0; j < columns; j++)
            row[j] = vec_load(b + j * VEC_LANES);
        UNROLL for (size_t r = 0; r < VEC_ROWS; r++) {
            vec x = vec_set(a[r * a_stride + k]);
            UNROLL for (size_t j = 0; j < columns; j++)
                sums[r][j] = vec_fma(x, row[j], sums[r][j]);
        }
    }
    UNROLL for (size_t r = 0; r < VEC_ROWS; r++) {
        UNROLL for (size_t j = 0; j < columns; j++)
            vec_store(c + r * c_stride + j * VEC_LANES, sums[r][j]);
    }
}

/* c[BLOCK, columns vectors] = a[BLOCK, depth] * b[depth, columns vectors] */
static void product(const float *a, size_t a_stride, const float *b, size_t b_stride, size_t depth,
                    float *c, size_t c_stride, size_t columns) {
    for (size_t r = 0; r < BLOCK; r += VEC_ROWS) {
        const float *a_r = a + r * a_stride;
        float *c_r = c + r * c_stride;
        switch (columns) {
        case 1:
            product_block(a_r, a_stride, b, b_stride, depth, c_r, c_stride, 1);
            break;
#if VEC_COLUMNS > 2
        case 2:
            product_block(a_r, a_stride, b, b_stride, depth, c_r, c_stride, 2);
            break;
        case 3:
            product_block(a_r, a_stride, b, b_stride, depth, c_r, c_stride, 3);
            break;
#endif
        default:
            product_block(a_r, a_stride, b, b_stride, depth, c_r, c_stride, VEC_COLUMNS);
        }
    }
}

static void pack_keys(const struct attend_args *args, float *keys) {
    const size_t d_count = args->head_dim;
    for (size_t start = 0; start < args->length; start += PANEL, keys += PANEL * d_count) {
        size_t count = args->length - start < PANEL ? args->length - start : PANEL;
        if (count < PANEL)
            memset(keys, 0, PANEL * d_count * sizeof *keys);
        for (size_t k = 0; k < count; k++) {
            const float *key = args->key + (start + k) * args->stride;
            for (size_t d = 0; d < d_count; d++)
                keys[d * PANEL + k] = key[d];
        }
    }
}

/* Rows of D floats with the given stride into rows of `padded` floats, zeros after D. */
static void pack_rows(const float *source, size_t stride, size_t rows, size_t head_dim, float *out,
                      size_t padded) {
    for (size_t r = 0; r < rows; r++) {
        memcpy(out + r * padded, source + r * stride, head_dim * sizeof *out);
        for (size_t d = head_dim; d < padded; d++)
            out[r * padded + d] = 0.0f;
    }
}

/* s[i] = exp((s[i] - largest) * scale) for T scores; returns 1 / their sum. The lanes after the
 * last score are overwritten; they are part of the row's own padding. */
static float soften_row(float *s, size_t length, float scale) {
    for (size_t i = length; i < round_up(length, VEC_LANES); i++)
        s[i] = -INFINITY;
    vec largest_v = vec_set(-INFINITY);
    for (size_t i = 0; i < length; i += VEC_LANES)
        largest_v = vec_max(vec_load(s + i), largest_v);
    const vec largest = vec_set(vec_largest(largest_v)), scale_v = vec_set(scale);
    vec sum = vec_set(0.0f);
    for (size_t i = 0; i < length; i += VEC_LANES) {
        vec p = vec_exp((vec_load(s + i) - largest) * scale_v);
        if (i + VEC_LANES > length)
            p = vec_keep(p, length - i);
        vec_store(s + i, p);
        sum = sum + p;
    }
    return 1.0f / vec_sum(sum);
}

static void attend(const struct attend_args *args) {
    const size_t length = args->length, head_dim = args->head_dim;
    const struct attend_layout l = attend_layout(length, head_dim);
    float *keys = args->scratch, *values = keys + l.keys, *queries = values + l.values;
    float *scores = queries + l.queries, *outputs = scores + l.scores;
    pack_keys(args, keys);
    pack_rows(args->value, args->stride, length, head_dim, values, l.value_stride);

    for (size_t start = 0; start < args->queries; start += BLOCK) {
        size_t rows = args->queries - start < BLOCK ? args->queries - start : BLOCK;
        pack_rows(args->query + start * args->stride, args->stride, rows, head_dim, queries,
                  head_dim);
        memset(queries + rows * head_dim, 0, (BLOCK - rows) * head_dim * sizeof *queries);

        for (size_t k = 0; k < length; k += PANEL) {
            size_t left = round_up(length - k, VEC_LANES) / VEC_LANES;
            product(queries, head_dim, keys + k * head_dim, PANEL, head_dim, scores + k,
                    l.score_stride, left < VEC_COLUMNS ? left : VEC_COLUMNS);
        }
        float factors[BLOCK];
        for (size_t r = 0; r < BLOCK; r++)
            factors[r] = soften_row(scores + r * l.score_stride, length, args->scale);

        for (size_t d = 0; d < l.value_stride; d += PANEL) {
            size_t left = (l.value_stride - d) / VEC_LANES;
            product(scores, l.score_stride, values + d, l.value_stride, length, outputs + d,
                    l.value_stride, left < VEC_COLUMNS ? left : VEC_COLUMNS);
        }
        for (size_t r = 0; r < rows; r++) {
            float *out = args->out + (start + r) * args->out_stride;
            for (size_t d = 0; d < head_dim; d++)
                out[d] = outputs[r * l.value_stride + d] * factors[r];
        }
    }
}

#endif
