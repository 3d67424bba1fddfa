/* test_nodes.c: the parts of a tiny BERT of odd sizes against a plain forward pass in double
 * precision, and that a text's logits have the same bits alone and among others.
 *
 * The model is made here: this file stands in for engine/model/model.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/nodes.h"
#include "tests/unit/compute/numbers.h"

enum { H = 30, A = 5, D = 6, I = 46, L = 3, V = 50, P = 90, T2 = 2, K = 7, TOKENS_MAX = 400 };

static struct model_config config = {
    .hidden_size = H,
    .attn_heads = A,
    .intermediate_size = I,
    .layers_count = L,
    .vocab_size = V,
    .positions_max = P,
    .types_count = T2,
    .labels_count = K,
    .tokens_max = P,
    .norm_eps = 1e-12f,
    .activation = FUNCTION_GELU_ERF,
};
static struct layer_weights layers[L];
static struct model_weights weights = {.layers = layers, .pooler_function = FUNCTION_TANH};
static uint64_t dropped_bytes;

const struct model_config *model_get_config(const struct model *model) {
    (void)model;
    return &config;
}

const struct model_weights *model_get_weights(const struct model *model) {
    (void)model;
    return &weights;
}

enum model_task model_get_task(const struct model *model) {
    (void)model;
    return TASK_TEXT_CLASSIFICATION;
}

void model_drop_pages(const struct model *model, const struct tensor *tensor) {
    (void)model;
    dropped_bytes += tensor->bytes;
}

static struct tensor random_tensor(size_t rows, size_t columns) {
    float *data = random_floats(rows * columns);
    for (size_t i = 0; i < rows * columns; i++)
        data[i] *= 0.5f;
    return (struct tensor){
        .name = "t",
        .data = (unsigned char *)data,
        .bytes = rows * columns * sizeof *data,
        .type = TENSOR_F32,
        .rank = columns == 1 ? 1 : 2,
        .shape = {rows, columns},
    };
}

static void linear_random(struct linear_weights *linear, size_t out, size_t in) {
    linear->weight = random_tensor(out, in);
    linear->bias = random_tensor(out, 1);
}

static void norm_random(struct norm_weights *norm) {
    norm->weight = random_tensor(H, 1);
    norm->bias = random_tensor(H, 1);
}

static int model_make(void **state) {
    (void)state;
    weights.word_embeddings = random_tensor(V, H);
    weights.position_embeddings = random_tensor(P, H);
    weights.type_embeddings = random_tensor(T2, H);
    norm_random(&weights.embeddings_norm);
    for (int l = 0; l < L; l++) {
        linear_random(&layers[l].query, H, H);
        linear_random(&layers[l].key, H, H);
        linear_random(&layers[l].value, H, H);
        linear_random(&layers[l].attention_output, H, H);
        norm_random(&layers[l].attention_norm);
        linear_random(&layers[l].intermediate, I, H);
        linear_random(&layers[l].output, H, I);
        norm_random(&layers[l].output_norm);
    }
    linear_random(&weights.pooler, H, H);
    linear_random(&weights.classifier, K, H);
    return 0;
}

static void tensor_free(struct tensor *tensor) {
    free((void *)(uintptr_t)tensor->data);
}

static void linear_free(struct linear_weights *linear) {
    tensor_free(&linear->weight);
    tensor_free(&linear->bias);
}

static void norm_free(struct norm_weights *norm) {
    tensor_free(&norm->weight);
    tensor_free(&norm->bias);
}

static int model_unmake(void **state) {
    (void)state;
    tensor_free(&weights.word_embeddings);
    tensor_free(&weights.position_embeddings);
    tensor_free(&weights.type_embeddings);
    norm_free(&weights.embeddings_norm);
    for (int l = 0; l < L; l++) {
        linear_free(&layers[l].query);
        linear_free(&layers[l].key);
        linear_free(&layers[l].value);
        linear_free(&layers[l].attention_output);
        norm_free(&layers[l].attention_norm);
        linear_free(&layers[l].intermediate);
        linear_free(&layers[l].output);
        norm_free(&layers[l].output_norm);
    }
    linear_free(&weights.pooler);
    linear_free(&weights.classifier);
    return 0;
}

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

/* Nodes with a scratch and a microbatch. */
struct fixture {
    struct nodes *nodes;
    void *scratch;
    struct microbatch m;
};

static struct fixture fixture_with(struct nodes *nodes) {
    struct fixture f = {.nodes = nodes};
    struct error err;
    assert_int_equal(nodes_scratch_open(f.nodes, TOKENS_MAX, MEMORY_NODE_ANY, &f.scratch, &err),
                     STATUS_OK);
    f.m.tokens_max = TOKENS_MAX;
    f.m.starts = calloc(TOKENS_MAX + 1, sizeof *f.m.starts);
    f.m.ids = calloc(TOKENS_MAX, sizeof *f.m.ids);
    f.m.type_ids = calloc(TOKENS_MAX, sizeof *f.m.type_ids);
    f.m.reads = calloc(TOKENS_MAX, sizeof *f.m.reads);
    f.m.reads_starts = calloc(TOKENS_MAX + 1, sizeof *f.m.reads_starts);
    f.m.intermediate = floats(TOKENS_MAX * I);
    f.m.hidden = floats(TOKENS_MAX * H);
    f.m.outputs = floats(TOKENS_MAX * K);
    memset(f.m.hidden, 0xFF, TOKENS_MAX * H * sizeof *f.m.hidden); /* NaN: not to be read */
    memset(f.m.intermediate, 0xFF, TOKENS_MAX * I * sizeof *f.m.intermediate);
    memset(f.m.outputs, 0xFF, TOKENS_MAX * K * sizeof *f.m.outputs);
    assert_true(f.m.starts && f.m.ids && f.m.type_ids && f.m.reads && f.m.reads_starts);
    return f;
}

static struct fixture fixture_make(void) {
    struct nodes *nodes;
    struct error err;
    assert_int_equal(nodes_open(NULL, "f32", &nodes, &err), STATUS_OK);
    assert_int_equal(nodes_pack(nodes, NULL, 0, &err), STATUS_OK);
    return fixture_with(nodes);
}

static void fixture_leave(struct fixture *f) {
    free(f->m.outputs);
    free(f->m.hidden);
    free(f->m.intermediate);
    free(f->m.reads_starts);
    free(f->m.reads);
    free(f->m.type_ids);
    free(f->m.ids);
    free(f->m.starts);
    nodes_scratch_close(f->nodes, f->scratch);
}

static void fixture_free(struct fixture *f) {
    fixture_leave(f);
    nodes_close(f->nodes);
}

/* Text `seed` of a fixed set: its ids and types follow from the number alone. */
static void text_add(struct microbatch *m, uint32_t seed, uint32_t tokens) {
    for (uint32_t i = 0; i < tokens; i++) {
        m->ids[m->tokens + i] = (int32_t)((seed * 31 + i * i * 7 + i) % V);
        m->type_ids[m->tokens + i] = i * 2 > tokens;
    }
    m->reads[m->rows] = m->tokens;
    m->tokens += tokens;
    m->starts[++m->rows] = m->tokens;
    m->reads_starts[m->rows] = m->rows;
}

/* All parts, `at_once` of them in each run. */
static void run_in(struct fixture *f, uint32_t at_once) {
    uint32_t count;
    nodes_parts(f->nodes, &count);
    for (uint32_t first = 0; first < count; first += at_once)
        nodes_run(f->nodes, first, count - first < at_once ? count - first : at_once, f->scratch,
                  &f->m);
}

static void run_all(struct fixture *f) {
    run_in(f, UINT32_MAX / 2);
}

static void run_alone(struct fixture *f, uint32_t seed, uint32_t tokens) {
    f->m.rows = f->m.tokens = 0;
    text_add(&f->m, seed, tokens);
    run_all(f);
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

/* Text b of a fixed list of texts. */
static uint32_t length_of(uint32_t b) {
    return 1 + b * b * 13 % P;
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
    nodes_run(f.nodes, 0, count - 2, f.scratch, &f.m);
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
            nodes_run(f.nodes, first, at_once, f.scratch, &f.m);
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
    assert_int_equal(nodes_open(NULL, "bf16", &nodes, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "bf16"));
    assert_null(nodes);
    assert_int_equal(nodes_open(NULL, "auto", &nodes, &err), STATUS_OK);
    nodes_close(nodes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_exact_at_all_lengths),
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
