/* test_attention.c: attention against a plain reference in double precision, in every version of
 * the kernels; its bits do not depend on neighbours, on the place, or on how many rows are asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/compute/attention.h"
#include "tests/unit/compute/numbers.h"

enum { VERSIONS = 3 };

static const struct kernels *version(int index) {
    return index == 0 ? kernels_base() : index == 1 ? kernels_avx2() : kernels_avx512();
}

/* Scratch is filled with NaN first: nothing may be read that was not written. */
static void run(const struct attention *attention, const float *qkv, uint32_t tokens,
                uint32_t queries, float *out) {
    const size_t count = attention_scratch_floats(attention, tokens);
    float *scratch = floats(count);
    memset(scratch, 0xFF, count * sizeof *scratch);
    const size_t H = (size_t)attention->attn_heads * attention->head_dim;
    const struct attention_rows rows = {qkv, qkv + H, qkv + 2 * H, 3 * H, 3 * H};
    attention_run(attention, &rows, tokens, queries, out, scratch);
    free(scratch);
}

/* qkv [T, 3H]; one attention head of D numbers that starts at column `at`. */
static void assert_head(const float *qkv, size_t T, size_t H, size_t D, size_t at,
                        const float *out) {
    double *p = malloc(T * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < T; i++) {
        double largest = -1e300, sum = 0;
        for (size_t j = 0; j < T; j++) {
            p[j] = 0;
            for (size_t d = at; d < at + D; d++)
                p[j] += (double)qkv[i * 3 * H + d] * (double)qkv[j * 3 * H + H + d];
            p[j] /= sqrt((double)D);
            largest = fmax(largest, p[j]);
        }
        for (size_t j = 0; j < T; j++)
            sum += p[j] = exp(p[j] - largest);
        for (size_t d = at; d < at + D; d++) {
            double y = 0;
            for (size_t j = 0; j < T; j++)
                y += p[j] / sum * (double)qkv[j * 3 * H + 2 * H + d];
            assert_near((double)out[i * H + d], y, 1e-5);
        }
    }
    free(p);
}

static void assert_exact(const struct kernels *kernels, uint32_t heads, uint32_t head_dim,
                         uint32_t tokens) {
    const size_t H = (size_t)heads * head_dim;
    struct attention attention;
    attention_init(&attention, kernels, heads, head_dim);
    float *qkv = random_floats(tokens * 3 * H), *out = floats(tokens * H);
    for (size_t i = 0; i < tokens * 3 * H; i++)
        qkv[i] *= 3;
    run(&attention, qkv, tokens, tokens, out);
    for (size_t h = 0; h < heads; h++)
        assert_head(qkv, tokens, H, head_dim, h * head_dim, out);
    free(out);
    free(qkv);
}

static void attention_is_exact_at_all_lengths(void **state) {
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        for (uint32_t tokens = 1; version(v) && tokens <= 600; tokens += tokens < 140 ? 1 : 46)
            assert_exact(version(v), 1, 32, tokens);
    }
}

static void attention_is_exact_at_odd_head_dims(void **state) {
    (void)state;
    static const uint32_t dims[] = {1, 3, 5, 8, 16, 17, 33, 64, 80, 129};
    for (int v = 0; v < VERSIONS; v++) {
        for (size_t d = 0; version(v) && d < sizeof dims / sizeof *dims; d++) {
            for (uint32_t tokens = 1; tokens < 90; tokens += 11)
                assert_exact(version(v), 3, dims[d], tokens);
        }
    }
}

static void scratch_grows_linearly_with_length(void **state) {
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        if (!version(v))
            continue;
        struct attention attention;
        attention_init(&attention, version(v), 12, 64);
        size_t at_4096 = attention_scratch_floats(&attention, 4096);
        assert_true(attention_scratch_floats(&attention, 8192) < 2 * at_4096);
    }
}

static void bits_do_not_depend_on_neighbours_or_place(void **state) {
    (void)state;
    enum { H = 33, AROUND = 41 };
    for (int v = 0; v < VERSIONS; v++) {
        if (!version(v))
            continue;
        struct attention attention;
        attention_init(&attention, version(v), 3, 11);
        for (uint32_t tokens = 1; tokens <= 300; tokens += tokens < 40 ? 1 : 37) {
            float *text = random_floats(tokens * 3 * H), *alone = floats(tokens * H);
            run(&attention, text, tokens, tokens, alone);
            float *packed = random_floats((tokens + 2 * AROUND) * 3 * H);
            float *out = floats((tokens + 2 * AROUND) * H);
            for (size_t place = 0; place <= AROUND; place += 8) {
                memcpy(packed + place * 3 * H, text, tokens * 3 * H * sizeof *text);
                run(&attention, packed + place * 3 * H, tokens, tokens, out + place * H);
                assert_memory_equal(out + place * H, alone, tokens * H * sizeof *alone);
            }
            free(out);
            free(packed);
            free(alone);
            free(text);
        }
    }
}

static void fewer_queries_give_the_same_bits_and_write_no_more(void **state) {
    (void)state;
    enum { H = 66 };
    for (int v = 0; v < VERSIONS; v++) {
        if (!version(v))
            continue;
        struct attention attention;
        attention_init(&attention, version(v), 2, 33);
        for (uint32_t tokens = 2; tokens < 200; tokens += 13) {
            float *qkv = random_floats(tokens * 3 * H);
            float *all = floats(tokens * H), *first = random_floats(2 * H), after[H];
            memcpy(after, first + H, sizeof after);
            run(&attention, qkv, tokens, tokens, all);
            run(&attention, qkv, tokens, 1, first);
            assert_memory_equal(first, all, H * sizeof *first);
            assert_memory_equal(first + H, after, sizeof after);
            free(first);
            free(all);
            free(qkv);
        }
    }
}

static void large_scores_do_not_overflow_and_nan_is_seen(void **state) {
    (void)state;
    enum { T = 20, H = 8 };
    for (int v = 0; v < VERSIONS; v++) {
        if (!version(v))
            continue;
        struct attention attention;
        attention_init(&attention, version(v), 1, H);
        float *qkv = random_floats(T * 3 * H), out[T * H];
        for (size_t i = 0; i < T * 3 * H; i++)
            qkv[i] *= 3000;
        run(&attention, qkv, T, T, out);
        for (size_t i = 0; i < T * H; i++)
            assert_true(isfinite(out[i]));
        qkv[7 * 3 * H + H + 2] = NAN; /* a key */
        run(&attention, qkv, T, T, out);
        for (size_t i = 0; i < T * H; i++)
            assert_true(isnan(out[i]));
        free(qkv);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_exact_at_all_lengths),
        cmocka_unit_test(attention_is_exact_at_odd_head_dims),
        cmocka_unit_test(scratch_grows_linearly_with_length),
        cmocka_unit_test(bits_do_not_depend_on_neighbours_or_place),
        cmocka_unit_test(fewer_queries_give_the_same_bits_and_write_no_more),
        cmocka_unit_test(large_scores_do_not_overflow_and_nan_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
