/* test_nodes.c: the parts of a tiny BERT of odd sizes against a plain forward pass in double
 * precision, and that a text's logits have the same bits alone and among others. */
#include <pthread.h>

#include "engine/compute/encoder.h"
#include "tests/unit/nodes/tiny_model.h"

/* The plain forward pass of one text. */
static double at(const struct tensor *t, size_t row, size_t column, size_t columns) {
    float x;
    memcpy(&x, t->data + (row * columns + column) * sizeof x, sizeof x);
    return (double)x;
}

static void plain_linear(const struct linear_weights *w, size_t out, size_t in, const double *x,
                         double *y) {
    for (size_t o = 0; o < out; o++) {
        y[o] = at(&w->bias, o, 0, 1);
        for (size_t i = 0; i < in; i++)
            y[o] += x[i] * at(&w->weight, o, i, in);
    }
}

static void plain_norm(const struct norm_weights *w, double *x) {
    double mean = 0, variance = 0;
    for (int i = 0; i < H; i++)
        mean += x[i] / H;
    for (int i = 0; i < H; i++)
        variance += (x[i] - mean) * (x[i] - mean) / H;
    for (size_t i = 0; i < H; i++)
        x[i] = (x[i] - mean) / sqrt(variance + 1e-12) * at(&w->weight, i, 0, 1) +
               at(&w->bias, i, 0, 1);
}

static void plain_attention(const double (*q)[H], const double (*k)[H], const double (*v)[H],
                            size_t tokens, size_t i, double *out) {
    for (size_t first = 0; first < H; first += D) {
        double p[P], sum = 0;
        for (size_t j = 0; j < tokens; j++) {
            double score = 0;
            for (size_t d = first; d < first + D; d++)
                score += q[i][d] * k[j][d];
            sum += p[j] = exp(score / sqrt(D));
        }
        for (size_t d = first; d < first + D; d++) {
            out[d] = 0;
            for (size_t j = 0; j < tokens; j++)
                out[d] += p[j] / sum * v[j][d];
        }
    }
}

static void plain_layer(const struct layer_weights *w, double (*x)[H], size_t tokens) {
    static double q[P][H], k[P][H], v[P][H];
    for (size_t i = 0; i < tokens; i++) {
        plain_linear(&w->query, H, H, x[i], q[i]);
        plain_linear(&w->key, H, H, x[i], k[i]);
        plain_linear(&w->value, H, H, x[i], v[i]);
    }
    for (size_t i = 0; i < tokens; i++) {
        double context[H], y[H], up[I];
        plain_attention((const double(*)[H])q, (const double(*)[H])k, (const double(*)[H])v, tokens,
                        i, context);
        plain_linear(&w->attention_output, H, H, context, y);
        for (int d = 0; d < H; d++)
            x[i][d] += y[d];
        plain_norm(&w->attention_norm, x[i]);
        plain_linear(&w->intermediate, I, H, x[i], up);
        for (int d = 0; d < I; d++)
            up[d] *= 0.5 * (1 + erf(up[d] / sqrt(2.0)));
        plain_linear(&w->output, H, I, up, y);
        for (int d = 0; d < H; d++)
            x[i][d] += y[d];
        plain_norm(&w->output_norm, x[i]);
    }
}

static void plain_forward(const int32_t *ids, const uint8_t *type_ids, size_t tokens,
                          double *logits) {
    static double x[P][H];
    for (size_t i = 0; i < tokens; i++) {
        for (size_t d = 0; d < H; d++)
            x[i][d] = at(&weights.word_embeddings, (size_t)ids[i], d, H) +
                      at(&weights.position_embeddings, i, d, H) +
                      at(&weights.type_embeddings, type_ids[i], d, H);
        plain_norm(&weights.embeddings_norm, x[i]);
    }
    for (int l = 0; l < L; l++)
        plain_layer(&layers[l], x, tokens);
    double pooled[H];
    plain_linear(&weights.pooler, H, H, x[0], pooled);
    for (int d = 0; d < H; d++)
        pooled[d] = tanh(pooled[d]);
    plain_linear(&weights.classifier, K, H, pooled, logits);
}

static void logits_are_exact_at_all_lengths(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    for (uint32_t tokens = 1; tokens <= P; tokens++) {
        double logits[K];
        run_alone(&f, tokens, tokens);
        plain_forward(f.m.ids, f.m.type_ids, tokens, logits);
        for (int k = 0; k < K; k++)
            assert_near((double)f.m.outputs[k], logits[k], 2e-5);
    }
    fixture_free(&f);
}

/* The outputs of each product of a layer's attention. */
static uint32_t attention_outputs(bool queries_apart, uint32_t outputs[ENCODER_LINEARS_MAX]) {
    struct linear_set *set;
    struct encoder_layer layer;
    struct linear *linears[ENCODER_LINEARS_MAX];
    struct error err;
    assert_int_equal(linear_set_open(GEMM_F32, kernels_best(), GEMM_ALL_BLOCKS, &set, &err),
                     STATUS_OK);
    assert_int_equal(
        encoder_layer_open(set, kernels_best(), &config, &layers[0], queries_apart, &layer, &err),
        STATUS_OK);
    const uint32_t count = encoder_layer_get_linears(&layer, ENCODER_ATTENTION, linears);
    for (uint32_t i = 0; i < count; i++)
        outputs[i] = linear_get_outputs(linears[i]);
    encoder_layer_close(&layer);
    linear_set_close(set);
    return count;
}

static void query_key_and_value_are_one_product(void **state) {
    (void)state;
    uint32_t outputs[ENCODER_LINEARS_MAX];
    assert_int_equal(attention_outputs(false, outputs), 2);
    assert_int_equal(outputs[0], 3 * H);
    assert_int_equal(outputs[1], H);
    /* The last layer reads few rows: only their queries are wanted. */
    assert_int_equal(attention_outputs(true, outputs), 3);
    assert_int_equal(outputs[0], H);
    assert_int_equal(outputs[1], 2 * H);
}

static void a_text_has_the_same_bits_alone_and_packed(void **state) {
    (void)state;
    enum { TEXTS = 60 };
    static float alone[TEXTS][K];
    struct fixture f = fixture_make();
    for (uint32_t b = 0; b < TEXTS; b++) {
        run_alone(&f, b, length_of(b));
        memcpy(alone[b], f.m.outputs, sizeof alone[b]);
    }
    for (uint32_t first = 0; first < TEXTS; first++) {
        f.m.rows = f.m.tokens = 0;
        for (uint32_t b = first; b < TEXTS && f.m.tokens + length_of(b) <= TOKENS_MAX; b++)
            text_add(&f.m, b, length_of(b));
        run_all(&f);
        assert_memory_equal(f.m.outputs, alone[first], f.m.rows * sizeof alone[0]);
    }
    fixture_free(&f);
}

static void the_first_tokens_bytes_do_not_need_the_other_rows(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    static float shortcut[TOKENS_MAX * K];
    for (uint32_t first = 0; first < 40; first++) {
        f.m.rows = f.m.tokens = 0;
        for (uint32_t b = first; f.m.tokens + length_of(b) <= TOKENS_MAX; b++)
            text_add(&f.m, b, length_of(b));
        nodes_set_all_rows(f.nodes, false);
        run_all(&f);
        memcpy(shortcut, f.m.outputs, f.m.rows * K * sizeof *shortcut);
        nodes_set_all_rows(f.nodes, true);
        run_all(&f);
        assert_memory_equal(f.m.outputs, shortcut, f.m.rows * K * sizeof *shortcut);
    }
    fixture_free(&f);
}

static void borders_inside_layers_change_no_byte(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    static float whole[TOKENS_MAX * K];
    for (int all_rows = 0; all_rows < 2; all_rows++) {
        nodes_set_all_rows(f.nodes, all_rows);
        for (uint32_t at_once = 1; at_once <= 8; at_once++) {
            f.m.rows = f.m.tokens = 0;
            for (uint32_t b = at_once; f.m.tokens + length_of(b) <= TOKENS_MAX; b++)
                text_add(&f.m, b, length_of(b));
            run_all(&f);
            memcpy(whole, f.m.outputs, f.m.rows * K * sizeof *whole);
            run_in(&f, at_once);
            assert_memory_equal(f.m.outputs, whole, f.m.rows * K * sizeof *whole);
        }
    }
    fixture_free(&f);
}

/* The last layer may be asked for any rows of a text; here the pooler reads the first and the rest
 * must be what a run of all rows gives. */
static void any_rows_that_are_read_have_the_bytes_of_all_rows(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    static float every[TOKENS_MAX * H];
    uint32_t count;
    nodes_parts(f.nodes, &count);
    f.m.rows = f.m.tokens = 0;
    for (uint32_t b = 3; f.m.tokens + length_of(b) <= TOKENS_MAX; b++)
        text_add(&f.m, b, length_of(b));
    nodes_set_all_rows(f.nodes, true);
    nodes_run(f.nodes, 0, count - 2, f.scratch, &f.m, NULL);
    memcpy(every, f.m.hidden, f.m.tokens * H * sizeof *every);
    uint32_t reads = 0;
    for (uint32_t b = 0; b < f.m.rows; b++) { /* every third text has none */
        for (uint32_t i = f.m.starts[b]; b % 3 && i < f.m.starts[b + 1]; i += 1 + b % 4)
            f.m.reads[reads++] = i;
        f.m.reads_starts[b + 1] = reads;
    }
    nodes_set_all_rows(f.nodes, false);
    for (uint32_t at_once = 1; at_once <= count - 2; at_once += count - 3) {
        for (uint32_t first = 0; first < count - 2; first += at_once)
            nodes_run(f.nodes, first, at_once, f.scratch, &f.m, NULL);
        for (uint32_t r = 0; r < reads; r++)
            assert_memory_equal(f.m.hidden + f.m.reads[r] * H, every + f.m.reads[r] * H,
                                H * sizeof *every);
    }
    fixture_free(&f);
}

struct user {
    struct nodes *nodes;
    uint32_t seed;
    float logits[K];
    bool same;
};

/* Runs its own text again and again on its own scratch. */
static void *user_run(void *context) {
    struct user *u = context;
    struct fixture f = fixture_with(u->nodes);
    u->same = true;
    for (int i = 0; i < 20; i++) {
        run_alone(&f, u->seed, 40 + u->seed);
        u->same = u->same && memcmp(f.m.outputs, u->logits, sizeof u->logits) == 0;
    }
    fixture_leave(&f);
    return NULL;
}

static void threads_share_the_parts_and_get_the_same_bytes(void **state) {
    (void)state;
    enum { THREADS = 3 };
    struct fixture f = fixture_make();
    struct user users[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        users[i] = (struct user){.nodes = f.nodes, .seed = i};
        run_alone(&f, i, 40 + i);
        memcpy(users[i].logits, f.m.outputs, sizeof users[i].logits);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, user_run, &users[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(users[i].same);
    }
    fixture_free(&f);
}

static void many_one_token_texts_fill_a_microbatch(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    float alone[K];
    run_alone(&f, 9, 1);
    memcpy(alone, f.m.outputs, sizeof alone);
    f.m.rows = f.m.tokens = 0;
    for (uint32_t b = 0; b < TOKENS_MAX; b++)
        text_add(&f.m, 9, 1);
    run_all(&f);
    for (uint32_t b = 0; b < TOKENS_MAX; b++)
        assert_memory_equal(f.m.outputs + b * K, alone, sizeof alone);
    fixture_free(&f);
}

static void a_text_that_is_not_finite_does_not_touch_the_others(void **state) {
    (void)state;
    enum { BAD = 49 }; /* an id that text_add() gives to no text used here */
    struct fixture f = fixture_make();
    float alone[K];
    float *row = (float *)(uintptr_t)weights.word_embeddings.data + BAD * H, old = row[4];
    row[4] = NAN;
    run_alone(&f, 1, 20);
    memcpy(alone, f.m.outputs, sizeof alone);
    f.m.rows = f.m.tokens = 0;
    text_add(&f.m, 1, 20);
    text_add(&f.m, 2, 15);
    text_add(&f.m, 1, 20);
    f.m.ids[25] = BAD;
    run_all(&f);
    assert_true(isfinite(alone[0]));
    assert_memory_equal(f.m.outputs, alone, sizeof alone);
    for (int k = 0; k < K; k++)
        assert_true(isnan(f.m.outputs[K + k]));
    assert_memory_equal(f.m.outputs + 2 * K, alone, sizeof alone);
    row[4] = old;
    fixture_free(&f);
}

static void parts_are_named_in_order_and_weigh_something(void **state) {
    (void)state;
    static const char *const names[] = {"Embedding", "Encoder 0", "Encoder 0", "Encoder 0",
                                        "Encoder 1", "Encoder 1", "Encoder 1", "Encoder 2",
                                        "Encoder 2", "Encoder 2", "Pooler",    "Classifier"};
    dropped_bytes = 0;
    struct fixture f = fixture_make();
    uint32_t count;
    const struct part *parts = nodes_parts(f.nodes, &count);
    assert_int_equal(count, sizeof names / sizeof *names);
    for (uint32_t p = 0; p < count; p++) {
        assert_string_equal(parts[p].name, names[p]);
        assert_true(parts[p].weights_bytes > 0);
    }
    assert_string_equal(parts[1].third, "attention");
    assert_string_equal(parts[2].third, "intermediate");
    assert_string_equal(parts[3].third, "output");
    assert_true(parts[1].weights_bytes >= 4 * H * H * sizeof(float));
    assert_true(parts[2].weights_bytes >= H * I * sizeof(float));
    assert_true(parts[3].weights_bytes >= H * I * sizeof(float));
    assert_true(dropped_bytes >= L * (4 * H * H + 2 * H * I) * sizeof(float));
    fixture_free(&f);
}

static void an_unknown_dtype_is_refused_by_name(void **state) {
    (void)state;
    struct nodes *nodes;
    struct error err;
    assert_int_equal(nodes_open(NULL, "f64", &nodes, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "f64"));
    assert_null(nodes);
    assert_int_equal(nodes_open(NULL, "auto", &nodes, &err), STATUS_OK);
    nodes_close(nodes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_exact_at_all_lengths),
        cmocka_unit_test(query_key_and_value_are_one_product),
        cmocka_unit_test(a_text_has_the_same_bits_alone_and_packed),
        cmocka_unit_test(the_first_tokens_bytes_do_not_need_the_other_rows),
        cmocka_unit_test(borders_inside_layers_change_no_byte),
        cmocka_unit_test(any_rows_that_are_read_have_the_bytes_of_all_rows),
        cmocka_unit_test(threads_share_the_parts_and_get_the_same_bytes),
        cmocka_unit_test(many_one_token_texts_fill_a_microbatch),
        cmocka_unit_test(a_text_that_is_not_finite_does_not_touch_the_others),
        cmocka_unit_test(parts_are_named_in_order_and_weigh_something),
        cmocka_unit_test(an_unknown_dtype_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, model_make, model_unmake);
}
