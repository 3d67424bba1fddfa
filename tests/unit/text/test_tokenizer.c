/* test_tokenizer.c: the demo tokenizer as a whole: hostile texts, limits, windows, reuse, and that
 * time is linear in the text. */
#include <stdio.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/limits.h"
#include "tests/unit/text/fixtures.h"

#define DEMO "models/goemotions-minilm"

struct state {
    struct tokenizer *tokenizer;
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
};

static int set_up(void **state) {
    static struct state own;
    encoding_init(&own.encoding);
    *state = &own;
    return tokenizer_open(DEMO, &own.tokenizer, NULL) != STATUS_OK ||
           tokenizer_scratch_open(own.tokenizer, &own.scratch) != STATUS_OK;
}

static int tear_down(void **state) {
    struct state *own = *state;
    encoding_free(&own->encoding);
    tokenizer_scratch_close(own->scratch);
    tokenizer_close(own->tokenizer);
    return 0;
}

static enum status encode(struct state *own, struct view text, uint32_t tokens_max,
                          struct error *err) {
    struct tokenizer_options options = {.add_special_tokens = true, .tokens_max = tokens_max};
    return tokenizer_encode(own->tokenizer, own->scratch, text, NULL, &options, &own->encoding,
                            err);
}

static void malformed_utf8_is_refused_with_its_place(void **state) {
    struct error err;
    assert_int_equal(encode(*state, view_of("ok \xff"), 0, &err), STATUS_INVALID_UTF8);
    assert_non_null(strstr(err.message, "byte 3"));
    struct state *own = *state;
    struct view pair = view_of("\xed\xa0\x80");
    struct tokenizer_options options = {.add_special_tokens = true};
    assert_int_equal(tokenizer_encode(own->tokenizer, own->scratch, view_of("ok"), &pair, &options,
                                      &own->encoding, &err),
                     STATUS_INVALID_UTF8);
}

static void a_nul_does_not_end_the_text(void **state) {
    struct state *own = *state;
    assert_int_equal(encode(own, (struct view){"hello\0 world", 12}, 0, NULL), STATUS_OK);
    assert_int_equal(own->encoding.count, 4);
    assert_int_equal(own->encoding.ids[2], tokenizer_find(own->tokenizer, view_of("world")));
    assert_int_equal(own->encoding.starts[2], 7);
    assert_int_equal(own->encoding.ends[2], 12);
}

static void a_text_over_the_limit_is_refused_before_it_is_read(void **state) {
    struct error err;
    assert_int_equal(encode(*state, (struct view){"a", LIMIT_TEXT_BYTES + 1}, 0, &err),
                     STATUS_INPUT_TOO_LONG);
}

static void truncation_reports_the_whole_length(void **state) {
    struct state *own = *state;
    assert_int_equal(encode(own, view_of("one two three four five"), 4, NULL), STATUS_OK);
    assert_int_equal(own->encoding.count, 4);
    assert_int_equal(own->encoding.count_whole, 7);
    assert_true(own->encoding.truncated);
    assert_int_equal(encode(own, view_of("one two three four five"), 7, NULL), STATUS_OK);
    assert_false(own->encoding.truncated);
    assert_int_equal(encode(own, view_of("one"), 1, NULL), STATUS_INVALID_VALUE);
    assert_int_equal(encode(own, view_of("one"), 2, NULL), STATUS_OK);
    assert_int_equal(own->encoding.count, 2);
}

static void windows_join_to_the_whole_content(void **state) {
    struct state *own = *state;
    enum { CONTENT = 25, ROOM = 8, STRIDE = 2, STEP = ROOM - 2 - STRIDE };
    int32_t content[CONTENT], ids[ROOM];
    uint8_t types[ROOM];
    for (int32_t i = 0; i < CONTENT; i++)
        content[i] = 1000 + i;
    uint32_t count = tokenizer_windows_count(own->tokenizer, CONTENT, ROOM, STRIDE);
    assert_int_equal(count, 6);
    for (uint32_t w = 0; w < count; w++) {
        uint32_t written =
            tokenizer_window_write(own->tokenizer, content, CONTENT, ROOM, STRIDE, w, ids, types);
        assert_int_equal(written, w + 1 < count ? ROOM : CONTENT - 5 * STEP + 2);
        assert_int_equal(ids[0], tokenizer_find(own->tokenizer, view_of("[CLS]")));
        assert_int_equal(ids[written - 1], tokenizer_find(own->tokenizer, view_of("[SEP]")));
        for (uint32_t i = 1; i + 1 < written; i++)
            assert_int_equal(ids[i], content[w * STEP + i - 1]);
    }
    assert_int_equal(tokenizer_windows_count(own->tokenizer, 0, ROOM, STRIDE), 1);
    assert_int_equal(
        tokenizer_window_write(own->tokenizer, content, 0, ROOM, STRIDE, 0, ids, types), 2);
}

static void the_demo_says_its_sizes(void **state) {
    struct state *own = *state;
    assert_int_equal(tokenizer_ids_count(own->tokenizer), 19734);
    assert_int_equal(tokenizer_special_count(own->tokenizer, false), 2);
    assert_int_equal(tokenizer_special_count(own->tokenizer, true), 3);
    assert_int_equal(tokenizer_model_max_length(own->tokenizer), 512);
    assert_int_equal(tokenizer_file_options(own->tokenizer).tokens_max, 0);
    assert_true(view_equals_c(tokenizer_token(own->tokenizer, 0), "[PAD]"));
    assert_int_equal(tokenizer_find(own->tokenizer, view_of("no such token")), -1);
    assert_int_equal(tokenizer_token(own->tokenizer, 19734).bytes, 0);
}

/* Long texts are normalised in chunks; the result must not show where they end. */
static void chunks_leave_no_trace(void **state) {
    struct state *own = *state;
    static const char PIECE[] = "Caf\xc3\xa9 \xe4\xb8\xad\xcc\x81 don't  [SEP] e\xcc\x81\xcc\xa3 ";
    enum { TIMES = 3000, BYTES = sizeof PIECE - 1 };
    assert_int_equal(encode(own, view_of(PIECE), 0, NULL), STATUS_OK);
    uint32_t content = own->encoding.count - 2;
    int32_t ids[64];
    uint32_t starts[64];
    assert_true(content < 64);
    memcpy(ids, own->encoding.ids + 1, content * sizeof *ids);
    memcpy(starts, own->encoding.starts + 1, content * sizeof *starts);
    char *text = malloc((size_t)TIMES * BYTES);
    for (size_t i = 0; i < TIMES; i++)
        memcpy(text + i * BYTES, PIECE, BYTES);
    assert_int_equal(encode(own, (struct view){text, (size_t)TIMES * BYTES}, 0, NULL), STATUS_OK);
    assert_int_equal(own->encoding.count, TIMES * content + 2);
    for (uint32_t i = 0; i < TIMES * content; i++) {
        assert_int_equal(own->encoding.ids[i + 1], ids[i % content]);
        assert_int_equal(own->encoding.starts[i + 1], starts[i % content] + i / content * BYTES);
    }
    free(text);
}

static uint64_t encode_ns(struct state *own, struct view text) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        uint64_t start = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
        assert_int_equal(encode(own, text, 0, NULL), STATUS_OK);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        uint64_t spent = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec - start;
        best = spent < best ? spent : best;
    }
    return best;
}

static void four_times_the_text_takes_less_than_six_times_as_long(void **state) {
    struct state *own = *state;
    static const char *const UNITS[] = {"a",
                                        "\xcc\x81",
                                        " ",
                                        "[SEP]",
                                        "[",
                                        "\xe4\xb8\xad",
                                        "\xed\x95\x9c",
                                        "!",
                                        "\xcc\x81\xcc\xa3",
                                        "hello world ",
                                        "un ",
                                        "[SE",
                                        "\xc4\xb0",
                                        "#"};
    enum { SHORT = 250000, LONG = 4 * SHORT, TRIES = 5 };
    char *text = malloc(LONG);
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        size_t unit = strlen(UNITS[i]);
        for (size_t at = 0; at < LONG; at++)
            text[at] = UNITS[i][at % unit];
        encode_ns(own, (struct view){text, LONG - LONG % unit}); /* the scratch grows once */
        uint64_t brief = 1, whole = UINT64_MAX;
        /* A busy machine makes single runs slow; a text of the wrong order is slow in all. */
        for (int tries = 0; tries < TRIES && whole >= 6 * brief; tries++) {
            brief = encode_ns(own, (struct view){text, SHORT - SHORT % unit});
            whole = encode_ns(own, (struct view){text, LONG - LONG % unit});
        }
        if (whole >= 6 * brief)
            fail_msg("\"%s\": %llu ns, then %llu ns", UNITS[i], (unsigned long long)brief,
                     (unsigned long long)whole);
        print_message("%12s  %5.1f ns a byte\n", UNITS[i], (double)whole / LONG);
    }
    free(text);
}

static void missing_files_are_named(void **state) {
    (void)state;
    struct tokenizer *tokenizer;
    struct error err;
    assert_int_equal(tokenizer_open("tests/unit", &tokenizer, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "tests/unit"));
    assert_null(tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_utf8_is_refused_with_its_place),
        cmocka_unit_test(a_nul_does_not_end_the_text),
        cmocka_unit_test(a_text_over_the_limit_is_refused_before_it_is_read),
        cmocka_unit_test(truncation_reports_the_whole_length),
        cmocka_unit_test(windows_join_to_the_whole_content),
        cmocka_unit_test(the_demo_says_its_sizes),
        cmocka_unit_test(chunks_leave_no_trace),
        cmocka_unit_test(four_times_the_text_takes_less_than_six_times_as_long),
        cmocka_unit_test(missing_files_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
