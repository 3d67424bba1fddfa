/* test_tokenizer_vocab.c: vocab.txt with tokenizer_config.json, in directories made here. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/text/fixtures.h"

static const char *const FILES[] = {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json",
                                    "tokenizer.json"};

/* Writes the files that are not NULL to a new directory and opens it. */
static enum status open_dir(const char *const contents[4], struct tokenizer **tokenizer,
                            struct error *err) {
    char dir[] = "/tmp/test_vocab_XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < 4; i++)
        if (contents[i] != NULL) {
            snprintf(path, sizeof path, "%s/%s", dir, FILES[i]);
            FILE *file = fopen(path, "w");
            assert_non_null(file);
            fputs(contents[i], file);
            fclose(file);
        }
    enum status status = tokenizer_open(dir, tokenizer, err);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, FILES[i]);
        unlink(path);
    }
    rmdir(dir);
    return status;
}

#define VOCAB "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncafe\ncaf\xc3\xa9\nCafe\n##s\nworld\n"

/* The ids of a text, with its special tokens; the tokenizer is closed. */
static void check_ids(struct tokenizer *tokenizer, const char *text, const int32_t *ids,
                      uint32_t count) {
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
    encoding_init(&encoding);
    assert_int_equal(tokenizer_scratch_open(tokenizer, &scratch), STATUS_OK);
    struct tokenizer_options options = tokenizer_file_options(tokenizer);
    assert_int_equal(
        tokenizer_encode(tokenizer, scratch, view_of(text), NULL, &options, &encoding, NULL),
        STATUS_OK);
    assert_int_equal(encoding.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(encoding.ids[i], ids[i]);
    encoding_free(&encoding);
    tokenizer_scratch_close(scratch);
    tokenizer_close(tokenizer);
}

static void check_files(const char *vocab, const char *config, const char *text, const int32_t *ids,
                        uint32_t count) {
    struct tokenizer *tokenizer;
    struct error err = {0};
    if (open_dir((const char *const[4]){vocab, config}, &tokenizer, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    check_ids(tokenizer, text, ids, count);
}

static void flags_choose_the_normal_form(void **state) {
    (void)state;
    check_files(VOCAB, NULL, "Caf\xc3\xa9s [MASK]", (const int32_t[]){2, 5, 8, 4, 3}, 5);
    check_files(VOCAB, "{\"do_lower_case\":false}", "Cafe caf\xc3\xa9",
                (const int32_t[]){2, 7, 6, 3}, 4);
    check_files(VOCAB, "{\"strip_accents\":false}", "CAF\xc3\x89", (const int32_t[]){2, 6, 3}, 3);
    check_files(VOCAB, "{\"do_lower_case\":false,\"strip_accents\":true}", "Caf\xc3\xa9",
                (const int32_t[]){2, 7, 3}, 3);
    check_files(VOCAB, "{\"strip_accents\":null,\"tokenize_chinese_chars\":false}",
                "world\xe4\xb8\xad", (const int32_t[]){2, 1, 3}, 3);
}

static void lines_are_trimmed_and_the_last_of_equal_ones_counts(void **state) {
    (void)state;
    check_files("[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n\r\na \r\nb", NULL, "a b",
                (const int32_t[]){1, 5, 6, 2}, 4);
}

static void special_tokens_have_the_names_that_the_files_give(void **state) {
    (void)state;
    check_files("<s>\n</s>\n<unk>\na\n",
                "{\"cls_token\":\"<s>\",\"sep_token\":{\"content\":\"</s>\"},"
                "\"unk_token\":\"<unk>\"}",
                "a</s>b", (const int32_t[]){0, 3, 1, 2, 1}, 5);
    struct tokenizer *tokenizer;
    assert_int_equal(
        open_dir((const char *const[4]){"<s>\n[SEP]\n[UNK]\na\n", NULL, "{\"cls_token\":\"<s>\"}"},
                 &tokenizer, NULL),
        STATUS_OK);
    check_ids(tokenizer, "a", (const int32_t[]){0, 3, 1}, 3);
}

static void faults_name_the_file_and_the_field(void **state) {
    (void)state;
    static const struct {
        const char *vocab, *config, *named;
    } ROWS[] = {{"[CLS]\n[SEP]\na\n", NULL, "unk_token"},
                {"", NULL, "cls_token"},
                {"[CLS]\n\xff\n", NULL, "vocab.txt"},
                {VOCAB, "{\"do_lower_case\":\"yes\"}", "do_lower_case"},
                {VOCAB, "{\"cls_token\":\"<s>\"}", "cls_token \"<s>\""},
                {VOCAB, "{", "tokenizer_config.json"},
                {VOCAB, "[]", "tokenizer_config.json"},
                {VOCAB, "{\"model_max_length\":\"many\"}", "model_max_length"},
                {VOCAB, "{\"model_max_length\":-3}", "model_max_length"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct tokenizer *tokenizer;
        struct error err = {0};
        assert_int_equal(
            open_dir((const char *const[4]){ROWS[i].vocab, ROWS[i].config}, &tokenizer, &err),
            STATUS_BAD_FILE);
        if (strstr(err.message, ROWS[i].named) == NULL)
            fail_msg("row %zu: %s", i, err.message);
    }
}

static void a_huge_model_max_length_means_none(void **state) {
    (void)state;
    static const struct {
        const char *config;
        uint64_t length;
    } ROWS[] = {{"{\"model_max_length\":1000000000000000019884624838656}", 0},
                {"{\"model_max_length\":1e30}", 0},
                {"{\"model_max_length\":null}", 0},
                {"{}", 0},
                {"{\"model_max_length\":512}", 512},
                {"{\"model_max_length\":8192.0}", 8192}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct tokenizer *tokenizer;
        assert_int_equal(open_dir((const char *const[4]){VOCAB, ROWS[i].config}, &tokenizer, NULL),
                         STATUS_OK);
        assert_int_equal(tokenizer_model_max_length(tokenizer), ROWS[i].length);
        tokenizer_close(tokenizer);
    }
}

static void tokenizer_json_comes_before_vocab_txt(void **state) {
    (void)state;
    struct tokenizer *tokenizer;
    struct error err = {0};
    assert_int_equal(open_dir((const char *const[4]){VOCAB, NULL, NULL, "{\"version\":\"1.0\"}"},
                              &tokenizer, &err),
                     STATUS_BAD_FILE);
    assert_non_null(strstr(err.message, "tokenizer.json: model"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_choose_the_normal_form),
        cmocka_unit_test(lines_are_trimmed_and_the_last_of_equal_ones_counts),
        cmocka_unit_test(special_tokens_have_the_names_that_the_files_give),
        cmocka_unit_test(faults_name_the_file_and_the_field),
        cmocka_unit_test(a_huge_model_max_length_means_none),
        cmocka_unit_test(tokenizer_json_comes_before_vocab_txt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
