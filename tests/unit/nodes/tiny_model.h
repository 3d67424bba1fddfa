/* tiny_model.h: a BERT of odd sizes with random weights, and a microbatch of texts for it. The
 * model is made here: this stands in for engine/model/model.c. Included by the tests of the nodes.
 */
#ifndef BERTD_TESTS_TINY_MODEL_H
#define BERTD_TESTS_TINY_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
                  &f->m, NULL);
}

static void run_all(struct fixture *f) {
    run_in(f, UINT32_MAX / 2);
}

static void run_alone(struct fixture *f, uint32_t seed, uint32_t tokens) {
    f->m.rows = f->m.tokens = 0;
    text_add(&f->m, seed, tokens);
    run_all(f);
}

/* Text b of a fixed list of texts. */
static uint32_t length_of(uint32_t b) {
    return 1 + b * b * 13 % P;
}

#endif
