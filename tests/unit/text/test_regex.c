/* test_regex.c: expressions of tokenizer files: what is translated matches as Oniguruma does, what
 * is not is refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/text/pattern.h"

/* Matches as "start-end ", in code points. */
static void check(const char *expression, const char *text, const char *expected) {
    struct pattern *pattern;
    struct error err;
    if (pattern_open_regex(view_of(expression), &pattern, &err) != STATUS_OK)
        fail_msg("%s: %s", expression, err.message);
    struct normal_text normal;
    normal_text_init(&normal);
    assert_int_equal(normal_text_set(&normal, view_of(text), 0, strlen(text)), STATUS_OK);
    struct pattern_search search;
    assert_int_equal(
        pattern_search_start(&search, pattern, &normal.search, normal.now.chars, normal.now.count),
        STATUS_OK);
    char found[256] = "";
    size_t bytes = 0, start, end;
    bool more = true;
    while (pattern_search_next(&search, &more, &start, &end) == STATUS_OK && more)
        bytes += (size_t)snprintf(found + bytes, sizeof found - bytes, "%zu-%zu ", start, end);
    if (strcmp(found, expected) != 0)
        fail_msg("%s on \"%s\": %s", expression, text, found);
    normal_text_free(&normal);
    pattern_close(pattern);
}

static void expressions_match_as_in_oniguruma(void **state) {
    (void)state;
    check("a+", "baab\u00e9a", "1-3 5-6 ");
    check("x*", "  xay", "0-0 1-1 2-3 4-4 5-5 ");
    check("^", "a\nb\n", "0-0 2-2 ");
    check("a$", "a\na", "0-1 2-3 ");
    check("(?m)a.b", "a\nb", "0-3 ");
    check("a.b", "a\nb", "");
    check("\\h+", "xf0G \t", "1-3 ");
    check("\\v", "\n\v", "1-2 ");
    check("a{,2}b", "aaab", "1-4 ");
    check("a{x}", "a{x}", "0-4 ");
    check("\\w+", "a\u00b2_\u203f \u24d0", "0-4 5-6 ");
    check("[\\w]+", "a\u00b2", "0-1 ");
    check("\\b", "ab c", "0-0 2-2 3-3 4-4 ");
    check("\\s", "\u180e\xc2\x85 ", "1-2 2-3 ");
    check("\\u0061\\x{62}\\x63", "abc", "0-3 ");
    check("\\p{Letter}+\\p{^L}", "ab1", "0-3 ");
    check("\\p{Han}+", "a\u6f22\u5b57", "1-3 ");
    check("[[:punct:]]", "$a!", "0-1 2-3 ");
    check("(?i:'S)", "'\u017f's", "0-2 2-4 ");
    check("(a)\\1", "aab", "0-2 ");
    check("[a\\-z]", "-bz", "0-1 2-3 ");
}

/* Letters of Unicode 15 and 16, which PCRE2 10.42 does not know. */
static void newer_characters_are_classed_as_in_the_library(void **state) {
    (void)state;
    check("\\p{L}+", "\u1c89\ua7cb", "0-2 ");
    check("\\p{Lu}", "\u1c89\u1c8a", "0-1 ");
    check("\\p{M}", "a\u0897", "1-2 ");
    check("[\\u0300-\\u036f]", "a\u0363\u036f", "1-2 2-3 ");
    check("[\\x{4e00}-\\x{9fff}]+", "\u6f22", "0-1 ");
}

static void what_is_not_translated_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *expression, *named;
    } ROWS[] = {
        {"[a[bc]]", "[a["},
        {"[a&&b]", "&&"},
        {"\\K", "\\K"},
        {"\\X", "\\X"},
        {"[\\W]", "\\W"},
        {"\\101", "\\1"},
        {"\\xe9", "\\xe9"},
        {"\\k<n>", "\\k"},
        {"(?~a)", "(?~"},
        {"(?<n>a)", "(?<"},
        {"(?x)a", "(?x"},
        {"(?s)a", "(?s"},
        {"(*FAIL)", "(*"},
        {"a{2}+", "{2}+"},
        {"a{2}?", "{2}?"},
        {"(?i)ss", "s"},
        {"(?i)\u00e9", "\u00e9"},
        {"\\Q", "\\Q"},
        {"\\cA", "\\c"},
        {"[", "["},
        {"[]a]", "["},
        {"\\p{Emoji", "\\p"},
        {"\\p{Nope}", "supported"},
        {"(a", "supported"},
        {"\\", "\\"},
        {"[\\x{1c80}-\\x{1c89}]", "newer"},
        {"[[:foo:]]", "[:"},
        {"\\x{110000}", "\\x"},
        {"\u1c89", "\u1c89"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct pattern *pattern;
        struct error err;
        if (pattern_open_regex(view_of(ROWS[i].expression), &pattern, &err) != STATUS_UNSUPPORTED ||
            strstr(err.message, ROWS[i].named) == NULL)
            fail_msg("%s: %s", ROWS[i].expression, err.message);
        assert_null(pattern);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_match_as_in_oniguruma),
        cmocka_unit_test(newer_characters_are_classed_as_in_the_library),
        cmocka_unit_test(what_is_not_translated_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
