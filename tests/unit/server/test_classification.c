/* test_classification.c: order of labels, top_k, each kind of threshold, and the written item. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/classification.h"

static const char *const labels[] = {"anger", "joy", "say \"hi\"", "love"};
static const float thresholds[] = {0.6f, 0.95f, NAN, 0.2f};
static const float scores[] = {0.5f, 0.9f, 0.5f, 0.1f};

static const struct engine_info info = {
    .labels = labels, .labels_count = 4, .thresholds = thresholds};
static const struct call_answer answer = {.scores = scores, .tokens = 9, .truncated = true};

static void expect_order(const struct classification_cut *cut, uint32_t count,
                         const uint32_t *expected) {
    struct ranked_label ranked[4], top;
    assert_int_equal(classification_rank(&info, &answer, cut, ranked, &top), count);
    assert_int_equal(top.index, 1);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(ranked[i].index, expected[i]);
}

static void labels_come_by_score_then_by_index(void **state) {
    (void)state;
    expect_order(&(struct classification_cut){0}, 4, (const uint32_t[]){1, 0, 2, 3});
    expect_order(&(struct classification_cut){.top_k = 2}, 2, (const uint32_t[]){1, 0});
    expect_order(&(struct classification_cut){.top_k = 99}, 4, (const uint32_t[]){1, 0, 2, 3});
}

static void thresholds_drop_what_is_below_them(void **state) {
    (void)state;
    struct classification_cut cut = {.kind = THRESHOLD_VALUE, .threshold = 0.5f};
    expect_order(&cut, 3, (const uint32_t[]){1, 0, 2});
    cut.threshold = 2.0f;
    expect_order(&cut, 0, NULL);
    cut = (struct classification_cut){.kind = THRESHOLD_MODEL};
    expect_order(&cut, 1, (const uint32_t[]){2}); /* the label without an own threshold stays */
    cut.top_k = 1;
    expect_order(&cut, 0, NULL); /* top_k counts before the threshold drops */
}

static void a_dropped_label_is_still_the_label_of_the_item(void **state) {
    (void)state;
    struct classification_cut cut = {.kind = THRESHOLD_MODEL};
    struct ranked_label ranked[4];
    struct json_writer json;
    json_writer_init(&json, 4096);
    classification_write(&json, &info, &answer, &cut, 7, ranked);
    static const char expected[] =
        "{\"object\":\"classification\",\"index\":7,\"label\":\"joy\",\"score\":0.9,"
        "\"predictions\":[{\"label\":\"say \\\"hi\\\"\",\"score\":0.5,\"index\":2}],"
        "\"tokens\":9,\"truncated\":true}";
    assert_false(json.failed);
    assert_int_equal(json.bytes, strlen(expected));
    assert_memory_equal(json.data, expected, json.bytes);
    json_writer_free(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_come_by_score_then_by_index),
        cmocka_unit_test(thresholds_drop_what_is_below_them),
        cmocka_unit_test(a_dropped_label_is_still_the_label_of_the_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
