/* test_classify_read.c: every field of a classify body, right and wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/classify_read.h"

static const float thresholds[] = {0.5f, NAN, 0.1f};
static const struct engine_info info = {.labels_count = 3, .thresholds = thresholds};
static const struct engine_info info_bare = {.labels_count = 3};
static const struct call_rules rules = {"demo", &info, 4, true};
static const struct call_rules rules_bare = {"demo", &info_bare, 4, false};

static struct classify_call read_with(const struct call_rules *with, const char *body) {
    struct classify_call call;
    struct api_error err = {0};
    if (!classify_read(view_of(body), with, &call, &err))
        fail_msg("%s: %s", body, err.message);
    return call;
}

static void assert_refused(const char *body, enum api_code code, const char *param) {
    struct classify_call call;
    struct api_error err = {0};
    if (classify_read(view_of(body), &rules_bare, &call, &err))
        fail_msg("%s was accepted", body);
    if (err.code != code || strcmp(err.param, param) != 0)
        fail_msg("%s: %s, '%s', %s", body, api_code_name(err.code), err.param, err.message);
}

static void the_defaults_are_those_of_the_server_and_the_model(void **state) {
    (void)state;
    struct classify_call call = read_with(&rules, "{\"input\":\"a\"}");
    assert_int_equal(call.body.inputs_count, 1);
    assert_false(call.body.many);
    assert_true(call.body.truncate);
    assert_int_equal(call.cut.top_k, 0);
    assert_int_equal(call.cut.kind, THRESHOLD_NONE);
    assert_int_equal(call.activation, ACTIVATION_AUTO);
    assert_int_equal(call.body.side, TRUNCATION_RIGHT);
    assert_false(call.window);
    call_body_free(&call.body);
    call = read_with(&rules_bare, "{\"inputs\":[\"a\"]}");
    assert_false(call.body.truncate);
    assert_true(call.body.many);
    call_body_free(&call.body);
}

static void every_field_is_read(void **state) {
    (void)state;
    struct classify_call call =
        read_with(&rules, "{\"input\":\"a\",\"model\":\"demo\",\"top_k\":2,\"threshold\":0.3,"
                          "\"activation\":\"none\",\"truncate\":false,\"truncation_side\":\"left\","
                          "\"window\":{\"stride\":5,\"aggregate\":\"mean\"}}");
    assert_int_equal(call.cut.top_k, 2);
    assert_int_equal(call.cut.kind, THRESHOLD_VALUE);
    assert_true(call.cut.threshold == 0.3f);
    assert_int_equal(call.activation, ACTIVATION_NONE);
    assert_false(call.body.truncate);
    assert_int_equal(call.body.side, TRUNCATION_LEFT);
    assert_true(call.window);
    assert_int_equal(call.window_stride, 5);
    assert_int_equal(call.aggregate, AGGREGATE_MEAN);
    call_body_free(&call.body);
    call = read_with(&rules, "{\"input\":\"a\",\"threshold\":\"model\"}");
    assert_int_equal(call.cut.kind, THRESHOLD_MODEL);
    call_body_free(&call.body);
    call = read_with(&rules, "{\"input\":\"a\",\"top_k\":null,\"threshold\":null,\"window\":null,"
                             "\"model\":null,\"truncate\":null}");
    assert_true(call.body.truncate);
    call_body_free(&call.body);
}

static void an_array_may_mix_texts_pairs_and_ids(void **state) {
    (void)state;
    struct classify_call call =
        read_with(&rules, "{\"input\":[\"a\\u0000b\",{\"text\":\"c\",\"text_pair\":\"\"},[7,8,9],"
                          "{\"text\":\"d\",\"text_pair\":null}]}");
    assert_int_equal(call.body.inputs_count, 4);
    assert_int_equal(call.body.inputs[0].text.bytes, 3);
    assert_null(call.body.inputs[0].text_pair.data);
    assert_true(view_equals_c(call.body.inputs[1].text, "c"));
    assert_non_null(call.body.inputs[1].text_pair.data);
    assert_int_equal(call.body.inputs[1].text_pair.bytes, 0);
    assert_int_equal(call.body.inputs[2].ids_count, 3);
    assert_int_equal(call.body.inputs[2].ids[2], 9);
    assert_null(call.body.inputs[3].text_pair.data);
    call_body_free(&call.body);
}

static void a_flat_array_of_integers_is_one_text(void **state) {
    (void)state;
    struct classify_call call = read_with(&rules, "{\"input\":[10,11,12,13,14,15]}");
    assert_int_equal(call.body.inputs_count, 1);
    assert_false(call.body.many);
    assert_int_equal(call.body.inputs[0].ids_count, 6);
    call_body_free(&call.body);
}

static void wrong_inputs_are_named(void **state) {
    (void)state;
    assert_refused("{}", API_MISSING_FIELD, "input");
    assert_refused("[]", API_INVALID_TYPE, "");
    assert_refused("{\"input\":5}", API_INVALID_TYPE, "input");
    assert_refused("{\"input\":null}", API_INVALID_TYPE, "input");
    assert_refused("{\"input\":{}}", API_INVALID_TYPE, "input");
    assert_refused("{\"input\":true}", API_INVALID_TYPE, "input");
    assert_refused("{\"input\":[]}", API_EMPTY_INPUT, "input");
    assert_refused("{\"input\":[\"a\",[]]}", API_EMPTY_INPUT, "input[1]");
    assert_refused("{\"input\":[1,\"a\"]}", API_INVALID_TYPE, "input[1]");
    assert_refused("{\"input\":[\"a\",1]}", API_INVALID_TYPE, "input[1]");
    assert_refused("{\"input\":[\"a\",[1,\"b\"]]}", API_INVALID_TYPE, "input[1][1]");
    assert_refused("{\"input\":[[\"a\",\"b\"]]}", API_INVALID_TYPE, "input[0]");
    assert_refused("{\"input\":[-1]}", API_INVALID_VALUE, "input[0]");
    assert_refused("{\"input\":[1,1.5]}", API_INVALID_VALUE, "input[1]");
    assert_refused("{\"input\":[2147483648]}", API_INVALID_VALUE, "input[0]");
    assert_refused("{\"input\":{\"text\":1}}", API_INVALID_TYPE, "input");
    assert_refused("{\"input\":[\"\",{\"text\":\"\",\"text_pair\":1}]}", API_INVALID_TYPE,
                   "input[1].text_pair");
    assert_refused("{\"input\":{\"text\":\"\",\"pair\":1}}", API_UNKNOWN_FIELD, "input.pair");
    assert_refused("{\"input\":\"a\",\"inputs\":\"b\"}", API_INVALID_VALUE, "inputs");
    assert_refused("{\"input\":[\"1\",\"2\",\"3\",\"4\",\"5\"]}", API_TOO_MANY_INPUTS, "input");
}

static void wrong_options_are_named(void **state) {
    (void)state;
    assert_refused("{\"input\":\"a\",\"topk\":1}", API_UNKNOWN_FIELD, "topk");
    assert_refused("{\"input\":\"a\",\"top_k\":0}", API_INVALID_VALUE, "top_k");
    assert_refused("{\"input\":\"a\",\"top_k\":-3}", API_INVALID_VALUE, "top_k");
    assert_refused("{\"input\":\"a\",\"top_k\":\"3\"}", API_INVALID_TYPE, "top_k");
    assert_refused("{\"input\":\"a\",\"top_k\":123456789012345678901234567890}", API_INVALID_VALUE,
                   "top_k");
    assert_refused("{\"input\":\"a\",\"threshold\":\"own\"}", API_INVALID_VALUE, "threshold");
    assert_refused("{\"input\":\"a\",\"threshold\":\"model\"}", API_INVALID_VALUE, "threshold");
    assert_refused("{\"input\":\"a\",\"threshold\":[]}", API_INVALID_TYPE, "threshold");
    assert_refused("{\"input\":\"a\",\"threshold\":1e300}", API_INVALID_VALUE, "threshold");
    assert_refused("{\"input\":\"a\",\"activation\":\"tanh\"}", API_INVALID_VALUE, "activation");
    assert_refused("{\"input\":\"a\",\"truncate\":1}", API_INVALID_TYPE, "truncate");
    assert_refused("{\"input\":\"a\",\"truncation_side\":\"Left\"}", API_INVALID_VALUE,
                   "truncation_side");
    assert_refused("{\"input\":\"a\",\"window\":true}", API_INVALID_TYPE, "window");
    assert_refused("{\"input\":\"a\",\"window\":{\"size\":1}}", API_UNKNOWN_FIELD, "window.size");
    assert_refused("{\"input\":\"a\",\"window\":{\"stride\":-1}}", API_INVALID_VALUE,
                   "window.stride");
    assert_refused("{\"input\":\"a\",\"window\":{\"aggregate\":\"sum\"}}", API_INVALID_VALUE,
                   "window.aggregate");
    assert_refused("{\"input\":\"a\",\"model\":\"other\"}", API_MODEL_NOT_FOUND, "model");
    assert_refused("{\"input\":\"a\",\"model\":1}", API_INVALID_TYPE, "model");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_those_of_the_server_and_the_model),
        cmocka_unit_test(every_field_is_read),
        cmocka_unit_test(an_array_may_mix_texts_pairs_and_ids),
        cmocka_unit_test(a_flat_array_of_integers_is_one_text),
        cmocka_unit_test(wrong_inputs_are_named),
        cmocka_unit_test(wrong_options_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
