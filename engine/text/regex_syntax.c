/* regex_syntax.c: one pass over the expression. What it does not know it refuses, so that nothing
 * means one thing to Oniguruma and another to PCRE2. */
#include "engine/text/regex_syntax.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/utf8.h"

/* \w in a class; outside of one, and for \b, six signs of Latin-1 are in it too. */
#define WORD_CLASSES "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD_SET     WORD_CLASSES "\u00b2\u00b3\u00b9\u00bc\u00bd\u00be"

enum { EXPRESSION_BYTES_MAX = 65536 };
#define NO_CODE UINT32_MAX

enum { GROWTH_MAX = 160 }; /* bytes that one byte of an expression may become, \b the most */

struct translation {
    struct view in;
    size_t at;
    char *out;
    size_t written;
    bool in_class, caseless;
    uint32_t code; /* of the last item of a class, or NO_CODE where that is a set */
    struct error *err;
};

static enum status refuse(struct translation *t, size_t start, const char *what) {
    struct view part = {t->in.data + start, t->at - start};
    return error_set(t->err, STATUS_UNSUPPORTED, "%s \"%.*s\" in an expression is not supported",
                     what, view_shown(part), part.data);
}

static void put(struct translation *t, const char *text) {
    size_t length = strlen(text);
    memcpy(t->out + t->written, text, length);
    t->written += length;
}

static void put_view(struct translation *t, size_t start, size_t end) {
    memcpy(t->out + t->written, t->in.data + start, end - start);
    t->written += end - start;
}

static bool ended(const struct translation *t) {
    return t->at >= t->in.bytes;
}

static char peek(const struct translation *t) {
    return ended(t) ? '\0' : t->in.data[t->at];
}

static bool accept(struct translation *t, const char *text) {
    size_t length = strlen(text);
    if (t->in.bytes - t->at < length || memcmp(t->in.data + t->at, text, length) != 0)
        return false;
    t->at += length;
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Names that Oniguruma gives a class, where PCRE2 has another; loosely compared. Names that are not
 * here are scripts to both. */
static const struct {
    const char *name, *class;
} PROPERTIES[] = {
    {"l", "L"},
    {"letter", "L"},
    {"lu", "Lu"},
    {"uppercaseletter", "Lu"},
    {"ll", "Ll"},
    {"lowercaseletter", "Ll"},
    {"lt", "Lt"},
    {"titlecaseletter", "Lt"},
    {"lm", "Lm"},
    {"modifierletter", "Lm"},
    {"lo", "Lo"},
    {"otherletter", "Lo"},
    {"m", "M"},
    {"mark", "M"},
    {"mn", "Mn"},
    {"nonspacingmark", "Mn"},
    {"mc", "Mc"},
    {"spacingmark", "Mc"},
    {"me", "Me"},
    {"enclosingmark", "Me"},
    {"n", "N"},
    {"number", "N"},
    {"nd", "Nd"},
    {"decimalnumber", "Nd"},
    {"digit", "Nd"},
    {"nl", "Nl"},
    {"letternumber", "Nl"},
    {"no", "No"},
    {"othernumber", "No"},
    {"p", "P"},
    {"punctuation", "P"},
    {"pc", "Pc"},
    {"connectorpunctuation", "Pc"},
    {"pd", "Pd"},
    {"dashpunctuation", "Pd"},
    {"ps", "Ps"},
    {"openpunctuation", "Ps"},
    {"pe", "Pe"},
    {"closepunctuation", "Pe"},
    {"pi", "Pi"},
    {"initialpunctuation", "Pi"},
    {"pf", "Pf"},
    {"finalpunctuation", "Pf"},
    {"po", "Po"},
    {"otherpunctuation", "Po"},
    {"s", "S"},
    {"symbol", "S"},
    {"sm", "Sm"},
    {"mathsymbol", "Sm"},
    {"sc", "Sc"},
    {"currencysymbol", "Sc"},
    {"sk", "Sk"},
    {"modifiersymbol", "Sk"},
    {"so", "So"},
    {"othersymbol", "So"},
    {"z", "Z"},
    {"separator", "Z"},
    {"zs", "Zs"},
    {"spaceseparator", "Zs"},
    {"zl", "Zl"},
    {"lineseparator", "Zl"},
    {"zp", "Zp"},
    {"paragraphseparator", "Zp"},
    {"cc", "Cc"},
    {"control", "Cc"},
    {"cntrl", "Cc"},
    {"cf", "Cf"},
    {"format", "Cf"},
    {"c", "C"},
    {"other", "C"},
    {"cn", "Cn"},
    {"unassigned", "Cn"},
    {"co", "Co"},
    {"privateuse", "Co"},
    {"punct", "P"},
    {"any", "Any"},
    {"alpha", "Alphabetic"},
    {"alphabetic", "Alphabetic"},
};

/* A script's name may hold letters only, so that it cannot be another kind of property. */
static bool is_script_name(const char *name) {
    return strlen(name) > 2;
}

/* \p{Name}, \p{^Name}, \P{Name}; `start` is the backslash. */
static enum status translate_property(struct translation *t, size_t start, bool negated) {
    char name[64];
    size_t length = 0;
    bool closed = false;
    if (!accept(t, "{"))
        return refuse(t, start, "the property");
    if (accept(t, "^"))
        negated = !negated;
    while (!ended(t) && !closed) {
        char c = t->in.data[t->at++];
        char lower = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
        closed = c == '}';
        if (closed || c == ' ' || c == '_' || c == '-')
            continue;
        if (lower < 'a' || lower > 'z' || length + 1 == sizeof name)
            return refuse(t, start, "the property");
        name[length++] = lower;
    }
    name[length] = '\0';
    if (!closed || length == 0)
        return refuse(t, start, "the property");
    put(t, negated ? "\\P{" : "\\p{");
    for (size_t i = 0; i < sizeof PROPERTIES / sizeof *PROPERTIES; i++)
        if (strcmp(name, PROPERTIES[i].name) == 0) {
            put(t, PROPERTIES[i].class);
            put(t, "}");
            return STATUS_OK;
        }
    if (!is_script_name(name))
        return refuse(t, start, "the property");
    put(t, "sc:");
    put(t, name);
    put(t, "}");
    return STATUS_OK;
}

/* Whether PCRE2 sees in a range what the text has there: no code point and its stand-in are parted
 * by an end of the range. */
static bool is_range_known(uint32_t first, uint32_t last) {
    for (uint32_t i = 0; i < regex_stand_ins_count; i++) {
        const struct regex_stand_in *row = &regex_stand_ins[i];
        bool shown = row->stand_in >= first && row->stand_in <= last;
        bool all = row->first >= first && row->last <= last;
        bool none = row->last < first || row->first > last;
        if (shown ? !all : !none)
            return false;
    }
    return true;
}

static void put_code(struct translation *t, uint32_t code) {
    static const char DIGITS[] = "0123456789abcdef";
    put(t, "\\x{");
    for (int shift = 20; shift >= 0; shift -= 4)
        t->out[t->written++] = DIGITS[code >> shift & 0xF];
    put(t, "}");
}

/* \xHH, \x{H...}, \uHHHH behind the letter. */
static enum status translate_code(struct translation *t, size_t start, char letter) {
    bool braces = letter == 'x' && accept(t, "{");
    int digits = 0, wanted = braces ? 8 : letter == 'x' ? 2 : 4;
    uint32_t code = 0;
    while (digits < wanted && hex_digit(peek(t)) >= 0) {
        code = code << 4 | (uint32_t)hex_digit(peek(t));
        t->at++;
        digits++;
    }
    bool whole = braces ? digits > 0 && accept(t, "}") : digits == wanted;
    bool byte = letter == 'x' && !braces && code >= 0x80;
    if (!whole || byte || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) ||
        (!t->in_class && !is_range_known(code, code)))
        return refuse(t, start, "the escape");
    put_code(t, code);
    t->code = code;
    return STATUS_OK;
}

/* What a letter behind a backslash becomes outside of a class and inside. NULL: refused. */
static const struct {
    char letter;
    const char *outside, *inside;
} ESCAPES[] = {
    {'t', "\\t", "\\t"},
    {'n', "\\n", "\\n"},
    {'r', "\\r", "\\r"},
    {'f', "\\f", "\\f"},
    {'a', "\\a", "\\a"},
    {'e', "\\e", "\\e"},
    {'v', "\\x{0b}", "\\x{0b}"},
    {'d', "\\d", "\\d"},
    {'D', "\\D", "\\D"},
    {'s', "\\s", "\\s"},
    {'S', "\\S", "\\S"},
    {'h', "[0-9a-fA-F]", "0-9a-fA-F"},
    {'H', "[^0-9a-fA-F]", NULL},
    {'w', "[" WORD_SET "]", WORD_CLASSES},
    {'W', "[^" WORD_SET "]", NULL},
    {'b', "(?:(?<=[" WORD_SET "])(?![" WORD_SET "])|(?<![" WORD_SET "])(?=[" WORD_SET "]))", "\\b"},
    {'B', "(?:(?<=[" WORD_SET "])(?=[" WORD_SET "])|(?<![" WORD_SET "])(?![" WORD_SET "]))", NULL},
    {'A', "\\A", NULL},
    {'z', "\\z", NULL},
    {'Z', "\\Z", NULL},
    {'G', "\\G", NULL},
    {'R', "\\R", NULL},
};

static enum status translate_escape(struct translation *t, size_t start) {
    if (ended(t))
        return refuse(t, start, "the escape");
    char c = t->in.data[t->at++];
    if (c == 'p' || c == 'P')
        return translate_property(t, start, c == 'P');
    if (c == 'x' || c == 'u')
        return translate_code(t, start, c);
    for (size_t i = 0; i < sizeof ESCAPES / sizeof *ESCAPES; i++) {
        const char *becomes = t->in_class ? ESCAPES[i].inside : ESCAPES[i].outside;
        if (c == ESCAPES[i].letter && becomes != NULL) {
            put(t, becomes);
            return STATUS_OK;
        }
    }
    bool backreference = !t->in_class && c >= '1' && c <= '9' && (peek(t) < '0' || peek(t) > '9');
    bool sign = (unsigned char)c < 0x80 && !(c >= '0' && c <= '9') &&
                !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    if (!backreference && !sign)
        return refuse(t, start, "the escape");
    put_view(t, start, t->at);
    t->code = (unsigned char)c;
    return STATUS_OK;
}

/* Two letters that one code point folds to (as in German and in ligatures) match it in Oniguruma
 * only. */
static bool folds_to_one(char first, char second) {
    static const char *const PAIRS[] = {"ss", "ff", "fi", "fl", "st"};
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++)
        if ((first | 0x20) == PAIRS[i][0] && (second | 0x20) == PAIRS[i][1])
            return true;
    return false;
}

static enum status translate_literal(struct translation *t) {
    size_t start = t->at;
    unsigned char lead = (unsigned char)t->in.data[t->at];
    uint32_t code = utf8_decode(t->in.data + start);
    t->at += utf8_length(lead);
    if (!t->in_class && !is_range_known(code, code))
        return refuse(t, start, "the character");
    if (t->caseless && (lead >= 0x80 || (!t->in_class && folds_to_one((char)lead, peek(t)))))
        return refuse(t, start, "without regard to case, the character");
    put_view(t, start, t->at);
    t->code = code;
    return STATUS_OK;
}

static enum status translate_posix(struct translation *t, size_t start) {
    static const struct {
        const char *name, *becomes;
    } CLASSES[] = {{"alpha:]", "\\p{Alphabetic}"},
                   {"digit:]", "\\d"},
                   {"space:]", "\\s"},
                   {"alnum:]", "\\p{Alphabetic}\\d"},
                   {"punct:]", "\\p{P}\\p{S}"},
                   {"word:]", WORD_CLASSES},
                   {"upper:]", "\\p{Uppercase}"},
                   {"lower:]", "\\p{Lowercase}"},
                   {"xdigit:]", "0-9a-fA-F"}};
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (accept(t, CLASSES[i].name)) {
            put(t, CLASSES[i].becomes);
            return STATUS_OK;
        }
    return refuse(t, start, "the class");
}

/* One item of a class: a code point or a set. */
static enum status translate_item(struct translation *t, size_t class_start) {
    size_t start = t->at;
    t->code = NO_CODE;
    if (accept(t, "[:"))
        return translate_posix(t, start);
    if (accept(t, "[") || accept(t, "&&"))
        return refuse(t, class_start, "a class in a class, or an intersection,");
    return accept(t, "\\") ? translate_escape(t, start) : translate_literal(t);
}

/* The items up to the bracket, and the ranges that they make. */
static enum status translate_items(struct translation *t, size_t class_start) {
    uint32_t first = NO_CODE;
    bool dashed = false;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !ended(t) && peek(t) != ']') {
        bool dash = peek(t) == '-' && first != NO_CODE && !dashed;
        status = translate_item(t, class_start);
        bool starts_range = peek(t) == '-' && !dash && !dashed;
        if (status == STATUS_OK && t->code != NO_CODE && !starts_range &&
            !is_range_known(dashed ? first : t->code, t->code))
            status = refuse(t, class_start, "a range that ends among newer characters in");
        if (!dash)
            first = dashed ? NO_CODE : t->code;
        dashed = dash;
    }
    return status;
}

static enum status translate_class(struct translation *t) {
    size_t start = t->at++;
    put(t, "[");
    if (accept(t, "^"))
        put(t, "^");
    if (peek(t) == ']')
        return refuse(t, start, "the class");
    t->in_class = true;
    enum status status = translate_items(t, start);
    t->in_class = false;
    if (status == STATUS_OK && !accept(t, "]"))
        status = refuse(t, start, "the class");
    if (status == STATUS_OK)
        put(t, "]");
    return status;
}

/* (?im-im) and (?im-im: in Ruby's meaning of m. What is switched on stays on to the end for the
 * check of letters, which is more than needed and never less. */
static enum status translate_options(struct translation *t, size_t start) {
    bool on = true;
    put(t, "(?");
    for (;;) {
        if (ended(t))
            return refuse(t, start, "the group");
        char c = t->in.data[t->at++];
        if (c == '-' && on) {
            on = false;
            put(t, "-");
        } else if (c == 'i') {
            t->caseless = t->caseless || on;
            put(t, "i");
        } else if (c == 'm') {
            put(t, "s");
        } else if (c == ':' || c == ')') {
            put(t, c == ':' ? ":" : ")");
            return STATUS_OK;
        } else {
            return refuse(t, start, "the group");
        }
    }
}

static enum status translate_group(struct translation *t) {
    static const char *const SAME[] = {"?:", "?=", "?!", "?>", "?<=", "?<!"};
    size_t start = t->at++;
    if (accept(t, "*"))
        return refuse(t, start, "the group");
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++)
        if (accept(t, SAME[i])) {
            put(t, "(");
            put(t, SAME[i]);
            return STATUS_OK;
        }
    if (accept(t, "?"))
        return translate_options(t, start);
    put(t, "(");
    return STATUS_OK;
}

/* {n}, {n,}, {n,m}, {,m}; anything else in braces is literal. */
static enum status translate_braces(struct translation *t) {
    size_t start = t->at++, low, high;
    for (low = t->at; peek(t) >= '0' && peek(t) <= '9';)
        t->at++;
    bool has_low = t->at > low;
    bool range = accept(t, ",");
    for (high = t->at; peek(t) >= '0' && peek(t) <= '9';)
        t->at++;
    bool has_high = t->at > high;
    if ((!has_low && !(range && has_high)) || !accept(t, "}")) {
        t->at = start + 1;
        put(t, "\\{");
        return STATUS_OK;
    }
    if (peek(t) == '+' || (peek(t) == '?' && !range)) {
        t->at++;
        return refuse(t, start, "the count");
    }
    put(t, has_low ? "{" : "{0");
    put_view(t, start + 1, t->at);
    return STATUS_OK;
}

static enum status translate_next(struct translation *t) {
    size_t start = t->at;
    switch (peek(t)) {
    case '\\':
        t->at++;
        return translate_escape(t, start);
    case '[':
        return translate_class(t);
    case '(':
        return translate_group(t);
    case '{':
        return translate_braces(t);
    case '}':
    case ']':
        t->at++;
        put(t, "\\");
        put_view(t, start, t->at);
        return STATUS_OK;
    default:
        return translate_literal(t);
    }
}

enum status regex_syntax_translate(struct view expression, char **pattern, size_t *bytes,
                                   struct error *err) {
    struct translation t = {.in = expression, .err = err};
    *pattern = NULL;
    if (expression.bytes > EXPRESSION_BYTES_MAX)
        return error_set(err, STATUS_UNSUPPORTED, "an expression of %zu bytes is not supported",
                         expression.bytes);
    t.out = reallocarray(NULL, expression.bytes + 1, GROWTH_MAX);
    if (t.out == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !ended(&t))
        status = translate_next(&t);
    if (status != STATUS_OK) {
        free(t.out);
        return status;
    }
    *pattern = t.out;
    *bytes = t.written;
    return STATUS_OK;
}

uint32_t regex_syntax_stand_in(uint32_t code) {
    if ((regex_stand_in_blocks[code >> 11] >> (code >> 8 & 7) & 1) == 0)
        return code;
    uint32_t low = 0, high = regex_stand_ins_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct regex_stand_in *row = &regex_stand_ins[middle];
        if (code >= row->first && code <= row->last)
            return row->stand_in;
        if (code < row->first)
            high = middle;
        else
            low = middle + 1;
    }
    return code;
}
