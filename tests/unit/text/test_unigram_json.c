/* test_unigram_json.c: pieces and scores out of the text of a tokenizer.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/text/unigram_json.h"

struct taken {
    struct vocabulary vocabulary;
    struct unigram unigram;
    char *rest;
    size_t rest_bytes;
    struct error err;
};

static enum status take_text(struct taken *taken, const char *document) {
    memset(taken, 0, sizeof *taken);
    unigram_init(&taken->unigram);
    return unigram_json_take(view_of(document), &taken->vocabulary, &taken->unigram, &taken->rest,
                             &taken->rest_bytes, &taken->err);
}

static void taken_free(struct taken *taken) {
    vocabulary_free(&taken->vocabulary);
    unigram_free(&taken->unigram);
    free(taken->rest);
}

static void pieces_are_taken_and_the_rest_is_left(void **state) {
    (void)state;
    static const char DOCUMENT[] =
        " { \"a\" : [ { \"model\" : [ \"]}\\\"\" ] }, 1e5 ] , \"mod\\u0065l\" : "
        "{\"x\":{\"vocab\":[]},\"vocab\" : [ [ \"\\u2581\\ud83d\\ude00\\n\\/\" , -1.5 ] ,[\"\",0]"
        ",[\"\xc3\xa9\",2E1]\n] , \"unk_id\":0 } , \"b\":null}";
    static const char REST[] = " { \"a\" : [ { \"model\" : [ \"]}\\\"\" ] }, 1e5 ] , "
                               "\"mod\\u0065l\" : {\"x\":{\"vocab\":[]},\"vocab\" : []"
                               ", \"unk_id\":0 } , \"b\":null}";
    struct taken taken;
    assert_int_equal(take_text(&taken, DOCUMENT), STATUS_OK);
    assert_true(view_equals_c((struct view){taken.rest, taken.rest_bytes}, REST));
    assert_int_equal(taken.unigram.count, 3);
    assert_int_equal(vocabulary_find(&taken.vocabulary, view_of("\xe2\x96\x81\xf0\x9f\x98\x80\n/")),
                     0);
    assert_int_equal(vocabulary_find(&taken.vocabulary, view_of("")), 1);
    assert_int_equal(vocabulary_find(&taken.vocabulary, view_of("\xc3\xa9")), 2);
    assert_true(taken.unigram.scores[0] == -1.5 && taken.unigram.scores[1] == 0 &&
                taken.unigram.scores[2] == 20);
    taken_free(&taken);
}

/* The doubles are those that the pinned library shows for these digits; the marked ones are not
 * the nearest. */
static void scores_are_the_doubles_of_the_pinned_library(void **state) {
    (void)state;
    static const struct {
        const char *digits;
        double score;
    } ROWS[] = {
        {"-15.275492379532281", -15.27549237953228},  /* one step off */
        {"-9.908701741838819", -9.90870174183882},    /* one step off */
        {"-1.8771917354846979", -1.877191735484698},  /* one step off */
        {"-14.429688151665367", -14.429688151665369}, /* one step off */
        {"-11.780045159651033", -11.780045159651031}, /* one step off */
        {"-13.5297508239746", -13.5297508239746},
        {"0", 0},
        {"-0", -0.0},
        {"-7", -7},
        {"1e2", 100},
        {"-1.5E-3", -0.0015},
        {"123456789012345678901234.5", 1.2345678901234567e23},
        {"0.1234567890123456789012345", 0.12345678901234568},
        {"18446744073709551615", 1.8446744073709552e+19},
        {"18446744073709551616", 1.8446744073709552e+19},
        {"1844674407370955161.65", 1.8446744073709553e+18},
        {"0e999999999999", 0},
        {"1e-999999999999", 0},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        char document[128];
        snprintf(document, sizeof document, "{\"model\":{\"vocab\":[[\"a\",%s]]}}", ROWS[i].digits);
        struct taken taken;
        if (take_text(&taken, document) != STATUS_OK)
            fail_msg("%s: %s", ROWS[i].digits, taken.err.message);
        if (taken.unigram.scores[0] != ROWS[i].score)
            fail_msg("%s gave %.17g", ROWS[i].digits, taken.unigram.scores[0]);
        taken_free(&taken);
    }
}

static void what_is_no_list_of_pieces_is_refused_with_its_place(void **state) {
    (void)state;
    static const char *const ENTRIES[] = {
        "3",
        "[]",
        "[\"b\"]",
        "[\"b\",]",
        "[\"b\",0,0]",
        "[\"b\" 0]",
        "[0,\"b\"]",
        "[\"b\",null]",
        "[\"b\",\"0\"]",
        "[\"b\",01]",
        "[\"b\",.5]",
        "[\"b\",5.]",
        "[\"b\",+5]",
        "[\"b\",-]",
        "[\"b\",1e]",
        "[\"b\",1e400]",
        "[\"b\",nan]",
        "[\"\\x\",0]",
        "[\"\\ud83d\",0]",
        "[\"\\ud83dx\",0]",
        "[\"\\ude00\",0]",
        "[\"\\u00g0\",0]",
        "[\"\xff\",0]",
        "[\"\n\",0]",
        "[\"b",
        "[\"b\",0] [\"c\",0]",
        "",
    };
    for (size_t i = 0; i < sizeof ENTRIES / sizeof *ENTRIES; i++) {
        char document[128];
        snprintf(document, sizeof document, "{\"model\":{\"vocab\":[[\"a\",0],%s]}}", ENTRIES[i]);
        struct taken taken;
        enum status status = take_text(&taken, document);
        if (status != STATUS_BAD_FILE || strstr(taken.err.message, "model.vocab") == NULL)
            fail_msg("%s: %s %s", ENTRIES[i], status_name(status), taken.err.message);
        assert_null(taken.rest);
        taken_free(&taken);
    }
}

static void a_piece_that_is_too_long_is_refused(void **state) {
    (void)state;
    for (int escaped = 0; escaped < 2; escaped++) {
        size_t bytes = LIMIT_TOKEN_BYTES + 64;
        char *document = malloc(bytes);
        int start =
            snprintf(document, bytes, "{\"model\":{\"vocab\":[[\"%s", escaped ? "\\u00e9" : "a");
        memset(document + start, 'b', LIMIT_TOKEN_BYTES);
        snprintf(document + start + LIMIT_TOKEN_BYTES, bytes - (size_t)start - LIMIT_TOKEN_BYTES,
                 "\",0]]}}");
        struct taken taken;
        assert_int_equal(take_text(&taken, document), STATUS_BAD_FILE);
        assert_non_null(strstr(taken.err.message, "limit"));
        taken_free(&taken);
        free(document);
    }
}

static void other_documents_are_left_alone(void **state) {
    (void)state;
    static const char *const DOCUMENTS[] = {"",
                                            "[]",
                                            "{",
                                            "{\"model\"",
                                            "{\"model\":",
                                            "{\"model\":3}",
                                            "{\"model\":{\"vocab\":{\"a\":0}}}",
                                            "{\"vocab\":[[\"a\",0]]}",
                                            "{\"model\":{\"x\":\"\\",
                                            "{\"model\":{\"x\":[[}]},\"vocab\":[]}",
                                            "{\"a\":{\"model\":{\"vocab\":[]}}}"};
    for (size_t i = 0; i < sizeof DOCUMENTS / sizeof *DOCUMENTS; i++) {
        struct taken taken;
        assert_int_equal(take_text(&taken, DOCUMENTS[i]), STATUS_OK);
        assert_null(taken.rest);
        assert_int_equal(taken.unigram.count, 0);
        taken_free(&taken);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_taken_and_the_rest_is_left),
        cmocka_unit_test(scores_are_the_doubles_of_the_pinned_library),
        cmocka_unit_test(what_is_no_list_of_pieces_is_refused_with_its_place),
        cmocka_unit_test(a_piece_that_is_too_long_is_refused),
        cmocka_unit_test(other_documents_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
