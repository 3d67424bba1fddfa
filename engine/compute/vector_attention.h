/* vector_attention.h: attention of one head of one text. Included by kernels_*.c only.
 *
 *   key    -> panels of PANEL keys, transposed: [T / PANEL][D][PANEL], zeros in the last vector
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

#include "engine/compute/probe.h"
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

VEC_INLINE struct attend_layout attend_layout(size_t length, size_t head_dim) {
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
        UNROLL for (size_t j = 0; j < columns; j++) sums[r][j] = vec_set(0.0f);
    }
    for (size_t k = 0; k < depth; k++, b += b_stride) {
        vec row[VEC_COLUMNS];
        UNROLL for (size_t j = 0; j < columns; j++) row[j] = vec_load(b + j * VEC_LANES);
        UNROLL for (size_t r = 0; r < VEC_ROWS; r++) {
            vec x = vec_set(a[r * a_stride + k]);
            UNROLL for (size_t j = 0; j < columns; j++) sums[r][j] = vec_fma(x, row[j], sums[r][j]);
        }
    }
    UNROLL for (size_t r = 0; r < VEC_ROWS; r++) {
        UNROLL for (size_t j = 0; j < columns; j++)
            vec_store(c + r * c_stride + j * VEC_LANES, sums[r][j]);
    }
}

/* c[rows, columns vectors] = a[rows, depth] * b[depth, columns vectors]; `rows` is rounded up to
 * VEC_ROWS, for which there is room. */
static void product(const float *a, size_t a_stride, size_t rows, const float *b, size_t b_stride,
                    size_t depth, float *c, size_t c_stride, size_t columns) {
    for (size_t r = 0; r < rows; r += VEC_ROWS) {
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

typedef float quad __attribute__((vector_size(16)));

VEC_INLINE quad quad_load(const float *p) {
    quad q;
    memcpy(&q, p, sizeof q);
    return q;
}

/* out[d * PANEL + k] = rows[k * stride + d] for four rows and four columns. */
VEC_INLINE void transpose_4x4(const float *rows, size_t stride, float *out) {
    quad a = quad_load(rows), b = quad_load(rows + stride);
    quad c = quad_load(rows + 2 * stride), d = quad_load(rows + 3 * stride);
    quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    quad turned[4] = {
        __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
        __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
        __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
        __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7),
    };
    UNROLL for (size_t i = 0; i < 4; i++) memcpy(out + i * PANEL, &turned[i], sizeof turned[i]);
}

/* One panel: `count` (1..PANEL) keys, zeros after them up to a whole vector. */
VEC_INLINE void pack_panel(const float *source, size_t stride, size_t count, size_t head_dim,
                           float *panel) {
    const size_t whole_keys = count / 4 * 4, whole_dims = head_dim / 4 * 4;
    for (size_t k = 0; k < whole_keys; k += 4) {
        for (size_t d = 0; d < whole_dims; d += 4)
            transpose_4x4(source + k * stride + d, stride, panel + d * PANEL + k);
    }
    for (size_t d = 0; d < head_dim; d++) {
        for (size_t k = d < whole_dims ? whole_keys : 0; k < count; k++)
            panel[d * PANEL + k] = source[k * stride + d];
        for (size_t k = count; k < round_up(count, VEC_LANES); k++)
            panel[d * PANEL + k] = 0.0f;
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
VEC_INLINE float soften_row(float *s, size_t length, float scale) {
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

VEC_INLINE void scale_row(const float *x, size_t count, float factor, float *out) {
    const vec factor_v = vec_set(factor);
    size_t i = 0;
    for (; i + VEC_LANES <= count; i += VEC_LANES)
        vec_store(out + i, vec_load(x + i) * factor_v);
    if (i < count)
        vec_store_part(out + i, vec_load(x + i) * factor_v, count - i);
}

/* With a constant `probed` of false nothing of the probe is left. */
VEC_INLINE void attend_with(const struct attend_args *args, const bool probed) {
    const size_t length = args->length, head_dim = args->head_dim;
    const struct attend_layout l = attend_layout(length, head_dim);
    float *keys = args->scratch, *values = keys + l.keys, *queries = values + l.values;
    float *scores = queries + l.queries, *outputs = scores + l.scores;
    for (size_t k = 0; k < length; k += PANEL)
        pack_panel(args->key + k * args->key_stride, args->key_stride,
                   length - k < PANEL ? length - k : PANEL, head_dim, keys + k * head_dim);
    if (probed)
        probe_enter(PROBE_CONTEXT);
    pack_rows(args->value, args->key_stride, length, head_dim, values, l.value_stride);

    for (size_t start = 0; start < args->queries; start += BLOCK) {
        const size_t rows = args->queries - start < BLOCK ? args->queries - start : BLOCK;
        if (probed) {
            probe_enter(PROBE_SCORES);
            probe_count(2.0 * (double)(rows * length * head_dim), 0);
        }
        pack_rows(args->query + start * args->query_stride, args->query_stride, rows, head_dim,
                  queries, head_dim);
        memset(queries + rows * head_dim, 0, (BLOCK - rows) * head_dim * sizeof *queries);

        for (size_t k = 0; k < length; k += PANEL) {
            size_t left = round_up(length - k, VEC_LANES) / VEC_LANES;
            product(queries, head_dim, rows, keys + k * head_dim, PANEL, head_dim, scores + k,
                    l.score_stride, left < VEC_COLUMNS ? left : VEC_COLUMNS);
        }
        if (probed) {
            probe_enter(PROBE_SOFTMAX);
            probe_count(0, 8.0 * (double)(rows * length));
        }
        float factors[BLOCK];
        for (size_t r = 0; r < rows; r++)
            factors[r] = soften_row(scores + r * l.score_stride, length, args->scale);

        if (probed) {
            probe_enter(PROBE_CONTEXT);
            probe_count(2.0 * (double)(rows * length * head_dim), 0);
        }
        for (size_t d = 0; d < l.value_stride; d += PANEL) {
            size_t left = (l.value_stride - d) / VEC_LANES;
            product(scores, l.score_stride, rows, values + d, l.value_stride, length, outputs + d,
                    l.value_stride, left < VEC_COLUMNS ? left : VEC_COLUMNS);
        }
        for (size_t r = 0; r < rows; r++)
            scale_row(outputs + r * l.value_stride, head_dim, factors[r],
                      args->out + (start + r) * args->out_stride);
    }
}

static void attend(const struct attend_args *args) {
    attend_with(args, false);
}

static void attend_probed(const struct attend_args *args) {
    attend_with(args, true);
}

#endif
