/* test_inspect.c: what the command-line tools are told about a model directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inspect.h"
#include "engine/tokenize.h"

#define DEMO_MODEL "models/goemotions-minilm"

static void offsets_count_code_points_of_each_segment(void **state) {
    (void)state;
    struct engine_tokenizer *tokenizer;
    struct engine_tokens encoding;
    struct error err;
    /* Ten bytes and seven code points before the first "hello". */
    const struct view text = view_of("\xC3\xA9t\xC3\xA9 \xF0\x9F\x98\x80 hello");
    const struct view pair = view_of("hello");
    assert_int_equal(engine_tokenizer_open_dir(DEMO_MODEL, &tokenizer, &err), STATUS_OK);
    assert_int_equal(engine_tokenizer_limit(tokenizer), 512);
    assert_int_equal(engine_tokenize(tokenizer, text, &pair, NULL, &encoding, &err), STATUS_OK);
    uint32_t found = 0;
    for (uint32_t i = 0; i < encoding.count; i++) {
        if (!view_equals_c(encoding.tokens[i], "hello"))
            continue;
        found++;
        assert_int_equal(encoding.type_ids[i], encoding.segments[i]);
        assert_int_equal(encoding.starts[i], encoding.segments[i] == 0 ? 6 : 0);
        assert_int_equal(encoding.ends[i], encoding.segments[i] == 0 ? 11 : 5);
    }
    assert_int_equal(found, 2);
    assert_true(view_equals_c(encoding.tokens[0], "[CLS]"));
    assert_int_equal(encoding.special_tokens_mask[0], 1);
    assert_int_equal(encoding.special_tokens_mask[1], 0);
    assert_int_equal(encoding.starts[0], 0);
    assert_int_equal(encoding.ends[0], 0);
    assert_false(encoding.truncated);
    engine_tokenizer_close(tokenizer);
}

static void the_model_limit_cuts(void **state) {
    (void)state;
    struct engine_tokenizer *tokenizer;
    struct engine_tokens encoding;
    struct error err;
    char text[6 * 600 + 1];
    for (size_t i = 0; i < 600; i++)
        memcpy(text + 6 * i, "hello ", 7);
    assert_int_equal(engine_tokenizer_open_dir(DEMO_MODEL, &tokenizer, &err), STATUS_OK);
    assert_int_equal(engine_tokenize(tokenizer, view_of(text), NULL, NULL, &encoding, &err),
                     STATUS_OK);
    assert_int_equal(encoding.count, 512);
    assert_int_equal(encoding.count_whole, 602);
    assert_true(encoding.truncated);
    assert_int_equal(engine_tokenize(tokenizer, view_of(""), NULL, NULL, &encoding, &err),
                     STATUS_OK);
    assert_int_equal(encoding.count, 2);
    assert_int_equal(engine_tokenize(tokenizer, view_of("\xFF"), NULL, NULL, &encoding, &err),
                     STATUS_INVALID_UTF8);
    engine_tokenizer_close(tokenizer);
    engine_tokenizer_close(NULL);
}

static void a_tokenizer_alone_is_enough(void **state) {
    (void)state;
    char dir[] = "/tmp/test_inspect_XXXXXX", command[256];
    struct engine_tokenizer *tokenizer;
    struct engine_tokens encoding;
    struct error err;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(engine_tokenizer_open_dir(dir, &tokenizer, &err), STATUS_IO);
    assert_null(tokenizer);
    assert_non_null(strstr(err.message, dir));
    snprintf(command, sizeof command, "cp %s/tokenizer.json %s", DEMO_MODEL, dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(engine_tokenizer_open_dir(dir, &tokenizer, &err), STATUS_OK);
    assert_int_equal(engine_tokenize(tokenizer, view_of("hello"), NULL, NULL, &encoding, &err),
                     STATUS_OK);
    assert_int_equal(encoding.count, 3);
    engine_tokenizer_close(tokenizer);
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void the_demo_model_is_servable(void **state) {
    (void)state;
    const struct inspect_report *report;
    assert_int_equal(inspect_report_open(DEMO_MODEL, &report), STATUS_OK);
    assert_true(report->servable);
    assert_string_equal(report->name, "goemotions-minilm");
    assert_string_equal(report->family, "bert");
    assert_string_equal(report->task, "text-classification");
    assert_int_equal(report->labels_count, 28);
    assert_int_equal(report->activation, ACTIVATION_SIGMOID);
    assert_int_equal(report->tokens_max, 512);
    assert_true(report->tokenizer_size > 0 && report->tokenizer_size <= report->vocab_size);
    assert_true(report->weights_bytes > 0);
    assert_int_equal(report->missing_count, 0);
    assert_int_equal(report->used_count + report->unused_count, report->tensors_count);
    inspect_report_close(report);
}

static void a_report_on_nothing_says_so(void **state) {
    (void)state;
    const struct inspect_report *report;
    assert_int_equal(inspect_report_open("models/there-is-none", &report), STATUS_OK);
    assert_false(report->servable);
    assert_non_null(strstr(report->error.message, "there-is-none"));
    assert_non_null(report->family);
    assert_string_equal(report->name, "there-is-none");
    assert_int_equal(report->tokenizer_size, 0);
    inspect_report_close(report);
    inspect_report_close(NULL);
}

static void more_token_ids_than_embeddings_are_told_with_both_sizes(void **state) {
    (void)state;
    char dir[] = "/tmp/test_inspect_XXXXXX", command[512];
    const struct inspect_report *report;
    struct engine *engine;
    struct error err;
    assert_non_null(mkdtemp(dir));
    /* The last word of the table gets an id that has no row. */
    snprintf(command, sizeof command,
             "cp %s/* %s/ && chmod u+w %s/* && sed -i 's/: 19733$/: 19734/' "
             "%s/tokenizer.json",
             DEMO_MODEL, dir, dir, dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(inspect_report_open(dir, &report), STATUS_OK);
    assert_false(report->servable);
    assert_non_null(strstr(report->error.message, "ids up to 19734"));
    inspect_report_close(report);
    const struct engine_options options = {.model_dir = dir};
    assert_int_equal(engine_open(&options, &engine, &err), STATUS_BAD_FILE);
    assert_non_null(strstr(err.message, "have 19734 rows"));
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void the_plan_is_the_one_that_serving_would_have(void **state) {
    (void)state;
    struct inspect_plan *plan;
    struct error err;
    const struct plan_options options = {.layers_per_stage = "2,2,-1", .machine = {.cores = 4}};
    const struct plan_options wrong = {.stages = 19};
    assert_int_equal(inspect_plan_open(DEMO_MODEL, NULL, &options, 0, &plan, &err), STATUS_OK);
    assert_non_null(strstr(inspect_plan_text(plan), "Encoder 5 --> VG 2\nPooler --> VG 0\n"));
    assert_non_null(strstr(inspect_plan_text(plan), "a machine that is not here"));
    assert_non_null(strstr(inspect_plan_json(plan), "\"virtual_graphs\":3"));
    inspect_plan_close(plan);
    assert_int_equal(inspect_plan_open(DEMO_MODEL, NULL, &wrong, 0, &plan, &err),
                     STATUS_INVALID_VALUE);
    assert_null(plan);
    inspect_plan_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_count_code_points_of_each_segment),
        cmocka_unit_test(the_model_limit_cuts),
        cmocka_unit_test(a_tokenizer_alone_is_enough),
        cmocka_unit_test(the_demo_model_is_servable),
        cmocka_unit_test(a_report_on_nothing_says_so),
        cmocka_unit_test(more_token_ids_than_embeddings_are_told_with_both_sizes),
        cmocka_unit_test(the_plan_is_the_one_that_serving_would_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
