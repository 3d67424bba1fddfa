/* test_token_model.c: BPE, Unigram and WordLevel alone, without the other parts of a tokenizer: the
 * rows of tests/golden/tokenizer/models.jsonl, which tests/golden/generate_model_fixtures.py wrote
 * with the pinned library; and that words seen before need no more memory. */
#include <malloc.h>
#include <string.h>

#include "engine/text/tokenizer_parts.h"
#include "tests/unit/text/fixtures.h"

#define ROWS "tests/golden/tokenizer/models.jsonl"

struct run {
    struct tokenizer *tokenizer;
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
};

static void run_open(struct run *run, const char *model) {
    struct error err = {0};
    size_t bytes = strlen(model) + 64;
    char *document = malloc(bytes);
    snprintf(document, bytes, "{\"version\":\"1.0\",\"model\":%s}", model);
    if (tokenizer_open_json(view_of(document), &run->tokenizer, &err) != STATUS_OK)
        fail_msg("%.300s: %s", model, err.message);
    free(document);
    assert_int_equal(tokenizer_scratch_open(run->tokenizer, &run->scratch), STATUS_OK);
    encoding_init(&run->encoding);
}

static void run_close(struct run *run) {
    encoding_free(&run->encoding);
    tokenizer_scratch_close(run->scratch);
    tokenizer_close(run->tokenizer);
    memset(run, 0, sizeof *run);
}

static enum status encode(struct run *run, struct view text) {
    const struct tokenizer_options options = {.add_special_tokens = true};
    struct error err = {0};
    enum status status =
        tokenizer_encode(run->tokenizer, run->scratch, text, NULL, &options, &run->encoding, &err);
    assert_true((status == STATUS_OK) == (err.message[0] == '\0'));
    return status;
}

static bool row_holds(struct run *run, const json_t *row) {
    struct view text = fixture_view(json_object_get(row, "text"));
    enum status status = encode(run, text);
    if (json_object_get(row, "error") != NULL)
        return status == STATUS_INVALID_VALUE;
    return status == STATUS_OK && fixture_matches(&run->encoding, row, text, (struct view){"", 0});
}

/* The model of a line as it stands there: scores are to keep their digits. */
static void open_line(struct run *run, char *line) {
    static const char START[] = "{\"model\":";
    assert_memory_equal(line, START, sizeof START - 1);
    line[strcspn(line, "\n") - 1] = '\0';
    run_close(run);
    run_open(run, line + sizeof START - 1);
}

static void every_word_gives_the_ids_and_offsets_of_the_reference(void **state) {
    (void)state;
    FILE *file = fopen(ROWS, "r");
    assert_non_null(file);
    struct run run = {0};
    size_t models = 0, rows = 0, wrong = 0, room = 0;
    char *line = NULL;
    while (getline(&line, &room, file) > 0) {
        if (strncmp(line, "{\"model\"", 8) == 0) {
            open_line(&run, line);
            models++;
            continue;
        }
        json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);
        rows++;
        wrong += !row_holds(&run, row);
        json_decref(row);
    }
    free(line);
    fclose(file);
    run_close(&run);
    assert_true(models >= 150 && rows >= 900);
    assert_int_equal(wrong, 0);
}

static const char *const MODELS[] = {
    "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"aa\":1,\"aaaa\":2,\"aaaaaaaa\":3,\" \":4,\"  \":5,"
    "\"b\":6,\"ab\":7},\"merges\":[\"a b\",\"a a\",\"aa aa\",\"aaaa aaaa\"]}",
    "{\"type\":\"BPE\",\"vocab\":{\"?\":0,\"a\":1,\"##a\":2,\"aa\":3,\"##aa\":4},\"merges\":"
    "[\"##a ##a\",\"a ##a\"],\"unk_token\":\"?\",\"continuing_subword_prefix\":\"##\"}",
    "{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"a\",-2],[\"aa\",-3.5],"
    "[\"aaaaaaaa\",-9],[\" \",-2],[\"ab\",-2.25],[\"  \",-3]]}",
    "{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"?\",0],[\"a\",-2],"
    "[\"<0xCC>\",0],[\"<0x81>\",0],[\"<0x20>\",0]]}",
    "{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"aaaa\":1}}",
    "{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"continuing_subword_prefix\":\"##\","
    "\"max_input_chars_per_word\":100000000,\"vocab\":{\"?\":0,\"a\":1,\"##a\":2,\"##aaaa\":3}}",
};
static char *repeat(const char *unit, size_t bytes) {
    size_t length = strlen(unit);
    char *text = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        text[i] = unit[i % length];
    return text;
}

static void words_that_were_seen_need_no_more_memory(void **state) {
    (void)state;
    for (size_t m = 0; m < sizeof MODELS / sizeof *MODELS; m++) {
        struct run run;
        run_open(&run, MODELS[m]);
        char *text = repeat("aab", 3000);
        assert_int_equal(encode(&run, (struct view){text, 3000}), STATUS_OK);
        struct mallinfo2 before = mallinfo2();
        for (int i = 1; i < 200; i++)
            assert_int_equal(encode(&run, (struct view){text, (size_t)(15 * i)}), STATUS_OK);
        struct mallinfo2 after = mallinfo2();
        assert_int_equal(before.uordblks, after.uordblks);
        assert_int_equal(before.hblkhd, after.hblkhd);
        free(text);
        run_close(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_gives_the_ids_and_offsets_of_the_reference),
        cmocka_unit_test(words_that_were_seen_need_no_more_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
