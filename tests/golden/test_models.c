/* test_models.c: the checkpoints of tests/golden/models against `transformers` in float64:
 * hidden states after every part, and logits. Then all inputs packed into one microbatch, in both
 * orders, must give each input the bytes that it has alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/path.h"
#include "engine/flow/microbatch.h"
#include "engine/model/safetensors.h"
#include "engine/nodes.h"

static const char folder[] = "tests/golden/models";
enum { MODELS_MIN = 15 };
static const double tolerance = 1e-4; /* absolute, plus as much relative */

/* B inputs, N tokens; hidden states are known for the first `kept` tokens. */
struct reference {
    struct safetensors file;
    const int32_t *ids, *starts;
    const uint8_t *type_ids;
    const double *logits;
    uint32_t rows, tokens, kept;
};

struct golden {
    const char *name;
    struct reference reference;
    struct model *model;
    const struct model_config *config;
    struct nodes *nodes;
    uint32_t parts_count;
    void *scratch;
    struct microbatch *microbatch;
    float **alone; /* [1 + L][N, H] after the embedding and each layer, inputs one by one */
    float *logits; /* [B, K] of the inputs one by one */
    double hidden_error, logits_error; /* greatest, as a share of the tolerance */
};

/* The tensor of that name. The files are written so that its data is aligned. */
static const struct tensor *find(const struct reference *reference, const char *name) {
    for (uint32_t i = 0; i < reference->file.count; i++) {
        if (strcmp(reference->file.tensors[i].name, name) == 0)
            return &reference->file.tensors[i];
    }
    fail_msg("the reference has no %s", name);
    return NULL;
}

static const void *copy_data(struct reference *reference, const char *name) {
    const struct tensor *tensor = find(reference, name);
    void *copy = arena_alloc(&reference->file.arena, tensor->bytes);
    assert_non_null(copy);
    return memcpy(copy, tensor->data, tensor->bytes);
}

static void reference_open(const char *dir, struct reference *out) {
    char path[PATH_MAX];
    assert_int_equal(path_join(dir, "reference.safetensors", path, NULL), STATUS_OK);
    assert_int_equal(safetensors_open(path, &out->file, NULL), STATUS_OK);
    assert_int_equal(find(out, "logits")->type, TENSOR_F64);
    out->ids = copy_data(out, "ids");
    out->type_ids = copy_data(out, "type_ids");
    out->starts = copy_data(out, "starts");
    out->logits = copy_data(out, "logits");
    out->rows = (uint32_t)find(out, "starts")->shape[0] - 1;
    out->tokens = (uint32_t)find(out, "ids")->shape[0];
    out->kept = (uint32_t)find(out, "hidden.0")->shape[0];
    assert_int_equal(out->starts[out->rows], out->tokens);
    assert_int_equal(find(out, "logits")->shape[0], out->rows);
}

static void golden_open(const char *name, struct golden *out) {
    char dir[PATH_MAX];
    struct error err;
    *out = (struct golden){.name = name};
    assert_int_equal(path_join(folder, name, dir, NULL), STATUS_OK);
    reference_open(dir, &out->reference);
    if (model_open(dir, &out->model, &err) != STATUS_OK ||
        nodes_open(out->model, "f32", &out->nodes, &err) != STATUS_OK ||
        nodes_pack(out->nodes, NULL, 0, &err) != STATUS_OK ||
        nodes_scratch_open(out->nodes, out->reference.tokens, MEMORY_NODE_ANY, &out->scratch,
                           &err) != STATUS_OK)
        fail_msg("%s: %s", name, err.message);
    out->config = model_get_config(out->model);
    nodes_parts(out->nodes, &out->parts_count);
    assert_int_equal(out->parts_count, out->config->layers_count * PLAN_THIRDS + 3);
    assert_int_equal(find(&out->reference, "logits")->shape[1], out->config->labels_count);
    const struct microbatch_room room = {
        .tokens_max = out->reference.tokens,
        .rows_max = out->reference.rows,
        .width = out->config->hidden_size,
        .intermediate_width = nodes_intermediate_width(out->nodes),
        .outputs_width = out->config->labels_count,
    };
    assert_int_equal(microbatch_open(&room, MEMORY_NODE_ANY, &out->microbatch), STATUS_OK);
    out->logits = calloc((size_t)out->reference.rows * out->config->labels_count, sizeof(float));
    out->alone = calloc(out->config->layers_count + 1, sizeof *out->alone);
    assert_non_null(out->logits);
    assert_non_null(out->alone);
    for (uint32_t i = 0; i <= out->config->layers_count; i++) {
        out->alone[i] =
            calloc((size_t)out->reference.tokens * out->config->hidden_size, sizeof(float));
        assert_non_null(out->alone[i]);
    }
}

static void golden_close(struct golden *golden) {
    for (uint32_t i = 0; i <= golden->config->layers_count; i++)
        free(golden->alone[i]);
    free(golden->alone);
    free(golden->logits);
    microbatch_free(golden->microbatch);
    nodes_scratch_close(golden->nodes, golden->scratch);
    nodes_close(golden->nodes);
    model_close(golden->model);
    safetensors_close(&golden->reference.file);
}

/* Appends one input to the microbatch. */
static void pack(struct golden *golden, uint32_t row) {
    struct microbatch *m = golden->microbatch;
    const struct reference *reference = &golden->reference;
    const uint32_t start = (uint32_t)reference->starts[row];
    const uint32_t length = (uint32_t)reference->starts[row + 1] - start;
    memcpy(m->ids + m->tokens, reference->ids + start, length * sizeof *m->ids);
    memcpy(m->type_ids + m->tokens, reference->type_ids + start, length);
    m->starts[m->rows] = m->reads[m->rows] = m->tokens;
    m->reads_starts[m->rows] = m->rows;
    m->tokens += length;
    m->starts[++m->rows] = m->tokens;
    m->reads_starts[m->rows] = m->rows;
}

/* The embedding (layer 0) or one encoder layer after it, in one go or third by third. */
static void run_layer(const struct golden *golden, uint32_t layer, bool apart) {
    struct microbatch *m = golden->microbatch;
    const uint32_t first = layer == 0 ? 0 : 1 + (layer - 1) * PLAN_THIRDS;
    const uint32_t count = layer == 0 ? 1 : PLAN_THIRDS;
    if (!apart)
        nodes_run(golden->nodes, first, count, golden->scratch, m, NULL);
    for (uint32_t part = first; apart && part < first + count; part++)
        nodes_run(golden->nodes, part, 1, golden->scratch, m, NULL);
}

static void run_head(const struct golden *golden) {
    nodes_run(golden->nodes, golden->parts_count - 2, 2, golden->scratch, golden->microbatch, NULL);
}

/* The error as a share of the tolerance; anything not finite is over any share. */
static double error_share(double found, double wanted) {
    double share = fabs(found - wanted) / (tolerance + tolerance * fabs(wanted));
    return isfinite(share) ? share : INFINITY;
}

static void compare_hidden(struct golden *golden, uint32_t part, uint32_t row) {
    char name[32];
    const size_t width = golden->config->hidden_size;
    const struct reference *reference = &golden->reference;
    const size_t start = (size_t)reference->starts[row] * width;
    const size_t end = (size_t)reference->starts[row + 1] * width;
    (void)snprintf(name, sizeof name, "hidden.%u", part);
    const struct tensor *tensor = find(reference, name);
    for (size_t i = start; i < end; i++) {
        float wanted;
        memcpy(&wanted, tensor->data + i * sizeof wanted, sizeof wanted);
        double share = error_share((double)golden->microbatch->hidden[i - start], (double)wanted);
        if (share > 1)
            fail_msg("%s: after layer %u, input %u, token %zu, column %zu: %.9g, reference %.9g",
                     golden->name, part, row, (i - start) / width, i % width,
                     (double)golden->microbatch->hidden[i - start], (double)wanted);
        golden->hidden_error = fmax(golden->hidden_error, share);
    }
}

static void compare_logits(struct golden *golden, uint32_t row) {
    const uint32_t labels = golden->config->labels_count;
    for (uint32_t k = 0; k < labels; k++) {
        double found = (double)golden->microbatch->outputs[k];
        double wanted = golden->reference.logits[(size_t)row * labels + k];
        double share = error_share(found, wanted);
        if (share > 1)
            fail_msg("%s: input %u, logit %u: %.9g, reference %.9g", golden->name, row, k, found,
                     wanted);
        golden->logits_error = fmax(golden->logits_error, share);
    }
}

static void run_alone(struct golden *golden, uint32_t row) {
    struct microbatch *m = golden->microbatch;
    const size_t width = golden->config->hidden_size, labels = golden->config->labels_count;
    const uint32_t start = (uint32_t)golden->reference.starts[row],
                   layers = golden->config->layers_count;
    m->rows = m->tokens = 0;
    pack(golden, row);
    for (uint32_t part = 0; part <= layers; part++) {
        run_layer(golden, part, false);
        memcpy(golden->alone[part] + start * width, m->hidden, m->tokens * width * sizeof(float));
        if (start + m->tokens <= golden->reference.kept)
            compare_hidden(golden, part, row);
    }
    run_head(golden);
    compare_logits(golden, row);
    memcpy(golden->logits + row * labels, m->outputs, labels * sizeof(float));
}

/* All inputs in one microbatch; row b of it is input order[b]. */
static void run_packed(struct golden *golden, const uint32_t *order, bool all_rows) {
    struct microbatch *m = golden->microbatch;
    const size_t width = golden->config->hidden_size;
    const size_t logits_bytes = golden->config->labels_count * sizeof(float);
    const uint32_t layers = golden->config->layers_count;
    m->rows = m->tokens = 0;
    nodes_set_all_rows(golden->nodes, all_rows);
    for (uint32_t b = 0; b < golden->reference.rows; b++)
        pack(golden, order[b]);
    for (uint32_t part = 0; part <= layers; part++) {
        run_layer(golden, part, order[0] % 2 == part % 2);
        for (uint32_t b = 0; b < m->rows && (all_rows || part < layers); b++)
            assert_memory_equal(m->hidden + m->starts[b] * width,
                                golden->alone[part] +
                                    (size_t)golden->reference.starts[order[b]] * width,
                                (m->starts[b + 1] - m->starts[b]) * width * sizeof(float));
    }
    run_head(golden);
    for (uint32_t b = 0; b < m->rows; b++)
        assert_memory_equal((char *)m->outputs + b * logits_bytes,
                            (char *)golden->logits + order[b] * logits_bytes, logits_bytes);
}

static void check_model(const char *name) {
    struct golden golden;
    golden_open(name, &golden);
    const uint32_t rows = golden.reference.rows;
    uint32_t *order = calloc(rows, sizeof *order);
    assert_non_null(order);
    nodes_set_all_rows(golden.nodes, true);
    for (uint32_t row = 0; row < rows; row++)
        run_alone(&golden, row);
    print_message("%-18s errors in parts of the tolerance: hidden %.4f, logits %.4f\n", name,
                  golden.hidden_error, golden.logits_error);
    for (uint32_t b = 0; b < rows; b++)
        order[b] = b;
    run_packed(&golden, order, true);
    run_packed(&golden, order, false);
    for (uint32_t b = 0; b < rows; b++)
        order[b] = rows - 1 - b;
    run_packed(&golden, order, true);
    free(order);
    golden_close(&golden);
}

static void every_model_agrees_with_transformers_alone_and_packed(void **state) {
    (void)state;
    unsigned count = 0;
    DIR *list = opendir(folder);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        check_model(entry->d_name);
        count++;
    }
    closedir(list);
    assert_true(count >= MODELS_MIN);
}

/* The labels of the fixtures are "label 0", "label 1", … in every spelling of the configuration. */
static void the_labels_of_every_spelling_are_in_order(void **state) {
    (void)state;
    static const char *const names[] = {"tests/golden/models/bfloat16", /* keys in text order */
                                        "tests/golden/models/old-names" /* label2id only */};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct model *model;
        assert_int_equal(model_open(names[i], &model, NULL), STATUS_OK);
        const struct model_config *config = model_get_config(model);
        assert_int_equal(config->labels_count, i == 0 ? 12 : 3);
        for (uint32_t k = 0; k < config->labels_count; k++) {
            char label[32];
            (void)snprintf(label, sizeof label, "label %u", k);
            assert_string_equal(config->labels[k], label);
        }
        model_close(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_agrees_with_transformers_alone_and_packed),
        cmocka_unit_test(the_labels_of_every_spelling_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
