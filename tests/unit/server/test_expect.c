/* test_expect.c: every form of an expected answer, and what a line must have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "server/expect.h"

static const char *const labels[] = {"low", "middle", "high"};
static struct engine_info info = {
    .labels = labels, .labels_count = 3, .activation = ACTIVATION_NONE};

static float scores[3];
static struct expected_answer expected = {.scores = scores};
static struct text_item item;

static enum status parse(const char *line, struct error *err) {
    return expect_parse(view_of(line), &info, &item, &expected, err);
}

/* NAN stands for a score that the line does not state. */
static void expect_scores(const char *line, uint32_t first_label, float a, float b, float c) {
    const float wanted[3] = {a, b, c};
    struct error err;
    if (parse(line, &err) != STATUS_OK)
        fail_msg("%s: %s", line, err.message);
    assert_true(view_equals_c(item.text, "x"));
    assert_int_equal(expected.first_label, first_label);
    for (int i = 0; i < 3; i++) {
        assert_true(isnan(wanted[i]) == isnan(scores[i]));
        assert_true(isnan(wanted[i]) || fabsf(wanted[i] - scores[i]) < 1e-6f);
    }
    text_item_free(&item);
}

static void every_form_of_an_answer_is_read(void **state) {
    (void)state;
    expect_scores("{\"input\":\"x\",\"answer\":{\"label\":\"high\",\"score\":0.5,\"predictions\":"
                  "[{\"label\":\"low\",\"score\":0.25,\"index\":0}],\"tokens\":3}}",
                  2, 0.25f, NAN, 0.5f);
    expect_scores("{\"input\":\"x\",\"answer\":[{\"label\":\"low\",\"score\":0.25},"
                  "{\"label\":\"middle\",\"score\":0.5}]}",
                  1, 0.25f, 0.5f, NAN);
    expect_scores("{\"input\":\"x\",\"answer\":[[{\"label\":\"middle\",\"score\":1}]]}", 1, NAN, 1,
                  NAN);
    expect_scores("{\"input\":\"x\",\"label\":\"high\"}", 2, NAN, NAN, NAN);
    expect_scores("{\"text\":\"x\",\"labels\":[\"a\"],\"scores\":[1,3,2]}", 1, 1, 3, 2);
    expect_scores("{\"text\":\"x\",\"probs\":[0,0,0.5]}", 2, 0, 0, 0.5f);
    expect_scores("{\"input\":{\"text\":\"x\"},\"logits\":[-1,-3,-2]}", 0, -1, -3, -2);
}

static void logits_become_scores_as_the_model_does(void **state) {
    (void)state;
    info.activation = ACTIVATION_SOFTMAX;
    expect_scores("{\"text\":\"x\",\"logits\":[-3,2,1]}", 1, 0.0049017f, 0.7274752f, 0.2676232f);
    expect_scores("{\"text\":\"x\",\"logits\":[-2000,1000,-2000]}", 1, 0, 1, 0);
    info.activation = ACTIVATION_SIGMOID;
    expect_scores("{\"text\":\"x\",\"logits\":[-3,2,1]}", 1, 0.0474259f, 0.8807971f, 0.7310586f);
    info.activation = ACTIVATION_NONE;
}

static void what_is_wrong_with_a_line_is_said(void **state) {
    (void)state;
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"", "not JSON"},
        {"[]", "must be an object"},
        {"{\"input\":\"x\"}", "no answer"},
        {"{\"label\":\"low\"}", "text is missing"},
        {"{\"input\":5,\"label\":\"low\"}", "must be a string, an object"},
        {"{\"input\":\"x\",\"label\":\"none\"}", "no label 'none'"},
        {"{\"input\":\"x\",\"scores\":[1,2]}", "scores has 2 numbers, the model has 3 labels"},
        {"{\"input\":\"x\",\"scores\":[1,2,\"3\"]}", "scores must be numbers"},
        {"{\"input\":\"x\",\"answer\":[{\"label\":\"low\"}]}", "no score"},
        {"{\"input\":\"x\",\"answer\":[{\"score\":1}]}", "a label and a score"},
    };
    struct error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_not_equal(parse(cases[i].line, &err), STATUS_OK);
        if (!strstr(err.message, cases[i].part))
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].line, err.message, cases[i].part);
        text_item_free(&item);
    }
}

static void expect_mask(const char *text, uint32_t mask, uint32_t masks_count, uint32_t first,
                        float a, float b, float c) {
    const float wanted[3] = {a, b, c};
    struct error err;
    json_t *answer;
    assert_int_equal(expect_parse_masks(view_of(text), &item, &answer, &err), STATUS_OK);
    assert_true(view_equals_c(item.text, "x"));
    if (expect_read_mask(answer, mask, masks_count, &info, &expected, &err) != STATUS_OK)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(expected.first_label, first);
    for (int i = 0; i < 3; i++) {
        assert_true(isnan(wanted[i]) == isnan(scores[i]));
        assert_true(isnan(wanted[i]) || fabsf(wanted[i] - scores[i]) < 1e-6f);
    }
    json_decref(answer);
    text_item_free(&item);
}

static void refuse_mask(const char *text, uint32_t masks_count, const char *part) {
    struct error err;
    json_t *answer;
    assert_int_equal(expect_parse_masks(view_of(text), &item, &answer, &err), STATUS_OK);
    assert_int_equal(expect_read_mask(answer, 0, masks_count, &info, &expected, &err),
                     STATUS_INVALID_VALUE);
    if (!strstr(err.message, part))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, err.message, part);
    json_decref(answer);
    text_item_free(&item);
}

static void every_form_of_filled_masks_is_read(void **state) {
    (void)state;
    static const char two[] = "{\"input\":\"x\",\"answer\":{\"masks\":[[{\"token\":2,\"score\":0.5,"
                              "\"token_str\":\"c\"},{\"token\":0,\"score\":0.25}],"
                              "[{\"token\":1,\"score\":0.5}]]}}";
    info.vocab_size = 3;
    expect_mask(two, 0, 2, 2, 0.25f, NAN, 0.5f);
    expect_mask(two, 1, 2, 1, NAN, 0.5f, NAN);
    expect_mask("{\"text\":\"x\",\"masks\":[[{\"token\":1,\"score\":1}]]}", 0, 1, 1, NAN, 1, NAN);
    expect_mask("{\"input\":\"x\",\"answer\":[{\"token\":0,\"score\":0.25},"
                "{\"token\":1,\"score\":0.5}]}",
                0, 1, 1, 0.25f, 0.5f, NAN);
    expect_mask("{\"input\":\"x\",\"answer\":[[{\"token\":0,\"score\":1}],[{\"token\":2,"
                "\"score\":1}]]}",
                1, 2, 2, NAN, NAN, 1);
    expect_mask("{\"input\":\"x\",\"answer\":{\"token\":2}}", 0, 1, 2, NAN, NAN, NAN);
    refuse_mask(two, 1, "the answer has 2 masks, the input 1");
    refuse_mask("{\"input\":\"x\",\"answer\":{\"token\":2}}", 2, "one mask, the input 2");
    refuse_mask("{\"input\":\"x\",\"answer\":{\"token\":3}}", 1, "no token 3");
    refuse_mask("{\"input\":\"x\",\"answer\":{\"token\":\"a\"}}", 1, "a token, which is its id");
    refuse_mask("{\"input\":\"x\",\"answer\":[{\"token\":1}]}", 1, "no score");
    refuse_mask("{\"input\":\"x\",\"label\":\"low\"}", 1, "a token, which is its id");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_an_answer_is_read),
        cmocka_unit_test(logits_become_scores_as_the_model_does),
        cmocka_unit_test(what_is_wrong_with_a_line_is_said),
        cmocka_unit_test(every_form_of_filled_masks_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
