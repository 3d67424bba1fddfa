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

static void a_template_lays_segments_and_special_tokens_in_order(void **state) {
    (void)state;
    struct token tokens[2][3] = {{{10, 0, 1}, {11, 2, 3}, {12, 4, 5}}, {{20, 0, 2}, {21, 3, 4}}};
    const struct token_list lists[2] = {{tokens[0], 3, 3}, {tokens[1], 2, 2}};
    struct token_template pair = {.pieces_count = 0};
    template_add_special(&pair, 1, 0);
    template_add_segment(&pair, 0, 0);
    template_add_special(&pair, 2, 0);
    template_add_segment(&pair, 1, 1);
    template_add_special(&pair, 3, 1);
    struct encoding encoding;
    encoding_init(&encoding);
    const uint32_t first[2] = {1, 0}, kept[2] = {2, 1};
    assert_int_equal(template_apply(&pair, true, lists, first, kept, &encoding), STATUS_OK);
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
    assert_int_equal(template_apply(&pair, false, lists, first, kept, &encoding), STATUS_OK);
    assert_int_equal(encoding.count, 3);
    assert_int_equal(encoding.type_ids[2], 1);
    encoding_free(&encoding);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growing_keeps_what_is_there),
        cmocka_unit_test(a_template_lays_segments_and_special_tokens_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
