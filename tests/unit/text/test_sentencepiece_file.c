/* test_sentencepiece_file.c: the protobuf of a `.model` file, whole, cut and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/text/sentencepiece_file.h"

#define MODEL          "tests/golden/tokenizer/checkpoints/deberta_v2/spm.model"

#define BYTES(literal) ((struct view){literal, sizeof literal - 1})

static void a_model_of_the_trainer_is_read(void **state) {
    (void)state;
    char *data;
    size_t bytes;
    assert_int_equal(file_read(MODEL, 1 << 20, &data, &bytes, NULL), STATUS_OK);
    struct sentencepiece_file file;
    assert_int_equal(sentencepiece_file_parse((struct view){data, bytes}, &file, NULL), STATUS_OK);
    assert_true(file.pieces_count > 80);
    assert_int_equal(file.model_type, SENTENCEPIECE_UNIGRAM);
    assert_int_equal(file.unknown_id, 3);
    assert_true(file.charsmap.bytes > 0);
    assert_true(view_equals_c(file.pieces[0].text, "[PAD]"));
    assert_int_equal(file.pieces[0].type, SENTENCEPIECE_CONTROL);
    assert_int_equal(file.pieces[3].type, SENTENCEPIECE_UNKNOWN);
    assert_int_equal(file.pieces[4].type, SENTENCEPIECE_NORMAL);
    assert_true(file.pieces[4].score < 0);
    sentencepiece_file_free(&file);
    free(data);
}

/* Whatever its length, a cut file is refused or read as far as it goes, never past its end: the
 * copy is as long as the part, so that a sanitizer sees a step too far. */
static void a_cut_model_is_never_read_past_its_end(void **state) {
    (void)state;
    char *data;
    size_t bytes, whole = 0;
    assert_int_equal(file_read(MODEL, 1 << 20, &data, &bytes, NULL), STATUS_OK);
    for (size_t part = 0; part < bytes; part++) {
        char *copy = malloc(part + (part == 0));
        memcpy(copy, data, part);
        struct sentencepiece_file file;
        struct error err = {0};
        enum status status = sentencepiece_file_parse((struct view){copy, part}, &file, &err);
        whole += status == STATUS_OK;
        if (status != STATUS_OK)
            assert_int_equal(status, STATUS_BAD_FILE);
        sentencepiece_file_free(&file);
        free(copy);
    }
    free(data);
    assert_true(whole < bytes / 10);
}

static void fields_have_their_defaults_and_the_last_one_counts(void **state) {
    (void)state;
    struct sentencepiece_file file;
    static const char TWO[] = "\x0a\x03\x0a\x01"
                              "a"
                              "\x0a\x0c\x0a\x01"
                              "b"
                              "\x15\x00\x00\x80\xbf"
                              "\x18\x02\x18\x03"
                              "\x12\x05\x18\x01\xc0\x02\x09"
                              "\x12\x03\xc0\x02\x07"
                              "\x7a\x02xy\x78\x96\x01";
    assert_int_equal(sentencepiece_file_parse(BYTES(TWO), &file, NULL), STATUS_OK);
    assert_int_equal(file.pieces_count, 2);
    assert_int_equal(file.pieces[0].type, SENTENCEPIECE_NORMAL);
    assert_true(file.pieces[0].score == 0 && file.pieces[1].score == -1);
    assert_int_equal(file.pieces[1].type, SENTENCEPIECE_CONTROL);
    assert_int_equal(file.model_type, SENTENCEPIECE_UNIGRAM);
    assert_int_equal(file.unknown_id, 7);
    assert_int_equal(file.charsmap.bytes, 0);
    sentencepiece_file_free(&file);
}

static void what_is_no_model_is_refused(void **state) {
    (void)state;
    const struct view texts[] = {
        BYTES(""),
        BYTES("{}"),
        BYTES("\x0a"),
        BYTES("\x0a\x02\x0a"),     /* longer than the file */
        BYTES("\x0a\x02\x0a\x05"), /* longer than its message */
        BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
        BYTES("\x0b\x0c"),                     /* a group */
        BYTES("\x02\x00"),                     /* field 0 */
        BYTES("\x0a\x03\x0a\x01\xff"),         /* a piece that is no UTF-8 */
        BYTES("\x0a\x05\x15\x00\x00\xc0\x7f"), /* a score that is no number */
        BYTES("\x0a\x05\x15\x00\x00\x80\x7f"), /* an infinite one */
        BYTES("\x0a\x03\x0a\x01"
              "a"
              "\x12\x01\x18"),     /* a damaged trainer_spec */
        BYTES("\x12\x02\x18\x01"), /* no pieces */
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sentencepiece_file file;
        struct error err = {0};
        if (sentencepiece_file_parse(texts[i], &file, &err) != STATUS_BAD_FILE)
            fail_msg("row %zu was read", i);
        assert_true(err.message[0] != '\0');
        assert_null(file.pieces);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_of_the_trainer_is_read),
        cmocka_unit_test(a_cut_model_is_never_read_past_its_end),
        cmocka_unit_test(fields_have_their_defaults_and_the_last_one_counts),
        cmocka_unit_test(what_is_no_model_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
