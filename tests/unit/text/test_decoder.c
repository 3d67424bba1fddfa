/* test_decoder.c: ids back into text: the rows of tests/golden/tokenizer/decoders.jsonl, which
 * tests/golden/generate_decoder_fixtures.py wrote with the pinned library; special tokens, ids
 * without a token, cleaning up, limits. */
#include <unistd.h>

#include "engine/base/limits.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/decoder.h"
#include "engine/text/tokenizer_parts.h"
#include "engine/text/utf8.h"
#include "tests/unit/text/fixtures.h"

#define ROWS "tests/golden/tokenizer/decoders.jsonl"

/* A tokenizer whose vocabulary is [UNK] and the tokens. */
static struct tokenizer *open_row(const json_t *row) {
    json_t *vocab = json_pack("{s:i}", "[UNK]", 0), *token;
    size_t i;
    json_array_foreach(json_object_get(row, "tokens"), i, token) {
        struct view name = fixture_view(token);
        if (json_object_getn(vocab, name.data, name.bytes) == NULL)
            json_object_setn_new(vocab, name.data, name.bytes,
                                 json_integer((json_int_t)json_object_size(vocab)));
    }
    json_t *document = json_pack("{s:s, s:O, s:{s:s, s:s, s:s, s:i, s:o}}", "version", "1.0",
                                 "decoder", json_object_get(row, "decoder"), "model", "type",
                                 "WordPiece", "unk_token", "[UNK]", "continuing_subword_prefix",
                                 "##", "max_input_chars_per_word", 100, "vocab", vocab);
    char *text = json_dumps(document, JSON_COMPACT);
    struct tokenizer *tokenizer;
    struct error err = {0};
    if (tokenizer_open_json(view_of(text), &tokenizer, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    free(text);
    json_decref(document);
    return tokenizer;
}

static bool row_holds(const json_t *row) {
    struct tokenizer *tokenizer = open_row(row);
    json_t *tokens = json_object_get(row, "tokens"), *token;
    int32_t ids[64];
    size_t i, bytes;
    assert_true(json_array_size(tokens) <= sizeof ids / sizeof *ids);
    json_array_foreach(tokens, i, token) ids[i] = tokenizer_find(tokenizer, fixture_view(token));
    char *text;
    assert_int_equal(tokenizer_decode(tokenizer, ids, (uint32_t)json_array_size(tokens), true,
                                      &text, &bytes, NULL),
                     STATUS_OK);
    bool same = view_equals((struct view){text, bytes}, fixture_view(json_object_get(row, "text")));
    if (!same) {
        char *shown = json_dumps(row, JSON_COMPACT);
        fprintf(stderr, "%s\ngot: \"%s\"\n", shown, text);
        free(shown);
    }
    free(text);
    tokenizer_close(tokenizer);
    return same;
}

static void every_list_of_tokens_decodes_to_the_text_of_the_reference(void **state) {
    (void)state;
    FILE *file = fopen(ROWS, "r");
    assert_non_null(file);
    size_t rows = 0, wrong = 0;
    json_t *row;
    while ((row = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)) != NULL) {
        rows++;
        wrong += !row_holds(row);
        json_decref(row);
    }
    fclose(file);
    assert_true(rows > 200);
    assert_int_equal(wrong, 0);
}

static void assert_decodes(const struct tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                           bool skip, const char *expected) {
    char *text;
    assert_int_equal(tokenizer_decode(tokenizer, ids, count, skip, &text, NULL, NULL), STATUS_OK);
    assert_string_equal(text, expected);
    free(text);
}

static void special_tokens_go_when_asked_and_unknown_ids_always(void **state) {
    (void)state;
    struct tokenizer *tokenizer;
    assert_int_equal(tokenizer_open("models/goemotions-minilm", &tokenizer, NULL), STATUS_OK);
    int32_t ids[] = {
        tokenizer_find(tokenizer, view_of("[CLS]")), -1,
        tokenizer_find(tokenizer, view_of("do")),    INT32_MAX,
        tokenizer_find(tokenizer, view_of("##ing")), tokenizer_find(tokenizer, view_of("!")),
        tokenizer_find(tokenizer, view_of("[SEP]"))};
    assert_decodes(tokenizer, ids, 7, true, "doing!");
    assert_decodes(tokenizer, ids, 7, false, "[CLS] doing! [SEP]");
    assert_decodes(tokenizer, ids, 0, false, "");
    tokenizer_close(tokenizer);
}

static void write_file(const char *dir, const char *name, const char *content) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void a_text_is_cleaned_up_where_the_configuration_says_so(void **state) {
    (void)state;
    static const char *const NAMES[] = {"tokenizer_config.json", "vocab.txt"};
    char dir[] = "/tmp/bertd-decoder-XXXXXX", path[256], *text;
    assert_non_null(mkdtemp(dir));
    write_file(dir, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\ndo\nnot\n'\ns\n.\n've\n");
    for (int clean = 0; clean < 2; clean++) {
        write_file(dir, "tokenizer_config.json",
                   clean ? "{\"clean_up_tokenization_spaces\": true}" : "{}");
        struct tokenizer *tokenizer;
        assert_int_equal(tokenizer_open(dir, &tokenizer, NULL), STATUS_OK);
        int32_t ids[] = {4, 5, 6, 7, 8, 9};
        assert_int_equal(tokenizer_decode_clean(tokenizer, ids, 6, true, &text, NULL, NULL),
                         STATUS_OK);
        assert_string_equal(text, clean ? "do not's.'ve" : "do not ' s.'ve");
        free(text);
        tokenizer_close(tokenizer);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, NAMES[i]);
        unlink(path);
    }
    rmdir(dir);
}

static void a_strip_of_more_than_there_is_leaves_nothing(void **state) {
    (void)state;
    struct decoder decoder;
    struct pieces pieces;
    decoder_init(&decoder);
    pieces_init(&pieces);
    decoder.present = true;
    struct decoder_step step = {DECODER_STRIP, .pattern = view_of("a"), .start = 3, .stop = 3};
    assert_int_equal(decoder_add(&decoder, &step), STATUS_OK);
    assert_int_equal(pieces_append(&pieces, view_of("aaaa")), STATUS_OK);
    assert_int_equal(pieces_close(&pieces), STATUS_OK);
    assert_int_equal(decoder_apply(&decoder, &pieces), STATUS_OK);
    assert_int_equal(pieces.count, 1);
    assert_int_equal(pieces.bytes_count, 0);
    pieces_free(&pieces);
    decoder_free(&decoder);
}

static void a_text_over_the_limit_is_refused(void **state) {
    (void)state;
    struct decoder decoder;
    struct pieces pieces;
    static char content[1 << 16];
    static char piece[2048];
    memset(content, 'x', sizeof content);
    memset(piece, 'a', sizeof piece);
    decoder_init(&decoder);
    pieces_init(&pieces);
    decoder.present = true;
    struct decoder_step step = {DECODER_REPLACE, .pattern = view_of("a"),
                                .content = {content, sizeof content}};
    assert_int_equal(decoder_add(&decoder, &step), STATUS_OK);
    assert_int_equal(pieces_append(&pieces, (struct view){piece, sizeof piece}), STATUS_OK);
    assert_int_equal(pieces_close(&pieces), STATUS_OK);
    assert_int_equal(decoder_apply(&decoder, &pieces), STATUS_INPUT_TOO_LONG);
    pieces_free(&pieces);
    decoder_free(&decoder);
}

static void every_byte_has_a_character_of_its_own(void **state) {
    (void)state;
    for (int byte = 0; byte < 256; byte++)
        assert_int_equal(byte_alphabet_byte(byte_alphabet_code((unsigned char)byte)), byte);
    int stand = 0;
    for (uint32_t code = 0; code < 0x1000; code++)
        stand += byte_alphabet_byte(code) >= 0;
    assert_int_equal(stand, 256);
    assert_int_equal(byte_alphabet_code(' '), 0x120);
    assert_int_equal(byte_alphabet_code(0xAD), 0x143);
}

static void a_wrong_sequence_is_as_long_as_what_could_have_begun_a_character(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
    } ROW[] = {{"\x80", 1},         {"\xC0\x80", 1},     {"\xE2\x82", 2},     {"\xE2\x82x", 2},
               {"\xE0\x9F\xBF", 1}, {"\xED\xA0\x80", 1}, {"\xF0\x9F\x98", 3}, {"\xF0\x8F\xBF", 1},
               {"\xF4\x90\x80", 1}, {"\xF5\x80", 1},     {"\xC3", 1},         {"\xC3(", 1}};
    for (size_t i = 0; i < sizeof ROW / sizeof *ROW; i++)
        assert_int_equal(utf8_subpart(view_of(ROW[i].text)), ROW[i].bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_list_of_tokens_decodes_to_the_text_of_the_reference),
        cmocka_unit_test(special_tokens_go_when_asked_and_unknown_ids_always),
        cmocka_unit_test(a_text_is_cleaned_up_where_the_configuration_says_so),
        cmocka_unit_test(a_strip_of_more_than_there_is_leaves_nothing),
        cmocka_unit_test(a_text_over_the_limit_is_refused),
        cmocka_unit_test(every_byte_has_a_character_of_its_own),
        cmocka_unit_test(a_wrong_sequence_is_as_long_as_what_could_have_begun_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
