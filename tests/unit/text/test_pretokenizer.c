/* test_pretokenizer.c: each kind of step on small texts, with the ranges of rewritten pieces. What
 * is expected was observed from the pinned `tokenizers`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/text/pretokenizer.h"
#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

struct pieces {
    char text[512]; /* "word:start-end|word:start-end|" */
    size_t bytes;
};

static enum status add_word(void *context, const struct normal_char *word, size_t count) {
    struct pieces *pieces = context;
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(pieces->bytes + UTF8_BYTES_MAX < sizeof pieces->text);
        pieces->bytes += utf8_encode(word[i].code, pieces->text + pieces->bytes);
    }
    pieces->bytes +=
        (size_t)snprintf(pieces->text + pieces->bytes, sizeof pieces->text - pieces->bytes,
                         ":%u-%u|", word[0].start, word[count - 1].end);
    return STATUS_OK;
}

static void check(const struct pretokenizer *pretokenizer, const char *text, const char *expected) {
    struct normal_text normal;
    struct pretokenizer_scratch scratch = {0};
    struct pieces pieces = {.bytes = 0};
    normal_text_init(&normal);
    assert_int_equal(normal_text_set(&normal, view_of(text), 0, strlen(text)), STATUS_OK);
    assert_int_equal(pretokenizer_apply(pretokenizer, &scratch, normal.now.chars, normal.now.count,
                                        add_word, &pieces),
                     STATUS_OK);
    assert_string_equal(pieces.text, expected);
    pretokenizer_scratch_free(&scratch);
    normal_text_free(&normal);
}

static void byte_level_cuts_by_its_pattern_and_shares_ranges(void **state) {
    (void)state;
    struct pretokenizer plain = {.steps_count = 0}, prefixed = {.steps_count = 0};
    pretokenizer_add_byte_level(&plain, false, true);
    pretokenizer_add_byte_level(&prefixed, true, true);
    check(&plain, "I'll go  on\n\n x2",
          "I:0-1|'ll:1-4|\u0120go:4-7|\u0120:7-8|\u0120on:8-11|"
          "\u010a\u010a:11-13|\u0120x:13-15|2:15-16|");
    check(&plain, "a  ", "a:0-1|\u0120\u0120:1-3|");
    check(&plain, "\u00e9", "\u00c3\u00a9:0-2|");
    check(&prefixed, "go", "\u0120go:0-2|");
    check(&prefixed, "\tgo", "\u0120:0-1|\u0109:0-1|go:1-3|");
    check(&prefixed, " go", "\u0120go:0-3|");
}

static void metaspace_marks_blanks_by_its_scheme(void **state) {
    (void)state;
    static const char *const EXPECTED[] = {"_a:0-1|_:1-2|_b:2-4|", "_a:0-1|_:1-2|_b:2-4|",
                                           "a:0-1|_:1-2|_b:2-4|"};
    for (int scheme = METASPACE_ALWAYS; scheme <= METASPACE_NEVER; scheme++) {
        struct pretokenizer metaspace = {.steps_count = 0};
        pretokenizer_add_metaspace(&metaspace, '_', (enum metaspace_scheme)scheme, true);
        check(&metaspace, "a  b", EXPECTED[scheme]);
        check(&metaspace, "_a", "_a:0-2|");
    }
    const struct pretokenizer_step split = {.kind = PRETOKENIZER_WHITESPACE_SPLIT};
    struct pretokenizer first = {.steps_count = 0}, whole = {.steps_count = 0};
    pretokenizer_add(&first, &split);
    pretokenizer_add_metaspace(&first, '_', METASPACE_FIRST, true);
    check(&first, "a b", "_a:0-1|b:2-3|");
    pretokenizer_add_metaspace(&whole, '_', METASPACE_ALWAYS, false);
    check(&whole, "a b", "_a_b:0-3|");
}

static void a_match_goes_stands_alone_or_joins_a_neighbour(void **state) {
    (void)state;
    static const struct {
        enum split_behavior behavior;
        const char *expected;
    } ROWS[] = {{SPLIT_REMOVED, "a:2-3|b:5-6|"},
                {SPLIT_ISOLATED, "-:0-1|-:1-2|a:2-3|-:3-4|-:4-5|b:5-6|-:6-7|"},
                {SPLIT_MERGED_WITH_PREVIOUS, "-:0-1|-:1-2|a-:2-4|-:4-5|b-:5-7|"},
                {SPLIT_MERGED_WITH_NEXT, "-:0-1|-a:1-3|-:3-4|-b:4-6|-:6-7|"},
                {SPLIT_CONTIGUOUS, "--:0-2|a:2-3|--:3-5|b:5-6|-:6-7|"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const struct pretokenizer_step step = {
            .kind = PRETOKENIZER_FLAGS, .behavior = ROWS[i].behavior, .flags = UNICODE_PUNCTUATION};
        struct pretokenizer pretokenizer = {.steps_count = 0};
        pretokenizer_add(&pretokenizer, &step);
        check(&pretokenizer, "--a--b-", ROWS[i].expected);
    }
}

static void scripts_are_told_apart_and_kana_are_han(void **state) {
    (void)state;
    const struct pretokenizer_step step = {.kind = PRETOKENIZER_SCRIPTS};
    struct pretokenizer scripts = {.steps_count = 0};
    pretokenizer_add(&scripts, &step);
    check(&scripts, "  ab \u6f22\u3042\u30a2", "ab :2-5|\u6f22\u3042\u30a2:5-14|");
    check(&scripts, "   ", "");
}

static void pieces_of_a_fixed_length_end_with_the_text(void **state) {
    (void)state;
    const struct pretokenizer_step step = {.kind = PRETOKENIZER_FIXED_LENGTH, .length = 2};
    struct pretokenizer fixed = {.steps_count = 0};
    pretokenizer_add(&fixed, &step);
    check(&fixed, "a\u00e9cde", "a\u00e9:0-3|cd:3-5|e:5-6|");
}

static void a_text_is_cut_at_a_blank_only_where_its_words_are(void **state) {
    (void)state;
    struct pretokenizer byte_level = {.steps_count = 0}, whole = {.steps_count = 0};
    struct pretokenizer marked = {.steps_count = 0}, unsplit = {.steps_count = 0};
    pretokenizer_add_byte_level(&byte_level, true, true);
    pretokenizer_add_byte_level(&whole, false, false);
    pretokenizer_add_metaspace(&marked, '_', METASPACE_FIRST, true);
    pretokenizer_add_metaspace(&unsplit, '_', METASPACE_FIRST, false);
    assert_true(pretokenizer_cuts_at_blank(&byte_level));
    assert_true(pretokenizer_cuts_at_blank(&marked));
    assert_false(pretokenizer_cuts_at_blank(&whole));
    assert_false(pretokenizer_cuts_at_blank(&unsplit));
    assert_false(pretokenizer_cuts_at_blank(&(const struct pretokenizer){.steps_count = 0}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_level_cuts_by_its_pattern_and_shares_ranges),
        cmocka_unit_test(metaspace_marks_blanks_by_its_scheme),
        cmocka_unit_test(a_match_goes_stands_alone_or_joins_a_neighbour),
        cmocka_unit_test(scripts_are_told_apart_and_kana_are_han),
        cmocka_unit_test(pieces_of_a_fixed_length_end_with_the_text),
        cmocka_unit_test(a_text_is_cut_at_a_blank_only_where_its_words_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
