/* test_encoding.c: an encoding grows, keeps what it has, and can be emptied and used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/text/encoding.h"
#include "engine/text/template.h"

static void growing_keeps_what_is_there(void **state) {
    (void)state;
    struct encoding encoding;
    encoding_init(&encoding);
    assert_int_equal(encoding_reserve(&encoding, 3), STATUS_OK);
    for (uint32_t i = 0; i < 3; i++) {
        encoding.ids[i] = (int32_t)i;
        encoding.ends[i] = i + 10;
    }
    assert_int_equal(encoding_reserve(&encoding, 5000), STATUS_OK);
    assert_true(encoding.capacity >= 5000);
    encoding.specials[4999] = 1;
    assert_int_equal(encoding.ids[2], 2);
    assert_int_equal(encoding.ends[1], 11);
    encoding_free(&encoding);
    assert_null(encoding.ids);
    encoding_free(&encoding);
    encoding_free(NULL);
}

/* [1] A [2] B [3] with the types 0 0 0 1 1. */
static void make_pair(struct token_template *template, bool add) {
    struct template_form none = {.pieces_count = 0}, pair = {.pieces_count = 0};
    template_form_special(&pair, 1, 0, false);
    template_form_segment(&pair, 0, 0);
    template_form_special(&pair, 2, 0, false);
    template_form_segment(&pair, 1, 1);
    template_form_special(&pair, 3, 1, false);
    template_begin(template, true);
    assert_int_equal(template_form_apply(template, &none, &pair, add), STATUS_OK);
    template_end(template);
}

static void a_template_lays_segments_and_special_tokens_in_order(void **state) {
    (void)state;
    const struct token first[] = {{11, 2, 3}, {12, 4, 5}}, second[] = {{20, 0, 2}};
    const struct template_segment laid[2] = {{first, 2, false}, {second, 1, false}};
    struct token_template pair;
    make_pair(&pair, true);
    struct encoding encoding;
    encoding_init(&encoding);
    assert_int_equal(template_apply(&pair, laid, &encoding), STATUS_OK);
    const int32_t ids[] = {1, 11, 12, 2, 20, 3};
    const uint8_t types[] = {0, 0, 0, 0, 1, 1}, segments[] = {0, 0, 0, 0, 1, 1};
    const uint8_t specials[] = {1, 0, 0, 1, 0, 1};
    assert_int_equal(encoding.count, 6);
    assert_memory_equal(encoding.ids, ids, sizeof ids);
    assert_memory_equal(encoding.type_ids, types, sizeof types);
    assert_memory_equal(encoding.segments, segments, sizeof segments);
    assert_memory_equal(encoding.specials, specials, sizeof specials);
    assert_int_equal(encoding.starts[2], 4);
    assert_int_equal(encoding.ends[3], 0);
    make_pair(&pair, false);
    assert_int_equal(template_apply(&pair, laid, &encoding), STATUS_OK);
    assert_int_equal(encoding.count, 3);
    assert_int_equal(encoding.type_ids[2], 1);
    encoding_free(&encoding);
}

static void a_template_has_a_largest_size(void **state) {
    (void)state;
    struct token_template template;
    template_begin(&template, false);
    enum status status = STATUS_OK;
    for (int i = 0; i < TEMPLATE_PIECES_MAX && status == STATUS_OK; i++)
        status = template_bert(&template, 1, 2, true);
    assert_int_equal(status, STATUS_UNSUPPORTED);
    assert_int_equal(template.pieces_count, TEMPLATE_PIECES_MAX);
    status = STATUS_OK;
    template_begin(&template, false);
    for (int i = 0; i <= TEMPLATE_TRIMS_MAX; i++)
        status = template_trim(&template, true);
    assert_int_equal(status, STATUS_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growing_keeps_what_is_there),
        cmocka_unit_test(a_template_lays_segments_and_special_tokens_in_order),
        cmocka_unit_test(a_template_has_a_largest_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
