/* test_mask_decoder.c: probabilities and rankings against sums in double precision, for every
 * number format, and the same bytes whatever the slices and the positions beside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/compute/mask_decoder.h"
#include "tests/unit/compute/numbers.h"

enum { VOCABULARY = 1091, WIDTH = 37, POSITIONS = 70, KEPT = 7 };

struct fixture {
    unsigned char *matrix; /* one byte off, so that no number is aligned */
    float *wide, *bias, *x;
    struct linear_weights weights;
};

/* The matrix in the format, and what it says in floats. */
static void fixture_open(struct fixture *f, enum tensor_type type) {
    const size_t count = (size_t)VOCABULARY * WIDTH, number = type == TENSOR_F32 ? 4 : 2;
    f->matrix = calloc(count * 4 + 1, 1);
    assert_non_null(f->matrix);
    unsigned char *data = f->matrix + 1;
    for (size_t i = 0; i < count; i++) {
        const float value = random_float();
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        /* Halves of about 1: sign, exponent 15 and ten random bits; BF16 is the upper half. */
        const uint16_t half = (uint16_t)((bits >> 16 & 0x8000) | 0x3800 | (bits >> 10 & 0x3FF));
        const uint16_t upper = (uint16_t)(bits >> 16);
        memcpy(data + i * number,
               type == TENSOR_F32   ? (void *)&bits
               : type == TENSOR_F16 ? (const void *)&half
                                    : (const void *)&upper,
               number);
    }
    f->wide = floats(count);
    kernels_base()->widen(type, data, count, f->wide);
    f->bias = random_floats(VOCABULARY);
    f->x = random_floats((size_t)POSITIONS * WIDTH);
    f->weights = (struct linear_weights){
        .weight = {.name = "e",
                   .data = data,
                   .type = type,
                   .rank = 2,
                   .shape = {VOCABULARY, WIDTH},
                   .bytes = count * number},
        .bias = {.name = "b",
                 .data = (const unsigned char *)f->bias,
                 .type = TENSOR_F32,
                 .rank = 1,
                 .shape = {VOCABULARY},
                 .bytes = VOCABULARY * sizeof(float)},
    };
}

static void fixture_close(struct fixture *f) {
    free(f->x);
    free(f->bias);
    free(f->wide);
    free(f->matrix);
}

/* Probabilities of all entries for position p. */
static void probabilities(const struct fixture *f, uint32_t p, double *out) {
    double sum = 0;
    for (uint32_t v = 0; v < VOCABULARY; v++) {
        double logit = (double)f->bias[v];
        for (uint32_t h = 0; h < WIDTH; h++)
            logit += (double)f->wide[v * WIDTH + h] * (double)f->x[p * WIDTH + h];
        out[v] = exp(logit);
        sum += out[v];
    }
    for (uint32_t v = 0; v < VOCABULARY; v++)
        out[v] /= sum;
}

static void run(const struct fixture *f, const struct kernels *kernels, uint32_t chunks,
                uint32_t first, uint32_t count, const struct ranking *ranking,
                struct ranked *best) {
    struct mask_decoder *decoder;
    struct mask_decoder_scratch *scratch;
    struct mask_query queries[POSITIONS];
    assert_int_equal(mask_decoder_open(kernels, &f->weights, &decoder, NULL), STATUS_OK);
    assert_int_equal(mask_decoder_scratch_open(decoder, chunks, &scratch, NULL), STATUS_OK);
    for (uint32_t i = 0; i < count; i++)
        queries[i] = (struct mask_query){ranking, best + (size_t)i * ranking->kept};
    mask_decoder_run(decoder, scratch, f->x + (size_t)first * WIDTH, queries, count);
    mask_decoder_scratch_close(scratch);
    mask_decoder_close(decoder);
}

static void check_best(const struct fixture *f, const struct ranking *ranking,
                       const struct ranked *best, uint32_t p) {
    double all[VOCABULARY];
    probabilities(f, p, all);
    for (uint32_t k = 0; k < ranking->kept; k++) {
        assert_near((double)best[k].score, all[best[k].id], 1e-5 * all[best[k].id]);
        uint32_t better = 0;
        for (uint32_t i = 0; i < (ranking->ids ? ranking->ids_count : VOCABULARY); i++)
            better += all[ranking->ids ? ranking->ids[i] : (int32_t)i] > all[best[k].id];
        assert_int_equal(better, k);
    }
}

static void the_best_of_the_vocabulary_are_found_in_every_format(void **state) {
    (void)state;
    static const enum tensor_type types[] = {TENSOR_F32, TENSOR_F16, TENSOR_BF16};
    static const struct ranking ranking = {.kept = KEPT};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        struct fixture f;
        struct ranked best[POSITIONS * KEPT];
        fixture_open(&f, types[t]);
        const struct kernels *kernels[] = {kernels_base(), kernels_best()};
        for (uint32_t k = 0; k < 2; k++) {
            run(&f, kernels[k], 0, 0, POSITIONS, &ranking, best);
            for (uint32_t p = 0; p < POSITIONS; p++)
                check_best(&f, &ranking, best + p * KEPT, p);
        }
        fixture_close(&f);
    }
}

static void targets_compete_among_themselves_with_their_share_of_all(void **state) {
    (void)state;
    static const int32_t ids[] = {0, 5, 255, 256, 700, VOCABULARY - 1};
    static const struct ranking ranking = {.ids = ids, .ids_count = 6, .kept = 4};
    struct fixture f;
    struct ranked best[3 * 4];
    fixture_open(&f, TENSOR_BF16);
    run(&f, kernels_best(), 2, 0, 3, &ranking, best);
    for (uint32_t p = 0; p < 3; p++)
        check_best(&f, &ranking, best + p * 4, p);
    fixture_close(&f);
}

static void all_of_the_vocabulary_may_be_kept_and_adds_up_to_one(void **state) {
    (void)state;
    static const struct ranking ranking = {.kept = VOCABULARY};
    static struct ranked best[2 * VOCABULARY];
    struct fixture f;
    fixture_open(&f, TENSOR_F32);
    run(&f, kernels_best(), 0, 1, 2, &ranking, best);
    double sum = 0;
    for (uint32_t i = 0; i < VOCABULARY; i++)
        sum += (double)best[i].score;
    assert_near(sum, 1, 1e-5);
    check_best(&f, &ranking, best + VOCABULARY, 2);
    fixture_close(&f);
}

static void slices_and_neighbours_change_no_bytes(void **state) {
    (void)state;
    static const uint32_t chunks[] = {1, 2, 3, 4, 7, 64};
    static const struct ranking ranking = {.kept = KEPT};
    struct fixture f;
    struct ranked all[POSITIONS * KEPT], other[POSITIONS * KEPT];
    fixture_open(&f, TENSOR_F16);
    run(&f, kernels_best(), 0, 0, POSITIONS, &ranking, all);
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        run(&f, kernels_best(), chunks[i], 0, POSITIONS, &ranking, other);
        assert_memory_equal(other, all, sizeof all);
    }
    for (uint32_t first = 0; first < POSITIONS; first += 9) {
        const uint32_t count = 1 + first % 7;
        run(&f, kernels_best(), 0, first, count < POSITIONS - first ? count : 1, &ranking, other);
        assert_memory_equal(other, all + first * KEPT, KEPT * sizeof *all);
    }
    fixture_close(&f);
}

static void a_logit_that_is_not_finite_makes_every_score_nan(void **state) {
    (void)state;
    static const struct ranking ranking = {.kept = KEPT};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    struct ranked best[2 * KEPT];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct fixture f;
        fixture_open(&f, TENSOR_F32);
        f.bias[i == 0 ? 0 : VOCABULARY - 1] = bad[i];
        run(&f, kernels_best(), 0, 0, 2, &ranking, best);
        for (uint32_t k = 0; k < 2 * KEPT; k++)
            assert_true(isnan(best[k].score));
        fixture_close(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_the_vocabulary_are_found_in_every_format),
        cmocka_unit_test(targets_compete_among_themselves_with_their_share_of_all),
        cmocka_unit_test(all_of_the_vocabulary_may_be_kept_and_adds_up_to_one),
        cmocka_unit_test(slices_and_neighbours_change_no_bytes),
        cmocka_unit_test(a_logit_that_is_not_finite_makes_every_score_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
