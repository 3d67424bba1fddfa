/* test_config.c: every field of config.json with its type, range and default; the labels, the
 * thresholds and the limit in tokens. */
#include "tests/unit/model/directory.h"

#include <math.h>

#include "engine/model/config.h"
#include "engine/model/token_limit.h"

static struct arena arena;
static struct config config;
static struct error err;

static int arena_make(void **state) {
    (void)state;
    arena_init(&arena, LIMIT_MODEL_ARENA_BYTES);
    return 0;
}

static int arena_drop(void **state) {
    (void)state;
    arena_free(&arena);
    return 0;
}

/* Parses {"model_type": "bert", FIELDS}. */
static enum status parse(const char *fields) {
    char text[4096];
    snprintf(text, sizeof text, "{\"model_type\":\"bert\"%s%s}", fields[0] ? "," : "", fields);
    return config_parse(view_of(text), "D/config.json", &arena, &config, &err);
}

static void absent_fields_are_those_of_transformers(void **state) {
    (void)state;
    assert_int_equal(parse(""), STATUS_OK);
    assert_int_equal(config.values.vocab_size, 30522);
    assert_int_equal(config.values.hidden_size, 768);
    assert_int_equal(config.values.layers_count, 12);
    assert_int_equal(config.values.attn_heads, 12);
    assert_int_equal(config.values.intermediate_size, 3072);
    assert_int_equal(config.values.positions_max, 512);
    assert_int_equal(config.values.types_count, 2);
    assert_int_equal(config.values.tokens_max, 512);
    assert_int_equal(config.values.labels_count, 2);
    assert_string_equal(config.values.labels[1], "LABEL_1");
    assert_int_equal(config.values.activation, FUNCTION_GELU_ERF);
    assert_int_equal(config.values.problem_type, PROBLEM_NONE);
    assert_int_equal(config.values.pad_id, 0);
    assert_true(config.values.norm_eps == 1e-12f);
    assert_null(config.head);
}

static void null_fields_are_absent_ones(void **state) {
    (void)state;
    assert_int_equal(parse("\"architectures\":null,\"hidden_size\":null,\"hidden_act\":null,"
                           "\"problem_type\":null,\"id2label\":null,\"label2id\":null,"
                           "\"is_decoder\":null,\"quantization_config\":null,"
                           "\"position_embedding_type\":null,\"layer_norm_eps\":null"),
                     STATUS_OK);
    assert_int_equal(config.values.hidden_size, 768);
    assert_int_equal(parse("\"pad_token_id\":null"), STATUS_OK);
    assert_int_equal(config.values.pad_id, -1);
    assert_int_equal(parse("\"pad_token_id\":-1"), STATUS_OK);
    assert_int_equal(config.values.pad_id, -1);
}

static void fields_that_are_there_count(void **state) {
    (void)state;
    assert_int_equal(parse("\"hidden_size\":33,\"num_attention_heads\":3,\"layer_norm_eps\":1e-3,"
                           "\"architectures\":[\"X\",\"BertForSequenceClassification\"],"
                           "\"pad_token_id\":5,\"is_decoder\":false,\"pruned_heads\":{},"
                           "\"unknown\":[1,2]"),
                     STATUS_OK);
    assert_int_equal(config.values.hidden_size, 33);
    assert_int_equal(config.values.pad_id, 5);
    assert_true(config.values.norm_eps == 1e-3f);
    assert_string_equal(config.head->architecture, "BertForSequenceClassification");
}

static void activation_functions_have_their_names(void **state) {
    (void)state;
    static const struct {
        const char *name;
        enum activation_function function;
    } names[] = {
        {"gelu", FUNCTION_GELU_ERF},       {"gelu_python", FUNCTION_GELU_ERF},
        {"gelu_new", FUNCTION_GELU_TANH},  {"gelu_pytorch_tanh", FUNCTION_GELU_TANH},
        {"gelu_fast", FUNCTION_GELU_TANH}, {"relu", FUNCTION_RELU},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char fields[64];
        snprintf(fields, sizeof fields, "\"hidden_act\":\"%s\"", names[i].name);
        assert_int_equal(parse(fields), STATUS_OK);
        assert_int_equal(config.values.activation, names[i].function);
    }
}

static void problem_types_have_their_names(void **state) {
    (void)state;
    assert_int_equal(parse("\"problem_type\":\"regression\""), STATUS_OK);
    assert_int_equal(config.values.problem_type, PROBLEM_REGRESSION);
    assert_int_equal(parse("\"problem_type\":\"single_label_classification\""), STATUS_OK);
    assert_int_equal(config.values.problem_type, PROBLEM_SINGLE_LABEL);
    assert_int_equal(parse("\"problem_type\":\"multi_label_classification\""), STATUS_OK);
    assert_int_equal(config.values.problem_type, PROBLEM_MULTI_LABEL);
}

static void a_wrong_field_is_named_with_its_value(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        enum status status;
        const char *words[4];
    } faults[] = {
        {"\"hidden_size\":0", STATUS_BAD_FILE, {"hidden_size is 0", "1 to 16384"}},
        {"\"hidden_size\":-3", STATUS_BAD_FILE, {"hidden_size is -3"}},
        {"\"hidden_size\":\"768\"", STATUS_BAD_FILE, {"hidden_size is \"768\""}},
        {"\"hidden_size\":768.5", STATUS_BAD_FILE, {"hidden_size is 768.5"}},
        {"\"hidden_size\":4294967312", STATUS_BAD_FILE, {"hidden_size is 4294967312"}},
        {"\"hidden_size\":true", STATUS_BAD_FILE, {"hidden_size is true"}},
        {"\"hidden_size\":99999999999999999999", STATUS_BAD_FILE, {"too big", "line 1"}},
        {"\"hidden_size\":100", STATUS_BAD_FILE, {"hidden size 100", "12 attention heads"}},
        {"\"vocab_size\":0", STATUS_BAD_FILE, {"vocab_size is 0"}},
        {"\"num_hidden_layers\":1000", STATUS_BAD_FILE, {"num_hidden_layers is 1000", "256"}},
        {"\"num_attention_heads\":0", STATUS_BAD_FILE, {"num_attention_heads is 0"}},
        {"\"intermediate_size\":[]", STATUS_BAD_FILE, {"intermediate_size is []"}},
        {"\"max_position_embeddings\":1", STATUS_BAD_FILE, {"max_position_embeddings is 1"}},
        {"\"type_vocab_size\":257", STATUS_BAD_FILE, {"type_vocab_size is 257"}},
        {"\"pad_token_id\":30522", STATUS_BAD_FILE, {"pad_token_id is 30522", "30521"}},
        {"\"pad_token_id\":\"x\"", STATUS_BAD_FILE, {"pad_token_id is \"x\""}},
        {"\"layer_norm_eps\":0", STATUS_BAD_FILE, {"layer_norm_eps is 0"}},
        {"\"layer_norm_eps\":-1e-5", STATUS_BAD_FILE, {"layer_norm_eps is -"}},
        {"\"layer_norm_eps\":\"1e-5\"", STATUS_BAD_FILE, {"layer_norm_eps is \"1e-5\""}},
        {"\"layer_norm_eps\":1e-60", STATUS_BAD_FILE, {"layer_norm_eps"}},
        {"\"hidden_act\":\"silu\"", STATUS_UNSUPPORTED, {"hidden_act is \"silu\"", "relu"}},
        {"\"hidden_act\":1", STATUS_BAD_FILE, {"hidden_act is 1"}},
        {"\"problem_type\":\"ranking\"", STATUS_BAD_FILE, {"problem_type is \"ranking\""}},
        {"\"position_embedding_type\":\"relative_key\"",
         STATUS_UNSUPPORTED,
         {"position_embedding_type is \"relative_key\"", "absolute"}},
        {"\"is_decoder\":true", STATUS_UNSUPPORTED, {"is_decoder is true"}},
        {"\"is_decoder\":1", STATUS_BAD_FILE, {"is_decoder is 1"}},
        {"\"add_cross_attention\":true", STATUS_UNSUPPORTED, {"add_cross_attention is true"}},
        {"\"quantization_config\":{\"bits\":4}", STATUS_UNSUPPORTED, {"quantization_config"}},
        {"\"pruned_heads\":{\"0\":[1]}", STATUS_UNSUPPORTED, {"pruned_heads"}},
        {"\"architectures\":[\"BertForNextSentencePrediction\"]",
         STATUS_UNSUPPORTED,
         {"architectures is [\"BertForNextSentencePrediction\"]"}},
        {"\"architectures\":\"BertForSequenceClassification\"",
         STATUS_BAD_FILE,
         {"architectures", "not an array"}},
        {"\"id2label\":{}", STATUS_BAD_FILE, {"id2label has 0 labels"}},
        {"\"id2label\":[\"a\"]", STATUS_BAD_FILE, {"id2label is [\"a\"]"}},
        {"\"id2label\":{\"0\":\"a\",\"2\":\"b\"}",
         STATUS_BAD_FILE,
         {"id2label", "index 2", "\"b\""}},
        {"\"id2label\":{\"00\":\"a\"}", STATUS_BAD_FILE, {"id2label", "\"00\""}},
        {"\"id2label\":{\"-1\":\"a\"}", STATUS_BAD_FILE, {"id2label", "\"-1\""}},
        {"\"id2label\":{\"\":\"a\"}", STATUS_BAD_FILE, {"id2label", "\"\""}},
        {"\"id2label\":{\"4294967296\":\"a\"}", STATUS_BAD_FILE, {"id2label", "4294967296"}},
        {"\"id2label\":{\"0\":7}", STATUS_BAD_FILE, {"id2label is 7"}},
        {"\"label2id\":{\"a\":0,\"b\":0}", STATUS_BAD_FILE, {"label2id", "index 0", "taken"}},
        {"\"label2id\":{\"a\":1}", STATUS_BAD_FILE, {"label2id", "index 1", "\"a\""}},
        {"\"label2id\":{\"a\":-1}", STATUS_BAD_FILE, {"label2id is -1"}},
        {"\"label2id\":{\"a\":\"0\"}", STATUS_BAD_FILE, {"label2id is \"0\""}},
        {"\"num_labels\":0", STATUS_BAD_FILE, {"num_labels is 0"}},
        {"\"hidden_size\":96,\"hidden_size\":96", STATUS_BAD_FILE, {"duplicate"}},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        enum status status = parse(faults[i].fields);
        if (status != faults[i].status)
            fail_msg("%s: %s", faults[i].fields, status_name(status));
        assert_message(&err, faults[i].words);
        assert_message(&err, (const char *const[]){"D/config.json", NULL});
    }
}

static void the_family_comes_from_model_type_or_architecture(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum status status;
        const char *word;
    } files[] = {
        {"{\"model_type\":\"bert\"}", STATUS_OK, ""},
        {"{\"architectures\":[\"BertForSequenceClassification\"]}", STATUS_OK, ""},
        {"{\"model_type\":\"t5\"}", STATUS_UNSUPPORTED, "model_type is \"t5\", supported: bert"},
        {"{\"model_type\":\"t5\",\"architectures\":[\"BertForSequenceClassification\"]}",
         STATUS_UNSUPPORTED, "\"t5\""},
        {"{}", STATUS_UNSUPPORTED, "model_type is missing"},
        {"{\"model_type\":3}", STATUS_BAD_FILE, "model_type is 3"},
        {"3", STATUS_BAD_FILE, "not valid JSON"},
        {"[]", STATUS_BAD_FILE, "not an object"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        enum status status =
            config_parse(view_of(files[i].text), "config.json", &arena, &config, &err);
        assert_int_equal(status, files[i].status);
        if (status == STATUS_OK)
            assert_string_equal(config.family->name, "bert");
        else
            assert_message(&err, (const char *const[]){files[i].word, NULL});
    }
}

static void labels_are_ordered_by_number(void **state) {
    (void)state;
    char fields[512] = "\"num_labels\":2,\"id2label\":{";
    static const int order[] = {10, 2, 0, 11, 1, 9, 3, 8, 4, 7, 5, 6};
    for (size_t i = 0; i < 12; i++) {
        size_t used = strlen(fields);
        snprintf(fields + used, sizeof fields - used, "%s\"%d\":\"L%d\"", i ? "," : "", order[i],
                 order[i]);
    }
    size_t used = strlen(fields);
    snprintf(fields + used, sizeof fields - used, "}");
    assert_int_equal(parse(fields), STATUS_OK);
    assert_int_equal(config.values.labels_count, 12);
    for (uint32_t i = 0; i < 12; i++) {
        char label[16];
        snprintf(label, sizeof label, "L%u", i);
        assert_string_equal(config.values.labels[i], label);
    }
}

static void labels_may_come_from_label2id_or_a_number_alone(void **state) {
    (void)state;
    assert_int_equal(parse("\"label2id\":{\"b\":1,\"a\":0}"), STATUS_OK);
    assert_int_equal(config.values.labels_count, 2);
    assert_string_equal(config.values.labels[0], "a");
    assert_int_equal(parse("\"num_labels\":11"), STATUS_OK);
    assert_string_equal(config.values.labels[10], "LABEL_10");
    assert_int_equal(parse("\"id2label\":{\"0\":\"same\",\"1\":\"same\"}"), STATUS_OK);
}

/* The limit of a model with 512 positions and these files. */
static enum status read_limit(const char *sentence, const char *tokenizer, uint32_t *tokens_max) {
    struct directory dir = directory_make();
    if (sentence != NULL)
        directory_write_text(&dir, "sentence_bert_config.json", sentence);
    if (tokenizer != NULL)
        directory_write_text(&dir, "tokenizer_config.json", tokenizer);
    *tokens_max = 512;
    enum status status = token_limit_read(dir.path, tokens_max, &err);
    directory_remove(&dir);
    return status;
}

static void the_limit_in_tokens_is_the_files_least(void **state) {
    (void)state;
    static const char huge[] = "{\"model_max_length\":1000000000000000019884624838656}";
    static const struct {
        const char *sentence, *tokenizer;
        uint32_t limit;
    } cases[] = {
        {NULL, NULL, 512},
        {NULL, huge, 512},
        {NULL, "{\"model_max_length\":1e30}", 512},
        {NULL, "{\"model_max_length\":128}", 128},
        {NULL, "{\"model_max_length\":null}", 512},
        {NULL, "{}", 512},
        {"{\"max_seq_length\":256}", "{\"model_max_length\":128}", 256},
        {"{\"max_seq_length\":1024}", "{\"model_max_length\":128}", 512},
        {"{\"max_seq_length\":null}", "{\"model_max_length\":128}", 128},
        {"{\"do_lower_case\":false}", huge, 512},
        {NULL, "{\"model_max_length\":2}", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t limit;
        assert_int_equal(read_limit(cases[i].sentence, cases[i].tokenizer, &limit), STATUS_OK);
        assert_int_equal(limit, cases[i].limit);
    }
}

/* Whatever the model is, for its tokenizer alone. */
static void the_limit_of_a_directory_knows_who_counts_positions_from_the_padding(void **state) {
    (void)state;
    static const struct {
        const char *config, *tokenizer;
        uint32_t limit;
    } cases[] = {
        {NULL, NULL, 0},
        {"{\"model_type\":\"bert\",\"max_position_embeddings\":512,\"pad_token_id\":0}", NULL, 512},
        {"{\"model_type\":\"roberta\",\"max_position_embeddings\":514,\"pad_token_id\":1}", NULL,
         512},
        {"{\"model_type\":\"xlm-roberta\",\"max_position_embeddings\":514}", NULL, 512},
        {"{\"model_type\":\"camembert\",\"max_position_embeddings\":514,\"pad_token_id\":5}", NULL,
         508},
        {"{\"model_type\":\"mpnet\",\"max_position_embeddings\":514}", "{\"model_max_length\":384}",
         384},
        {"{\"model_type\":\"roberta\",\"max_position_embeddings\":514}",
         "{\"model_max_length\":1024}", 512},
        {"{\"model_type\":\"roberta\",\"max_position_embeddings\":2}", NULL, 0},
        {"{\"model_type\":\"xlnet\"}", NULL, 0},
        {"{\"model_type\":\"xlnet\"}", "{\"model_max_length\":700}", 700},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct directory dir = directory_make();
        uint32_t limit = 7;
        if (cases[i].config != NULL)
            directory_write_text(&dir, "config.json", cases[i].config);
        if (cases[i].tokenizer != NULL)
            directory_write_text(&dir, "tokenizer_config.json", cases[i].tokenizer);
        assert_int_equal(token_limit_find(dir.path, &limit, &err), STATUS_OK);
        assert_int_equal(limit, cases[i].limit);
        directory_remove(&dir);
    }
}

static void a_wrong_limit_is_named(void **state) {
    (void)state;
    uint32_t limit;
    assert_int_equal(read_limit(NULL, "{\"model_max_length\":1}", &limit), STATUS_BAD_FILE);
    assert_message(&err, (const char *const[]){"tokenizer_config.json", "model_max_length", NULL});
    assert_int_equal(read_limit(NULL, "{\"model_max_length\":-5}", &limit), STATUS_BAD_FILE);
    assert_int_equal(read_limit(NULL, "{\"model_max_length\":\"9\"}", &limit), STATUS_BAD_FILE);
    assert_int_equal(read_limit("{\"max_seq_length\":0}", NULL, &limit), STATUS_BAD_FILE);
    assert_message(&err,
                   (const char *const[]){"sentence_bert_config.json", "max_seq_length", NULL});
    assert_int_equal(read_limit("{\"max_seq_length\":9.5}", NULL, &limit), STATUS_BAD_FILE);
    assert_int_equal(read_limit("{", NULL, &limit), STATUS_BAD_FILE);
}

static enum status open_thresholds(const char *problem, const char *thresholds) {
    struct directory dir = directory_make();
    char text[512];
    snprintf(text, sizeof text,
             "{\"model_type\":\"bert\",\"problem_type\":\"%s\",\"label2id\":{\"a\":0,\"b\":1}}",
             problem);
    directory_write_text(&dir, "config.json", text);
    directory_write_text(&dir, "thresholds.json", thresholds);
    enum status status = config_open(dir.path, &arena, &config, &err);
    directory_remove(&dir);
    return status;
}

static void thresholds_belong_to_labels(void **state) {
    (void)state;
    const char *multi = "multi_label_classification";
    assert_int_equal(open_thresholds(multi, "{\"b\":1}"), STATUS_OK);
    assert_true(isnan(config.values.thresholds[0]));
    assert_true(config.values.thresholds[1] == 1.0f);
    assert_int_equal(open_thresholds("regression", "{\"b\":-7.5}"), STATUS_OK);
    assert_true(config.values.thresholds[1] == -7.5f);
    assert_int_equal(open_thresholds(multi, "{\"b\":1.5}"), STATUS_BAD_FILE);
    assert_message(&err, (const char *const[]){"thresholds.json", "b is 1.5", NULL});
    assert_int_equal(open_thresholds(multi, "{\"b\":\"x\"}"), STATUS_BAD_FILE);
    assert_int_equal(open_thresholds(multi, "{\"b\":0.5,\"joy\":0.5}"), STATUS_BAD_FILE);
    assert_message(&err, (const char *const[]){"thresholds.json", "\"joy\"", NULL});
    assert_int_equal(open_thresholds(multi, "{\"b\":0.5,\"b\":0.5}"), STATUS_BAD_FILE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_fields_are_those_of_transformers),
        cmocka_unit_test(null_fields_are_absent_ones),
        cmocka_unit_test(fields_that_are_there_count),
        cmocka_unit_test(activation_functions_have_their_names),
        cmocka_unit_test(problem_types_have_their_names),
        cmocka_unit_test(a_wrong_field_is_named_with_its_value),
        cmocka_unit_test(the_family_comes_from_model_type_or_architecture),
        cmocka_unit_test(labels_are_ordered_by_number),
        cmocka_unit_test(labels_may_come_from_label2id_or_a_number_alone),
        cmocka_unit_test(the_limit_in_tokens_is_the_files_least),
        cmocka_unit_test(the_limit_of_a_directory_knows_who_counts_positions_from_the_padding),
        cmocka_unit_test(a_wrong_limit_is_named),
        cmocka_unit_test(thresholds_belong_to_labels),
    };
    return cmocka_run_group_tests(tests, arena_make, arena_drop);
}
