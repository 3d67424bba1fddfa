/* test_model.c: the demo model opens, with the settings and tensors that its files have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/model/model.h"

static const char demo[] = "models/goemotions-minilm";

static void the_demo_model_opens(void **state) {
    (void)state;
    struct model *model;
    struct error err;
    assert_int_equal(model_open(demo, &model, &err), STATUS_OK);
    const struct model_config *config = model_get_config(model);
    assert_string_equal(model_get_name(model), "goemotions-minilm");
    assert_string_equal(model_get_family(model), "bert");
    assert_string_equal(model_get_revision(model), "");
    assert_string_equal(model_task_name(model_get_task(model)), "text-classification");
    assert_int_equal(config->hidden_size, 384);
    assert_int_equal(config->layers_count, 6);
    assert_int_equal(config->labels_count, 28);
    assert_int_equal(config->tokens_max, 512);
    assert_int_equal(config->problem_type, PROBLEM_MULTI_LABEL);
    assert_int_equal(config->activation, FUNCTION_GELU_ERF);
    assert_string_equal(config->labels[15], "gratitude");
    assert_float_equal(config->thresholds[15], 0.3f, 0);
    const struct model_weights *weights = model_get_weights(model);
    assert_int_equal(weights->word_embeddings.shape[0], 19734);
    assert_int_equal(weights->layers[5].output.weight.type, TENSOR_F16);
    assert_int_equal(weights->layers[5].output.weight.shape[1], 1536);
    unsigned char before = weights->classifier.weight.data[0];
    model_drop_pages(model, &weights->classifier.weight);
    assert_int_equal(weights->classifier.weight.data[0], before);
    model_close(model);
}

static void the_report_of_the_demo_model_has_every_tensor_in_use(void **state) {
    (void)state;
    struct model_report report;
    assert_int_equal(model_report_open(demo, &report), STATUS_OK);
    assert_true(report.servable);
    assert_string_equal(report.family, "bert");
    assert_string_equal(report.task, "text-classification");
    assert_int_equal(report.tensors_count, 105);
    for (uint32_t i = 0; i < report.tensors_count; i++)
        assert_int_equal(report.tensors[i].use, TENSOR_USED);
    model_report_close(&report);
}

static void a_directory_that_is_not_there_is_named(void **state) {
    (void)state;
    struct model *model;
    struct error err;
    assert_int_equal(model_open("models/none", &model, &err), STATUS_IO);
    assert_null(model);
    assert_non_null(strstr(err.message, "models/none"));
    assert_int_equal(model_open("Makefile", &model, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "not a directory"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_demo_model_opens),
        cmocka_unit_test(the_report_of_the_demo_model_has_every_tensor_in_use),
        cmocka_unit_test(a_directory_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
