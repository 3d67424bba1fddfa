/* test_options.c: values and their bounds, precedence of line, environment and default, and error
 * lines that name the option, what was given and what is allowed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/options.h"

struct settings {
    const char *name;
    bool fast, cut;
    uint64_t queue, body, wait;
    double threshold;
    uint32_t format;
    uint64_t unlisted; /* no row of the table */
};

#define FIELD(member) .offset = offsetof(struct settings, member)

static const struct option rows[] = {
    {.name = "name", .kind = OPTION_STRING, FIELD(name), .single_reason = "there is one name"},
    {.name = "fast", .kind = OPTION_FLAG, FIELD(fast), .environment = true},
    {.name = "cut", .kind = OPTION_SWITCH, FIELD(cut), .fallback = "true", .environment = true},
    {.name = "max-queue-tokens",
     .kind = OPTION_COUNT,
     FIELD(queue),
     .min = 1,
     .max = 64,
     .word = "auto",
     .fallback = "auto",
     .environment = true},
    {.name = "max-body",
     .kind = OPTION_BYTES,
     FIELD(body),
     .min = 1,
     .max = UINT64_MAX,
     .fallback = "8M",
     .environment = true},
    {.name = "wait", .kind = OPTION_TIME, FIELD(wait), .max = 3600000, .fallback = "30s"},
    {.name = "threshold", .kind = OPTION_NUMBER, FIELD(threshold), .word = "model"},
    {.name = "format",
     .kind = OPTION_CHOICE,
     FIELD(format),
     .choices = "text|json",
     .fallback = "text",
     .environment = true},
};

static const char *const later_names[] = {"api-key", NULL};

static const struct command command = {.later_names = later_names,
                                       .name = "try",
                                       .arguments_max = 3,
                                       .settings_bytes = sizeof(struct settings),
                                       .options = rows,
                                       .options_count = sizeof rows / sizeof rows[0]};

enum { ARGUMENTS_MAX = 8 };

struct outcome {
    enum options_result result;
    struct settings settings;
    struct options_rest rest;
    char message[OPTIONS_ERROR_BYTES];
    char *argv[ARGUMENTS_MAX + 1];
};

/* Parses up to ARGUMENTS_MAX words, the last of which is followed by NULL. */
static void parse(struct outcome *out, const char *const *environment, ...) {
    int argc = 0;
    va_list words;
    va_start(words, environment);
    while (argc < ARGUMENTS_MAX && (out->argv[argc] = va_arg(words, char *)))
        argc++;
    va_end(words);
    out->message[0] = '\0';
    out->result = options_parse(&command, argc, out->argv, environment, &out->settings, &out->rest,
                                out->message);
}

static void defaults_hold_when_nothing_is_given(void **state) {
    (void)state;
    struct outcome o;
    memset(&o.settings, 0xA5, sizeof o.settings);
    parse(&o, NULL, NULL);
    assert_int_equal(o.result, OPTIONS_OK);
    assert_int_equal(o.settings.unlisted, 0);
    assert_null(o.settings.name);
    assert_false(o.settings.fast);
    assert_true(o.settings.cut);
    assert_int_equal(o.settings.queue, 0);
    assert_int_equal(o.settings.body, 8 << 20);
    assert_int_equal(o.settings.wait, 30000);
    assert_true(isnan(o.settings.threshold));
    assert_int_equal(o.settings.format, 0);
    assert_int_equal(o.rest.count, 0);
}

static void both_spellings_and_arguments_mix(void **state) {
    (void)state;
    struct outcome o;
    parse(&o, NULL, "one", "--name", "x", "-", "--format=json", "--cut", "false", "two", NULL);
    assert_int_equal(o.result, OPTIONS_OK);
    assert_string_equal(o.settings.name, "x");
    assert_int_equal(o.settings.format, 1);
    assert_false(o.settings.cut);
    assert_int_equal(o.rest.count, 3);
    assert_string_equal(o.rest.arguments[0], "one");
    assert_string_equal(o.rest.arguments[1], "-");
    assert_string_equal(o.rest.arguments[2], "two");
}

static void two_dashes_end_the_options(void **state) {
    (void)state;
    struct outcome o;
    parse(&o, NULL, "--fast", "--", "--name", "--", NULL);
    assert_int_equal(o.result, OPTIONS_OK);
    assert_true(o.settings.fast);
    assert_int_equal(o.rest.count, 2);
    assert_string_equal(o.rest.arguments[0], "--name");
    assert_string_equal(o.rest.arguments[1], "--");
}

static void quantities_take_their_units_and_bounds(void **state) {
    (void)state;
    static const struct {
        const char *word;
        bool good;
        uint64_t value;
    } bodies[] =
        {
            {"--max-body=1", true, 1},
            {"--max-body=2K", true, 2048},
            {"--max-body=3G", true, 3ULL << 30},
            {"--max-body=0", false, 0},
            {"--max-body=1T", false, 0},
            {"--max-body=-1", false, 0},
            {"--max-body=+1", false, 0},
            {"--max-body= 1", false, 0},
            {"--max-body=1.5M", false, 0},
            {"--max-body=18446744073709551615", true, UINT64_MAX},
            {"--max-body=K", false, 0},
            {"--max-body=18446744073709551616", false, 0},
            {"--max-body=", false, 0},
            {"--max-body=18014398509481984K", false, 0},
        },
      waits[] =
          {
              {"--wait=250ms", true, 250}, {"--wait=2s", true, 2000}, {"--wait=1m", true, 60000},
              {"--wait=0", true, 0},       {"--wait=5", true, 5000},  {"--wait=61m", false, 0},
              {"--wait=1h", false, 0},
          },
      counts[] = {
          {"--max-queue-tokens=64", true, 64}, {"--max-queue-tokens=65", false, 0},
          {"--max-queue-tokens=0", false, 0},  {"--max-queue-tokens=auto", true, 0},
          {"--max-queue-tokens=1K", false, 0},
      };
    struct outcome o;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        parse(&o, NULL, bodies[i].word, NULL);
        assert_int_equal(o.result, bodies[i].good ? OPTIONS_OK : OPTIONS_BAD);
        assert_true(!bodies[i].good || o.settings.body == bodies[i].value);
    }
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        parse(&o, NULL, waits[i].word, NULL);
        assert_int_equal(o.result, waits[i].good ? OPTIONS_OK : OPTIONS_BAD);
        assert_true(!waits[i].good || o.settings.wait == waits[i].value);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        parse(&o, NULL, counts[i].word, NULL);
        assert_int_equal(o.result, counts[i].good ? OPTIONS_OK : OPTIONS_BAD);
        assert_true(!counts[i].good || o.settings.queue == counts[i].value);
    }
}

static void numbers_are_finite_decimals_or_the_word(void **state) {
    (void)state;
    struct outcome o;
    parse(&o, NULL, "--threshold", "-0.25", NULL);
    assert_int_equal(o.result, OPTIONS_OK);
    assert_true(o.settings.threshold == -0.25);
    parse(&o, NULL, "--threshold=0.5", "--threshold=model", NULL);
    assert_int_equal(o.result, OPTIONS_OK);
    assert_true(isinf(o.settings.threshold));
    static const char *const bad[] = {"nan", "inf", "0x1p3", "1e999", "0,5", "", "0.5x", "."};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        parse(&o, NULL, "--threshold", bad[i], NULL);
        assert_int_equal(o.result, OPTIONS_BAD);
    }
}

static void the_line_wins_over_the_environment_and_that_over_defaults(void **state) {
    (void)state;
    const char *environment[] = {"BERTD_MAX_QUEUE_TOKENS=7", "BERTD_FAST=1",  "BERTD_FORMAT=json",
                                 "BERTD_MAX_BODY=",          "BERTD_WAIT=1h", NULL};
    struct outcome o;
    parse(&o, environment, "--max-queue-tokens", "9", "--fast=false", NULL);
    assert_int_equal(o.result, OPTIONS_OK);
    assert_int_equal(o.settings.queue, 9);
    assert_false(o.settings.fast);
    assert_int_equal(o.settings.format, 1);
    assert_int_equal(o.settings.body, 8 << 20);
    assert_int_equal(o.settings.wait, 30000); /* not an option that has a variable */
}

static void a_bad_variable_is_named_and_one_of_kubernetes_is_not_ours(void **state) {
    (void)state;
    const char *bad[] = {"BERTD_FORMAT=yaml", NULL};
    const char *service[] = {"BERTD_MAX_QUEUE_TOKENS=tcp://10.0.0.1:80", NULL};
    const char *later[] = {"BERTD_API_KEY=secret", NULL};
    struct outcome o;
    parse(&o, bad, NULL);
    assert_int_equal(o.result, OPTIONS_BAD);
    assert_string_equal(o.message, "BERTD_FORMAT: got 'yaml', allowed: text|json");
    parse(&o, service, NULL);
    assert_int_equal(o.result, OPTIONS_OK);
    assert_int_equal(o.settings.queue, 0);
    parse(&o, later, NULL);
    assert_int_equal(o.result, OPTIONS_BAD);
    assert_non_null(strstr(o.message, "BERTD_API_KEY"));
    assert_null(strstr(o.message, "secret"));
}

static void errors_name_option_given_and_allowed(void **state) {
    (void)state;
    static const struct {
        const char *word, *message;
    } cases[] = {
        {"--max-queue-tokens=1x",
         "--max-queue-tokens: got '1x', allowed: a count from 1 to 64, or auto"},
        {"--wait=2h", "--wait: got '2h', allowed: a time from 0ms to 60m (ms, s, m)"},
        {"--cut=perhaps", "--cut: got 'perhaps', allowed: true or false"},
        {"--format=xml\nx", "--format: got 'xml?x', allowed: text|json"},
        {"--threshold=x", "--threshold: got 'x', allowed: a number, or model"},
        {"--name=", "--name: got '', allowed: a text that is not empty"},
        {"--format", "--format: got no value, allowed: text|json"},
        {"--max-queue-token=3", "unknown option '--max-queue-token=3', the nearest is "
                                "--max-queue-tokens; allowed: the options of bertd try --help"},
        {"-q", "unknown option '-q'; allowed: the options of bertd try --help"},
        {"--zzzzzzzzzzzz",
         "unknown option '--zzzzzzzzzzzz'; allowed: the options of bertd try --help"},
    };
    struct outcome o;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        parse(&o, NULL, cases[i].word, NULL);
        assert_int_equal(o.result, OPTIONS_BAD);
        assert_string_equal(o.message, cases[i].message);
    }
    parse(&o, NULL, "--name=a", "--name=b", NULL);
    assert_int_equal(o.result, OPTIONS_BAD);
    assert_string_equal(o.message, "--name: given twice, allowed: once; there is one name");
    parse(&o, NULL, "a", "b", "c", "d", NULL);
    assert_int_equal(o.result, OPTIONS_BAD);
    assert_string_equal(o.message, "got one argument too many, 'd', allowed: 3");
}

static void long_values_are_cut_between_code_points(void **state) {
    (void)state;
    struct outcome o;
    char word[1024] = "--format=";
    for (size_t shift = 9; shift < 12; shift++) {
        memset(word + 9, 'a', shift - 9);
        for (size_t i = shift; i + 3 < sizeof word; i += 3)
            memcpy(word + i, "\xE2\x82\xAC", 4);
        parse(&o, NULL, word, NULL);
        assert_int_equal(o.result, OPTIONS_BAD);
        const char *end = strstr(o.message, "...'");
        assert_non_null(end);
        assert_memory_equal(end - 3, "\xE2\x82\xAC", 3);
    }
}

static void help_comes_before_every_error(void **state) {
    (void)state;
    const char *bad[] = {"BERTD_FORMAT=yaml", NULL};
    struct outcome o;
    parse(&o, bad, "--wrong", "--help", NULL);
    assert_int_equal(o.result, OPTIONS_HELP);
    parse(&o, NULL, "--", "--help", NULL);
    assert_int_equal(o.result, OPTIONS_OK);
}

static void the_nearest_name_is_near(void **state) {
    (void)state;
    static const char *const names[] = {"serve", "classify", "tokenize", "plan"};
    assert_string_equal(options_nearest("sevre", names, 4), "serve");
    assert_string_equal(options_nearest("tokenise", names, 4), "tokenize");
    assert_string_equal(options_nearest("pan", names, 4), "plan");
    assert_string_equal(options_nearest("class", names, 4), "classify");
    assert_null(options_nearest("xyzzy", names, 4));
    assert_null(options_nearest("", names, 4));
    static const char *const others[] = {"stages", "stage-threads", "text", "text_pair"};
    assert_null(options_nearest("stage-timeout", others, 4)); /* half of it is alike */
    assert_string_equal(options_nearest("text-pair", others, 4), "text_pair");
    assert_string_equal(options_nearest("textpair", others, 4), "text_pair");
    assert_string_equal(options_nearest("txt", others, 4), "text");
    assert_string_equal(options_nearest("texts", others, 4), "text");
    assert_string_equal(options_nearest("stages-per-layer", others, 4), "stages");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold_when_nothing_is_given),
        cmocka_unit_test(both_spellings_and_arguments_mix),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(quantities_take_their_units_and_bounds),
        cmocka_unit_test(numbers_are_finite_decimals_or_the_word),
        cmocka_unit_test(the_line_wins_over_the_environment_and_that_over_defaults),
        cmocka_unit_test(a_bad_variable_is_named_and_one_of_kubernetes_is_not_ours),
        cmocka_unit_test(errors_name_option_given_and_allowed),
        cmocka_unit_test(long_values_are_cut_between_code_points),
        cmocka_unit_test(help_comes_before_every_error),
        cmocka_unit_test(the_nearest_name_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
