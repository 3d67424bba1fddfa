/* option_values.c: parses one option's value by its kind and checks its bounds. Called by
 * options.c for defaults, environment and command line alike. */
#include "server/option_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A unit behind a number, and what it multiplies by. */
struct unit {
    const char *suffix;
    uint64_t factor;
};

static const struct unit byte_units[] = {
    {"", 1}, {"K", 1ULL << 10}, {"M", 1ULL << 20}, {"G", 1ULL << 30}};
static const struct unit time_units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}};
static const struct unit count_units[] = {{"", 1}};

/* Decimal digits and one of the units; the whole text, without sign or blanks. */
static bool parse_quantity(const char *text, const struct unit *units, size_t units_count,
                           uint64_t *out) {
    uint64_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
            return false;
    if (c == text)
        return false;
    for (size_t i = 0; i < units_count; i++)
        if (strcmp(c, units[i].suffix) == 0)
            return !__builtin_mul_overflow(value, units[i].factor, out);
    return false;
}

static bool parse_kind(const struct option *option, const char *text, uint64_t *out) {
    if (option->kind == OPTION_BYTES)
        return parse_quantity(text, byte_units, sizeof byte_units / sizeof byte_units[0], out);
    if (option->kind == OPTION_TIME)
        return parse_quantity(text, time_units, sizeof time_units / sizeof time_units[0], out);
    return parse_quantity(text, count_units, 1, out);
}

/* A plain finite decimal: no hexadecimal, no "inf", no blanks. */
static bool parse_number(const char *text, double *out) {
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
        return false;
    char *end;
    double value = strtod(text, &end);
    if (*end || !isfinite(value))
        return false;
    *out = value;
    return true;
}

static bool parse_flag(const char *text, bool *out) {
    static const char *const words[] = {"false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i % 2 == 1;
            return true;
        }
    return false;
}

/* Index of `text` in "a|b|c". */
static bool parse_choice(const char *choices, const char *text, uint32_t *out) {
    size_t bytes = strlen(text);
    for (uint32_t index = 0;; index++) {
        size_t n = strcspn(choices, "|");
        if (n == bytes && memcmp(choices, text, n) == 0) {
            *out = index;
            return true;
        }
        if (!choices[n])
            return false;
        choices += n + 1;
    }
}

void option_clear(const struct option *option, void *settings) {
    void *field = (char *)settings + option->offset;
    switch (option->kind) {
    case OPTION_STRING:
        *(const char **)field = NULL;
        break;
    case OPTION_FLAG:
    case OPTION_SWITCH:
        *(bool *)field = false;
        break;
    case OPTION_NUMBER:
        *(double *)field = NAN;
        break;
    case OPTION_CHOICE:
        *(uint32_t *)field = UINT32_MAX;
        break;
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_TIME:
        *(uint64_t *)field = 0;
        break;
    }
}

bool option_store(const struct option *option, const char *text, void *settings) {
    void *field = (char *)settings + option->offset;
    bool is_word = option->word && strcmp(text, option->word) == 0;
    switch (option->kind) {
    case OPTION_STRING:
        if (!*text)
            return false;
        *(const char **)field = text;
        return true;
    case OPTION_FLAG:
    case OPTION_SWITCH:
        return parse_flag(text, field);
    case OPTION_CHOICE:
        return parse_choice(option->choices, text, field);
    case OPTION_NUMBER:
        if (is_word)
            *(double *)field = INFINITY;
        return is_word || parse_number(text, field);
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_TIME:
        break;
    }
    uint64_t value = option->word_value;
    if (!is_word &&
        (!parse_kind(option, text, &value) || value < option->min || value > option->max))
        return false;
    *(uint64_t *)field = value;
    return true;
}

/* A bound in the largest unit that divides it. */
static void print_bound(const struct option *option, uint64_t value, char out[32]) {
    const struct unit *units = count_units;
    size_t count = 1, best = 0;
    if (option->kind == OPTION_BYTES) {
        units = byte_units;
        count = sizeof byte_units / sizeof byte_units[0];
    } else if (option->kind == OPTION_TIME) {
        units = time_units;
        count = sizeof time_units / sizeof time_units[0];
        best = 1;
    }
    for (size_t i = best; i < count; i++)
        if (value && value % units[i].factor == 0)
            best = i;
    snprintf(out, 32, "%" PRIu64 "%s", value / units[best].factor, units[best].suffix);
}

void option_allowed(const struct option *option, char out[OPTION_ALLOWED_BYTES]) {
    static const char *const nouns[] = {
        [OPTION_COUNT] = "a count", [OPTION_BYTES] = "bytes", [OPTION_TIME] = "a time"};
    char min[32], max[32];
    const char * or = option->word ? ", or " : "", *word = option->word ? option->word : "";
    switch (option->kind) {
    case OPTION_STRING:
        snprintf(out, OPTION_ALLOWED_BYTES, "a text that is not empty");
        return;
    case OPTION_FLAG:
    case OPTION_SWITCH:
        snprintf(out, OPTION_ALLOWED_BYTES, "true or false");
        return;
    case OPTION_NUMBER:
        snprintf(out, OPTION_ALLOWED_BYTES, "a number%s%s", or, word);
        return;
    case OPTION_CHOICE:
        snprintf(out, OPTION_ALLOWED_BYTES, "%s", option->choices);
        return;
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_TIME:
        break;
    }
    print_bound(option, option->min, min);
    print_bound(option, option->max, max);
    snprintf(out, OPTION_ALLOWED_BYTES, "%s from %s to %s%s%s%s", nouns[option->kind], min, max,
             option->kind == OPTION_BYTES  ? " (K, M, G: 1024)"
             : option->kind == OPTION_TIME ? " (ms, s, m)"
                                           : "",
             or, word);
}

void option_value_name(const struct option *option, char out[OPTION_ALLOWED_BYTES]) {
    static const char *const names[] = {
        [OPTION_STRING] = "TEXT",   [OPTION_FLAG] = "",       [OPTION_SWITCH] = "true|false",
        [OPTION_COUNT] = "N",       [OPTION_BYTES] = "BYTES", [OPTION_TIME] = "TIME",
        [OPTION_NUMBER] = "NUMBER", [OPTION_CHOICE] = "",
    };
    const char *name = option->value_name ? option->value_name
                       : option->choices  ? option->choices
                                          : names[option->kind];
    snprintf(out, OPTION_ALLOWED_BYTES, "%s", name);
}

void option_quote(const char *text, char out[OPTION_QUOTED_BYTES]) {
    enum { ROOM = OPTION_QUOTED_BYTES - 6 }; /* quotes, dots, NUL */
    size_t n = strlen(text), kept = n;
    if (kept > ROOM)
        for (kept = ROOM; kept > 0 && ((unsigned char)text[kept] & 0xC0) == 0x80;)
            kept--;
    int end =
        snprintf(out, OPTION_QUOTED_BYTES, "'%.*s%s'", (int)kept, text, kept < n ? "..." : "");
    for (int i = 0; i < end; i++)
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7F)
            out[i] = '?';
}
