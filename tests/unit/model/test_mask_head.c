/* test_mask_head.c: where the decoder of a masked-language model comes from: the word embeddings,
 * or a matrix of its own; one bias or two; and what is said when neither is there. */
#include "tests/unit/model/directory.h"

#include "engine/model/model.h"

/* The tiny classifier's body with a masked-language head, without any decoder tensor. */
static struct tiny_model masked_make(void) {
    static const char *const gone[] = {"bert.pooler.dense.weight", "bert.pooler.dense.bias",
                                       "classifier.weight", "classifier.bias"};
    struct tiny_model tiny = tiny_make();
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        tiny_remove(&tiny, gone[i]);
    tiny_add(&tiny, "cls.predictions.transform.dense.weight", 4, 4);
    tiny_add(&tiny, "cls.predictions.transform.dense.bias", 4, 0);
    tiny_add(&tiny, "cls.predictions.transform.LayerNorm.weight", 4, 0);
    tiny_add(&tiny, "cls.predictions.transform.LayerNorm.bias", 4, 0);
    return tiny;
}

/* Writes with further fields of config.json and opens; the caller closes. */
static enum status open_with(const struct tiny_model *tiny, const char *fields, struct model **out,
                             struct error *err) {
    struct directory dir = directory_make();
    char config[512];
    snprintf(config, sizeof config,
             "{\"model_type\":\"bert\",\"vocab_size\":10,\"hidden_size\":4,"
             "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"intermediate_size\":6,"
             "\"max_position_embeddings\":8,\"type_vocab_size\":2%s}",
             fields);
    tiny_write(tiny, &dir);
    directory_write_text(&dir, "config.json", config);
    enum status status = model_open(dir.path, out, err);
    directory_remove(&dir);
    return status;
}

static const char masked[] = ",\"architectures\":[\"BertForMaskedLM\"]";
static const char untied[] =
    ",\"architectures\":[\"BertForMaskedLM\"],\"tie_word_embeddings\":false";

static void a_decoder_without_a_matrix_reads_the_word_embeddings(void **state) {
    (void)state;
    static const char *const biases[] = {"cls.predictions.bias", "cls.predictions.decoder.bias"};
    static const char *const fields[] = {masked, ",\"architectures\":[\"BertForPreTraining\"]", ""};
    for (size_t i = 0; i < 6; i++) {
        struct tiny_model tiny = masked_make();
        struct model *model;
        struct error err;
        tiny_add(&tiny, biases[i % 2], 10, 0);
        if (open_with(&tiny, fields[i / 2], &model, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        const struct model_weights *weights = model_get_weights(model);
        assert_int_equal(model_get_task(model), TASK_FILL_MASK);
        assert_string_equal(model_task_name(model_get_task(model)), "fill-mask");
        assert_int_equal(model_get_config(model)->labels_count, 0);
        assert_ptr_equal(weights->decoder.weight.data, weights->word_embeddings.data);
        assert_string_equal(weights->decoder.bias.name, biases[i % 2]);
        assert_string_equal(weights->transform.weight.name,
                            "cls.predictions.transform.dense.weight");
        model_close(model);
    }
}

static void a_matrix_of_its_own_counts_when_it_differs(void **state) {
    (void)state;
    static const char *const fields[] = {masked, untied};
    for (size_t i = 0; i < 2; i++) {
        struct tiny_model tiny = masked_make();
        struct model *model;
        struct error err;
        tiny_add(&tiny, "cls.predictions.bias", 10, 0);
        tiny_add(&tiny, "cls.predictions.decoder.bias", 10, 0);
        tiny_add(&tiny, "cls.predictions.decoder.weight", 10, 4);
        if (open_with(&tiny, fields[i], &model, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        const struct model_weights *weights = model_get_weights(model);
        assert_string_equal(weights->decoder.weight.name, "cls.predictions.decoder.weight");
        assert_string_equal(weights->decoder.bias.name, "cls.predictions.decoder.bias");
        model_close(model);
    }
}

static void what_the_decoder_lacks_is_named(void **state) {
    (void)state;
    struct tiny_model tiny = masked_make();
    struct model *model;
    struct error err;
    assert_int_equal(open_with(&tiny, masked, &model, &err), STATUS_BAD_FILE);
    assert_message(&err, (const char *const[]){"\"cls.predictions.bias\" is missing", NULL});
    tiny_add(&tiny, "cls.predictions.bias", 10, 0);
    assert_int_equal(open_with(&tiny, untied, &model, &err), STATUS_BAD_FILE);
    assert_message(&err,
                   (const char *const[]){"\"cls.predictions.decoder.weight\" is missing", NULL});
    tiny_add(&tiny, "cls.predictions.decoder.weight", 9, 4);
    assert_int_equal(open_with(&tiny, masked, &model, &err), STATUS_BAD_FILE);
    assert_message(&err, (const char *const[]){"[9, 4]", "[10, 4]", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decoder_without_a_matrix_reads_the_word_embeddings),
        cmocka_unit_test(a_matrix_of_its_own_counts_when_it_differs),
        cmocka_unit_test(what_the_decoder_lacks_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
