/* test_binding.c: a checkpoint's tensors find their places under either spelling; what is missing,
 * misshapen or of another type is named; what nobody reads is reported. */
#include "tests/unit/model/directory.h"

#include "engine/model/model.h"

/* Writes and opens; the caller closes what comes out. */
static enum status open_tiny(const struct tiny_model *tiny, struct model **out, struct error *err) {
    struct directory dir = directory_make();
    tiny_write(tiny, &dir);
    enum status status = model_open(dir.path, out, err);
    directory_remove(&dir);
    return status;
}

static struct model_report report_tiny(const struct tiny_model *tiny) {
    struct directory dir = directory_make();
    struct model_report report;
    tiny_write(tiny, &dir);
    assert_int_equal(model_report_open(dir.path, &report), STATUS_OK);
    directory_remove(&dir);
    return report;
}

static const struct model_tensor_report *row_of(const struct model_report *report,
                                                const char *name) {
    for (uint32_t i = 0; i < report->tensors_count; i++) {
        if (strcmp(report->tensors[i].name, name) == 0)
            return &report->tensors[i];
    }
    fail_msg("%s is not in the report", name);
    return NULL;
}

/* Takes "bert." off every name. */
static void drop_prefix(struct tiny_model *tiny) {
    for (uint32_t i = 0; i < tiny->count; i++) {
        char *name = tiny->tensors[i].name;
        if (strncmp(name, "bert.", 5) == 0)
            memmove(name, name + 5, strlen(name + 5) + 1);
    }
}

/* Calls the norms' weight and bias gamma and beta. */
static void use_old_names(struct tiny_model *tiny) {
    for (uint32_t i = 0; i < tiny->count; i++) {
        char *norm = strstr(tiny->tensors[i].name, "LayerNorm.");
        if (norm != NULL)
            snprintf(norm, 20, "LayerNorm.%s", strstr(norm, "weight") ? "gamma" : "beta");
    }
}

static void assert_same(const struct tensor *a, const struct tensor *b) {
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->data, b->data, a->bytes);
}

static void both_spellings_of_prefix_and_norms_give_the_same_weights(void **state) {
    (void)state;
    struct tiny_model tiny = tiny_make();
    struct model *plain, *other;
    struct error err;
    assert_int_equal(open_tiny(&tiny, &plain, &err), STATUS_OK);
    drop_prefix(&tiny);
    use_old_names(&tiny);
    assert_int_equal(open_tiny(&tiny, &other, &err), STATUS_OK);
    const struct model_weights *a = model_get_weights(plain), *b = model_get_weights(other);
    const struct tensor *first = (const struct tensor *)a->layers,
                        *second = (const struct tensor *)b->layers;
    for (size_t i = 0; i < sizeof *a->layers / sizeof *first; i++)
        assert_same(first + i, second + i);
    assert_same(&a->word_embeddings, &b->word_embeddings);
    assert_same(&a->embeddings_norm.weight, &b->embeddings_norm.weight);
    assert_same(&a->embeddings_norm.bias, &b->embeddings_norm.bias);
    assert_same(&a->pooler.weight, &b->pooler.weight);
    assert_same(&a->classifier.bias, &b->classifier.bias);
    assert_string_equal(b->embeddings_norm.weight.name, "embeddings.LayerNorm.gamma");
    assert_string_equal(a->layers[0].output.weight.name,
                        "bert.encoder.layer.0.output.dense.weight");
    assert_int_equal(a->pooler_function, FUNCTION_TANH);
    model_close(plain);
    model_close(other);
}

static void every_missing_tensor_is_named(void **state) {
    (void)state;
    struct tiny_model whole = tiny_make();
    for (uint32_t i = 0; i < whole.count; i++) {
        struct tiny_model tiny = whole;
        const char *name = whole.tensors[i].name;
        struct model *model;
        struct error err;
        tiny_remove(&tiny, name);
        assert_int_equal(open_tiny(&tiny, &model, &err), STATUS_BAD_FILE);
        assert_null(model);
        assert_message(&err, (const char *const[]){"model.safetensors", name, "is missing", NULL});
    }
}

static void every_wrong_shape_is_named_with_both_shapes(void **state) {
    (void)state;
    struct tiny_model whole = tiny_make();
    for (uint32_t i = 0; i < whole.count; i++) {
        struct tiny_model tiny = whole;
        struct tiny_tensor *tensor = &tiny.tensors[i];
        char wanted[64], found[64];
        struct model *model;
        struct error err;
        snprintf(wanted, sizeof wanted, tensor->columns ? "asks for [%u, %u]" : "asks for [%u]",
                 tensor->rows, tensor->columns);
        tensor->rows++;
        snprintf(found, sizeof found, tensor->columns ? "shape [%u, %u]" : "shape [%u]",
                 tensor->rows, tensor->columns);
        assert_int_equal(open_tiny(&tiny, &model, &err), STATUS_BAD_FILE);
        assert_message(&err, (const char *const[]){tensor->name, found, wanted, NULL});
        /* The same numbers in another rank are no better. */
        tensor->rows--;
        tensor->columns = tensor->columns == 0 ? 1 : 0;
        assert_int_equal(open_tiny(&tiny, &model, &err), STATUS_BAD_FILE);
        assert_message(&err, (const char *const[]){tensor->name, wanted, NULL});
    }
}

static void number_formats_may_be_mixed_but_must_be_floats(void **state) {
    (void)state;
    struct tiny_model tiny = tiny_make();
    struct model *model;
    struct error err;
    tiny_find(&tiny, "bert.embeddings.LayerNorm.bias")->dtype = "F16";
    tiny_find(&tiny, "classifier.weight")->dtype = "BF16";
    assert_int_equal(open_tiny(&tiny, &model, &err), STATUS_OK);
    assert_int_equal(model_get_weights(model)->classifier.weight.type, TENSOR_BF16);
    assert_int_equal(model_get_weights(model)->embeddings_norm.bias.type, TENSOR_F16);
    model_close(model);
    tiny_find(&tiny, "classifier.weight")->dtype = "I64";
    assert_int_equal(open_tiny(&tiny, &model, &err), STATUS_UNSUPPORTED);
    assert_message(&err, (const char *const[]){"classifier.weight", "I64", "BF16", NULL});
}

static void tensors_that_nobody_reads_are_reported(void **state) {
    (void)state;
    struct tiny_model tiny = tiny_make();
    tiny_add(&tiny, "bert.embeddings.position_ids", 1, 8)->dtype = "I64";
    tiny_add(&tiny, "cls.seq_relationship.weight", 2, 4);
    tiny_add(&tiny, "bert.encoder.layer.1.output.dense.bias", 4, 0);
    struct model_report report = report_tiny(&tiny);
    assert_true(report.servable);
    assert_int_equal(report.tensors_count, TINY_TENSORS + 3);
    const struct model_tensor_report *row = row_of(&report, "bert.embeddings.position_ids");
    assert_int_equal(row->use, TENSOR_UNUSED);
    assert_string_equal(row->detail, "I64 [1, 8], a buffer of numbers in order");
    row = row_of(&report, "cls.seq_relationship.weight");
    assert_int_equal(row->use, TENSOR_UNUSED);
    assert_non_null(strstr(row->detail, "next-sentence"));
    row = row_of(&report, "bert.encoder.layer.1.output.dense.bias");
    assert_int_equal(row->use, TENSOR_UNUSED);
    assert_string_equal(row->detail, "F32 [4]");
    model_report_close(&report);
}

static void the_report_lists_all_that_is_missing(void **state) {
    (void)state;
    struct tiny_model tiny = tiny_make();
    tiny_remove(&tiny, "bert.pooler.dense.weight");
    tiny_remove(&tiny, "bert.pooler.dense.bias");
    tiny_remove(&tiny, "bert.encoder.layer.0.output.LayerNorm.weight");
    struct model_report report = report_tiny(&tiny);
    assert_false(report.servable);
    assert_int_equal(report.error.status, STATUS_BAD_FILE);
    assert_string_equal(report.family, "bert");
    assert_string_equal(report.task, "text-classification");
    assert_int_equal(report.tensors_count, TINY_TENSORS);
    assert_int_equal(row_of(&report, "bert.pooler.dense.bias")->use, TENSOR_MISSING);
    assert_int_equal(row_of(&report, "bert.pooler.dense.weight")->use, TENSOR_MISSING);
    assert_int_equal(row_of(&report, "bert.encoder.layer.0.output.LayerNorm.weight")->use,
                     TENSOR_MISSING);
    assert_int_equal(row_of(&report, "classifier.bias")->use, TENSOR_USED);
    for (uint32_t i = 1; i < report.tensors_count; i++)
        assert_true(strcmp(report.tensors[i - 1].name, report.tensors[i].name) < 0);
    model_report_close(&report);
}

static void the_report_of_a_bad_configuration_still_lists_the_tensors(void **state) {
    (void)state;
    struct directory dir = directory_make();
    struct tiny_model tiny = tiny_make();
    struct model_report report;
    tiny_write(&tiny, &dir);
    directory_write_text(&dir, "config.json", "{\"model_type\":\"bert\",\"hidden_size\":0}");
    assert_int_equal(model_report_open(dir.path, &report), STATUS_OK);
    assert_false(report.servable);
    assert_non_null(strstr(report.error.message, "hidden_size"));
    assert_string_equal(report.family, "bert");
    assert_int_equal(report.tensors_count, TINY_TENSORS);
    assert_int_equal(report.tensors[0].use, TENSOR_UNUSED);
    model_report_close(&report);
    directory_remove(&dir);
    assert_int_equal(model_report_open(dir.path, &report), STATUS_OK);
    assert_false(report.servable);
    assert_int_equal(report.tensors_count, 0);
    model_report_close(&report);
}

static void without_architectures_the_tensors_speak(void **state) {
    (void)state;
    struct directory dir = directory_make();
    struct tiny_model tiny = tiny_make();
    struct model *model;
    struct error err;
    char config[sizeof tiny_config];
    tiny_write(&tiny, &dir);
    memcpy(config, tiny_config, sizeof config);
    memset(strchr(config, '['), ' ', strlen("[\"BertForSequenceClassification\"]"));
    memcpy(strchr(config, ':') + 1, "[]", 2);
    directory_write_text(&dir, "config.json", config);
    assert_int_equal(model_open(dir.path, &model, &err), STATUS_OK);
    model_close(model);
    tiny_remove(&tiny, "classifier.weight");
    tiny_write_part(&tiny, 0, tiny.count, &dir, "model.safetensors");
    assert_int_equal(model_open(dir.path, &model, &err), STATUS_UNSUPPORTED);
    assert_message(&err, (const char *const[]){"config.json", "architectures", NULL});
    directory_remove(&dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_spellings_of_prefix_and_norms_give_the_same_weights),
        cmocka_unit_test(every_missing_tensor_is_named),
        cmocka_unit_test(every_wrong_shape_is_named_with_both_shapes),
        cmocka_unit_test(number_formats_may_be_mixed_but_must_be_floats),
        cmocka_unit_test(tensors_that_nobody_reads_are_reported),
        cmocka_unit_test(the_report_lists_all_that_is_missing),
        cmocka_unit_test(the_report_of_a_bad_configuration_still_lists_the_tensors),
        cmocka_unit_test(without_architectures_the_tensors_speak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
