/* test_vocabulary.c: tokens and ids both ways, through the trie under them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "engine/base/limits.h"
#include "engine/text/vocabulary.h"

static void many_tokens_are_found_by_name_and_by_id(void **state) {
    (void)state;
    enum { COUNT = 30000 };
    struct vocabulary vocabulary;
    vocabulary_init(&vocabulary);
    char name[32];
    for (int64_t i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "t%lld", (long long)(i * 7919 % COUNT));
        assert_int_equal(vocabulary_add(&vocabulary, view_of(name), i, NULL), STATUS_OK);
    }
    assert_int_equal(vocabulary.ids_count, COUNT);
    for (int64_t i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "t%lld", (long long)(i * 7919 % COUNT));
        assert_int_equal(vocabulary_find(&vocabulary, view_of(name)), i);
        assert_true(view_equals_c(vocabulary_token(&vocabulary, i), name));
    }
    assert_int_equal(vocabulary_find(&vocabulary, view_of("t")), -1);
    assert_int_equal(vocabulary_find(&vocabulary, view_of("t1x")), -1);
    assert_null(vocabulary_token(&vocabulary, COUNT).data);
    assert_null(vocabulary_token(&vocabulary, -1).data);
    vocabulary_free(&vocabulary);
}

static void an_empty_vocabulary_knows_nothing(void **state) {
    (void)state;
    struct vocabulary vocabulary;
    vocabulary_init(&vocabulary);
    assert_int_equal(vocabulary_find(&vocabulary, view_of("a")), -1);
    assert_int_equal(trie_walk(&vocabulary.trie, TRIE_ROOT, view_of("")), TRIE_NONE);
    vocabulary_free(&vocabulary);
}

static void what_is_taken_or_out_of_range_is_refused_by_name(void **state) {
    (void)state;
    struct vocabulary vocabulary;
    struct error err;
    vocabulary_init(&vocabulary);
    assert_int_equal(vocabulary_add(&vocabulary, view_of("one"), 5, &err), STATUS_OK);
    assert_int_equal(vocabulary_add(&vocabulary, view_of("one"), 6, &err), STATUS_BAD_FILE);
    assert_non_null(strstr(err.message, "one"));
    assert_int_equal(vocabulary_add(&vocabulary, view_of("two"), 5, &err), STATUS_BAD_FILE);
    assert_non_null(strstr(err.message, "two"));
    assert_int_equal(vocabulary_add(&vocabulary, view_of("two"), -1, &err), STATUS_BAD_FILE);
    assert_int_equal(vocabulary_add(&vocabulary, view_of("two"), LIMIT_VOCABULARY, &err),
                     STATUS_BAD_FILE);
    char *longest = calloc(1, LIMIT_TOKEN_BYTES + 1);
    struct view token = {longest, LIMIT_TOKEN_BYTES + 1};
    assert_int_equal(vocabulary_add(&vocabulary, token, 7, &err), STATUS_BAD_FILE);
    token.bytes--;
    assert_int_equal(vocabulary_add(&vocabulary, token, 7, &err), STATUS_OK);
    free(longest);
    assert_int_equal(vocabulary.ids_count, 8);
    assert_null(vocabulary_token(&vocabulary, 6).data);
    vocabulary_free(&vocabulary);
}

static void replacing_moves_a_token_to_its_new_id(void **state) {
    (void)state;
    struct vocabulary vocabulary;
    vocabulary_init(&vocabulary);
    assert_int_equal(vocabulary_replace(&vocabulary, view_of("a"), 0, NULL), STATUS_OK);
    assert_int_equal(vocabulary_replace(&vocabulary, view_of("a"), 1, NULL), STATUS_OK);
    assert_int_equal(vocabulary_find(&vocabulary, view_of("a")), 1);
    assert_null(vocabulary_token(&vocabulary, 0).data);
    vocabulary_free(&vocabulary);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_tokens_are_found_by_name_and_by_id),
        cmocka_unit_test(an_empty_vocabulary_knows_nothing),
        cmocka_unit_test(what_is_taken_or_out_of_range_is_refused_by_name),
        cmocka_unit_test(replacing_moves_a_token_to_its_new_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
