/* test_fixtures.c: the tokenizer on the rows of tests/golden/tokenizer/encodings.jsonl, which
 * tests/golden/generate_tokenizer_fixtures.py wrote with the pinned library. */
#include "engine/text/tokenizer_parts.h"
#include "tests/unit/text/fixtures.h"

#define DEMO "models/goemotions-minilm/tokenizer.json"
#define ROWS "tests/golden/tokenizer/encodings.jsonl"

/* The vocabulary of a variant that has one token per character and per continuing character. */
static json_t *alphabet_vocab(struct view letters) {
    json_t *vocab = json_object();
    json_object_set_new(vocab, "[UNK]", json_integer(0));
    json_object_set_new(vocab, "[CLS]", json_integer(1));
    json_object_set_new(vocab, "[SEP]", json_integer(2));
    json_int_t id = 3;
    for (size_t at = 0, end; at < letters.bytes; at = end) {
        char token[8] = "##";
        end = at + 1;
        while (end < letters.bytes && ((unsigned char)letters.data[end] & 0xC0) == 0x80)
            end++;
        memcpy(token + 2, letters.data + at, end - at);
        json_object_set_new(vocab, token + 2, json_integer(id++));
        json_object_set_new(vocab, token, json_integer(id++));
    }
    return vocab;
}

static struct tokenizer *open_variant(const json_t *demo, const json_t *header) {
    json_t *document = json_deep_copy(demo);
    json_object_update(document, json_object_get(header, "set"));
    const json_t *alphabet = json_object_get(header, "alphabet");
    if (alphabet != NULL)
        json_object_set_new(json_object_get(document, "model"), "vocab",
                            alphabet_vocab(fixture_view(alphabet)));
    char *text = json_dumps(document, JSON_COMPACT);
    struct tokenizer *tokenizer;
    struct error err = {0};
    if (tokenizer_open_json(view_of(text), &tokenizer, &err) != STATUS_OK)
        fail_msg("%s: %s", json_string_value(json_object_get(header, "variant")), err.message);
    free(text);
    json_decref(document);
    return tokenizer;
}

static bool row_holds(const struct tokenizer *tokenizer, struct tokenizer_scratch *scratch,
                      const json_t *row, struct encoding *encoding) {
    struct view text = fixture_view(json_object_get(row, "text")), pair = {"", 0};
    const json_t *second = json_object_get(row, "text_pair");
    if (second != NULL)
        pair = fixture_view(second);
    struct tokenizer_options options = tokenizer_file_options(tokenizer);
    struct error err = {0};
    enum status status = tokenizer_encode(tokenizer, scratch, text, second != NULL ? &pair : NULL,
                                          &options, encoding, &err);
    if (status != STATUS_OK)
        fail_msg("%s", err.message);
    return fixture_matches(encoding, row, text, pair);
}

static void every_text_gives_the_ids_types_and_offsets_of_the_reference(void **state) {
    (void)state;
    json_t *demo = json_load_file(DEMO, 0, NULL);
    assert_non_null(demo);
    FILE *file = fopen(ROWS, "r");
    assert_non_null(file);
    struct tokenizer *tokenizer = NULL;
    struct tokenizer_scratch *scratch = NULL;
    struct encoding encoding;
    encoding_init(&encoding);
    size_t rows = 0, wrong = 0, variants = 0;
    json_t *line;
    while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)) != NULL) {
        const json_t *variant = json_object_get(line, "variant");
        if (variant != NULL) {
            tokenizer_scratch_close(scratch);
            tokenizer_close(tokenizer);
            tokenizer = open_variant(demo, line);
            assert_int_equal(tokenizer_scratch_open(tokenizer, &scratch), STATUS_OK);
            variants++;
        } else {
            rows++;
            wrong += !row_holds(tokenizer, scratch, line, &encoding);
        }
        json_decref(line);
    }
    encoding_free(&encoding);
    tokenizer_scratch_close(scratch);
    tokenizer_close(tokenizer);
    fclose(file);
    json_decref(demo);
    assert_true(rows >= 2000 && variants >= 20);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_gives_the_ids_types_and_offsets_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
