/* test_linear.c: no normalizer, pre-tokenizer or model takes more than linear time for texts that
 * try to make it, and a pattern that would is an error. */
#include <stdio.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/text/tokenizer_parts.h"
#include "tests/unit/text/fixtures.h"

#define NORMALIZER(part) "\"normalizer\":" part
#define SPLIT(part)      "\"pre_tokenizer\":" part
#define REGEX(expression)                                                                          \
    SPLIT("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" expression                               \
          "\"},\"behavior\":\"Isolated\",\"invert\":false}")
#define MODEL(part) "\"model\":" part
#define FORM(name)  NORMALIZER("{\"type\":\"" name "\"}")

/* GPT-2's pattern and one of a newer model, as they stand in files. */
#define WORDS       "'s| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+"
#define NEWER                                                                                      \
    "(?i:'s|'t|'re)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| ?[^\\\\s\\\\p{L}"       \
    "\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"

static const char *const PARTS[] = {
    FORM("NFC"),
    FORM("NFKD"),
    FORM("Nmt"),
    FORM("ByteLevel"),
    NORMALIZER("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}"),
    NORMALIZER("{\"type\":\"Replace\",\"pattern\":{\"String\":\" a\"},\"content\":\"bc\"}"),
    NORMALIZER("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}"),
    SPLIT("{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true}"),
    SPLIT("{\"type\":\"Metaspace\",\"replacement\":\"_\"}"),
    SPLIT("{\"type\":\"Punctuation\",\"behavior\":\"MergedWithNext\"}"),
    SPLIT("{\"type\":\"UnicodeScripts\"}"),
    REGEX(WORDS),
    REGEX(NEWER),
    MODEL(
        "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"aa\":1,\"aaaa\":2,\"aaaaaaaa\":3,\" \":4,\"  \":5,"
        "\"b\":6,\"ab\":7},\"merges\":[\"a b\",\"a a\",\"aa aa\",\"aaaa aaaa\"]}"),
    MODEL("{\"type\":\"BPE\",\"vocab\":{\"u\":0,\"a\":1,\"##a\":2,\"aa\":3,\"##aa\":4},\"merges\":"
          "[\"##a ##a\",\"a ##a\"],\"unk_token\":\"u\",\"continuing_subword_prefix\":\"##\"}"),
    MODEL("{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"u\",0],[\"a\",-2],[\"aa\",-3.5],"
          "[\"aaaaaaaa\",-9],[\" \",-2],[\"ab\",-2.25],[\"  \",-3]]}"),
    MODEL("{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"u\",0],"
          "[\"a\",-2],[\"<0xCC>\",0],[\"<0x81>\",0],[\"<0x20>\",0]]}"),
    MODEL("{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"aaaa\":1}}"),
    MODEL("{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"continuing_subword_prefix\":\"##\","
          "\"max_input_chars_per_word\":100000000,"
          "\"vocab\":{\"u\":0,\"a\":1,\"##a\":2,\"##aaaa\":3}}"),
};

#define PLAIN_MODEL                                                                                \
    MODEL("{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"continuing_subword_prefix\":\"##\","      \
          "\"max_input_chars_per_word\":5,\"vocab\":{\"u\":0}}")

static struct tokenizer *open_with(const char *part) {
    char json[2048];
    bool model = strncmp(part, "\"model\"", 7) == 0;
    snprintf(json, sizeof json, "{\"version\":\"1.0\",%s%s}", part, model ? "" : "," PLAIN_MODEL);
    struct tokenizer *tokenizer;
    struct error err;
    if (tokenizer_open_json(view_of(json), &tokenizer, &err) != STATUS_OK)
        fail_msg("%s: %s", part, err.message);
    return tokenizer;
}

struct run {
    struct tokenizer *tokenizer;
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
};

static enum status encode(struct run *run, const char *text, size_t bytes, struct error *err) {
    const struct tokenizer_options options = {.add_special_tokens = true};
    return tokenizer_encode(run->tokenizer, run->scratch, (struct view){text, bytes}, NULL,
                            &options, &run->encoding, err);
}

static uint64_t encode_ns(struct run *run, const char *text, size_t bytes) {
    struct timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    assert_int_equal(encode(run, text, bytes, NULL), STATUS_OK);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (uint64_t)(to.tv_sec - from.tv_sec) * NS_PER_S + (uint64_t)to.tv_nsec -
           (uint64_t)from.tv_nsec;
}

static void run_open(struct run *run, const char *part) {
    *run = (struct run){.tokenizer = open_with(part)};
    assert_int_equal(tokenizer_scratch_open(run->tokenizer, &run->scratch), STATUS_OK);
    encoding_init(&run->encoding);
}

static void run_close(struct run *run) {
    encoding_free(&run->encoding);
    tokenizer_scratch_close(run->scratch);
    tokenizer_close(run->tokenizer);
}

static void four_times_the_text_takes_less_than_eight_times_as_long(void **state) {
    (void)state;
    static const char *const UNITS[] = {"a",   "\u0301", " ",   "\u0301\u0323", "\u4e2d",   "!",
                                        "a b", "1\n",    " \t", "[SEP]",        "aaaaaaaab"};
    enum { SHORT = 60000, LONG = 4 * SHORT, TRIES = 6 };
    char *text = malloc(LONG);
    for (size_t part = 0; part < sizeof PARTS / sizeof *PARTS; part++) {
        struct run run;
        run_open(&run, PARTS[part]);
        for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
            size_t unit = strlen(UNITS[i]);
            for (size_t at = 0; at < LONG; at++)
                text[at] = UNITS[i][at % unit];
            uint64_t brief = 1, whole = UINT64_MAX;
            for (int tries = 0; tries < TRIES && whole >= 8 * brief; tries++) {
                brief = encode_ns(&run, text, SHORT - SHORT % unit);
                whole = encode_ns(&run, text, LONG - LONG % unit);
            }
            if (whole >= 8 * brief)
                fail_msg("%s on \"%s\": %llu ns, then %llu ns", PARTS[part], UNITS[i],
                         (unsigned long long)brief, (unsigned long long)whole);
        }
        run_close(&run);
    }
    free(text);
}

static void a_pattern_that_backtracks_without_end_is_an_error(void **state) {
    (void)state;
    static const char *const PATTERNS[] = {REGEX("(a+)+b"), REGEX("(a|aa)+$"), REGEX("a*a*a*b")};
    enum { BYTES = 20000 };
    char *text = malloc(BYTES);
    memset(text, 'a', BYTES);
    memcpy(text + BYTES - 2, "cb", 2);
    for (size_t i = 0; i < sizeof PATTERNS / sizeof *PATTERNS; i++) {
        struct run run;
        struct error err;
        run_open(&run, PATTERNS[i]);
        assert_int_equal(encode(&run, text, BYTES, &err), STATUS_INPUT_TOO_LONG);
        assert_non_null(strstr(err.message, "patterns"));
        assert_int_equal(encode(&run, "aab", 3, &err), STATUS_OK);
        run_close(&run);
    }
    free(text);
}

static void a_scratch_that_has_grown_gives_its_memory_back(void **state) {
    (void)state;
    enum { BYTES = 3 << 20 };
    char *text = malloc(BYTES);
    memset(text, ' ', BYTES);
    struct run run;
    run_open(&run, SPLIT("{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
                         "\"trim_offsets\":true}"));
    assert_int_equal(encode(&run, text, BYTES, NULL), STATUS_OK);
    assert_int_equal(encode(&run, "a b", 3, NULL), STATUS_OK);
    assert_int_equal(run.encoding.count, 2);
    run_close(&run);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_times_the_text_takes_less_than_eight_times_as_long),
        cmocka_unit_test(a_pattern_that_backtracks_without_end_is_an_error),
        cmocka_unit_test(a_scratch_that_has_grown_gives_its_memory_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
