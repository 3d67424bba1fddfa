/* test_model.c: whole directories open: the demo model with the settings and tensors that its files
 * have, and a snapshot of the Hugging Face cache. */
#include "tests/unit/model/directory.h"

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

/* HUB/models--ORG--NAME/snapshots/REVISION holds links to files elsewhere in the cache. */
static void a_snapshot_of_the_hub_cache_opens_through_its_links(void **state) {
    (void)state;
    static const char *const steps[] = {"models--org--tiny", "snapshots", "0123abcd"};
    struct directory dir = directory_make(), blobs = directory_make();
    struct tiny_model tiny = tiny_make();
    struct model *model;
    struct error err;
    char path[4][PATH_MAX], file[PATH_MAX], target[PATH_MAX];
    tiny_write(&tiny, &blobs);
    assert_int_equal(path_join(dir.path, steps[0], path[0], NULL), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mkdir(path[i], 0700), 0);
        assert_int_equal(path_join(path[i], i < 2 ? steps[i + 1] : ".", path[i + 1], NULL),
                         STATUS_OK);
    }
    static const char *const names[] = {"config.json", "model.safetensors"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(path_join(blobs.path, names[i], target, NULL), STATUS_OK);
        assert_int_equal(path_join(path[2], names[i], file, NULL), STATUS_OK);
        assert_int_equal(symlink(target, file), 0);
    }
    for (int i = 2; i < 4; i++) { /* as it is, and resolved from "REVISION/." */
        assert_int_equal(model_open(path[i], &model, &err), STATUS_OK);
        assert_string_equal(model_get_name(model), "org/tiny");
        assert_string_equal(model_get_revision(model), "0123abcd");
        model_close(model);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(path_join(path[2], names[i], file, NULL), STATUS_OK);
        assert_int_equal(remove(file), 0);
    }
    for (int i = 2; i >= 0; i--)
        assert_int_equal(rmdir(path[i]), 0);
    directory_remove(&dir);
    directory_remove(&blobs);
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
        cmocka_unit_test(a_snapshot_of_the_hub_cache_opens_through_its_links),
        cmocka_unit_test(a_directory_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
