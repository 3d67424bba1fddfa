/* unigram_json.c: a reader of just the JSON that a piece with its score is; see unigram_json.h.
 *
 * The way to the array skips values by their brackets and quotes alone: whatever is wrong there
 * stays in the document and is refused by the JSON library. The array itself is checked in full. */
#include "engine/text/unigram_json.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/text/utf8.h"

enum { POWERS = 309, EXPONENT_MAX = 1 << 20 };

struct reader {
    const char *at, *end;
    double powers[POWERS];              /* 10^0 to 10^308 */
    char string[LIMIT_TOKEN_BYTES + 8]; /* the last string, where it has escapes */
};

static void skip_space(struct reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t'))
        reader->at++;
}

/* Steps over the character, and the space around it, if it comes next. */
static bool take(struct reader *reader, char character) {
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != character)
        return false;
    reader->at++;
    skip_space(reader);
    return true;
}

/* ---- strings ---- */

static bool take_hex(struct reader *reader, uint32_t *out) {
    *out = 0;
    if (reader->end - reader->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char digit = *reader->at++;
        uint32_t value = digit >= '0' && digit <= '9'   ? (uint32_t)(digit - '0')
                         : digit >= 'a' && digit <= 'f' ? (uint32_t)(digit - 'a') + 10
                         : digit >= 'A' && digit <= 'F' ? (uint32_t)(digit - 'A') + 10
                                                        : 16;
        if (value == 16)
            return false;
        *out = *out << 4 | value;
    }
    return true;
}

/* The code point of an escape, behind its backslash. */
static bool take_escape(struct reader *reader, uint32_t *code) {
    static const char LETTERS[] = "\"\\/bfnrt", CODES[] = "\"\\/\b\f\n\r\t";
    if (reader->at == reader->end)
        return false;
    char letter = *reader->at++;
    if (letter != 'u') {
        const char *found = letter == '\0' ? NULL : strchr(LETTERS, letter);
        *code = found == NULL ? 0 : (unsigned char)CODES[found - LETTERS];
        return found != NULL;
    }
    uint32_t low;
    if (!take_hex(reader, code) || (*code >= 0xDC00 && *code < 0xE000))
        return false;
    if (*code < 0xD800 || *code >= 0xE000)
        return true;
    if (reader->end - reader->at < 6 || reader->at[0] != '\\' || reader->at[1] != 'u')
        return false;
    reader->at += 2;
    if (!take_hex(reader, &low) || low < 0xDC00 || low >= 0xE000)
        return false;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

/* A string at its opening quote. The view is into the text, or into reader->string. */
static bool take_string(struct reader *reader, struct view *out) {
    if (reader->at == reader->end || *reader->at != '"')
        return false;
    const char *start = ++reader->at;
    size_t written = 0;
    bool escaped = false;
    while (reader->at < reader->end && *reader->at != '"') {
        if ((unsigned char)*reader->at < 0x20)
            return false;
        if (*reader->at != '\\') {
            if (escaped && written < LIMIT_TOKEN_BYTES + 1)
                reader->string[written++] = *reader->at;
            reader->at++;
            continue;
        }
        if (!escaped) {
            written = (size_t)(reader->at - start);
            written = written < LIMIT_TOKEN_BYTES + 1 ? written : LIMIT_TOKEN_BYTES + 1;
            memcpy(reader->string, start, written);
            escaped = true;
        }
        uint32_t code;
        reader->at++;
        if (!take_escape(reader, &code))
            return false;
        if (written < LIMIT_TOKEN_BYTES + 1)
            written += utf8_encode(code, reader->string + written);
    }
    if (reader->at == reader->end)
        return false;
    *out = escaped ? (struct view){reader->string, written}
                   : (struct view){start, (size_t)(reader->at - start)};
    reader->at++;
    /* One that is too long for a token may be cut inside a code point; it is refused anyhow. */
    return out->bytes > LIMIT_TOKEN_BYTES || utf8_check(*out, NULL);
}

/* ---- numbers ---- */

/* The digits as the pinned library's JSON reader combines them: as many as 64 bits hold, times or
 * over a power of ten, which may be one step off the nearest double. */
static bool combine(const struct reader *reader, bool negative, uint64_t digits, int64_t exponent,
                    double *out) {
    double value = (double)digits;
    for (; exponent < -(POWERS - 1) && value != 0; exponent += POWERS - 1)
        value /= reader->powers[POWERS - 1];
    if (value != 0 && exponent < 0)
        value /= reader->powers[-exponent];
    else if (value != 0 && exponent < POWERS)
        value *= reader->powers[exponent];
    else if (value != 0)
        return false;
    *out = negative ? -value : value;
    return isfinite(value);
}

static bool digit_next(const struct reader *reader) {
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

/* Appends the next digit. Returns whether it fits. */
static bool append_digit(const struct reader *reader, uint64_t *digits) {
    unsigned digit = (unsigned)(*reader->at - '0');
    if (*digits > (UINT64_MAX - digit) / 10)
        return false;
    *digits = *digits * 10 + digit;
    return true;
}

static bool take_exponent(struct reader *reader, int64_t *exponent) {
    bool negative = false;
    if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-'))
        negative = *reader->at++ == '-';
    int64_t value = 0;
    if (!digit_next(reader))
        return false;
    for (; digit_next(reader); reader->at++)
        if (value < EXPONENT_MAX)
            value = value * 10 + (*reader->at - '0');
    *exponent += negative ? -value : value;
    return true;
}

static bool take_number(struct reader *reader, double *out) {
    bool negative = reader->at < reader->end && *reader->at == '-';
    reader->at += negative;
    uint64_t digits = 0;
    int64_t exponent = 0;
    if (!digit_next(reader))
        return false;
    bool zero = *reader->at == '0', full = false;
    const char *start = reader->at;
    for (; digit_next(reader); reader->at++) {
        full = full || !append_digit(reader, &digits);
        exponent += full;
    }
    if (zero && reader->at - start > 1)
        return false;
    if (reader->at < reader->end && *reader->at == '.') {
        reader->at++;
        if (!digit_next(reader))
            return false;
        for (full = false; digit_next(reader); reader->at++) {
            full = full || !append_digit(reader, &digits);
            exponent -= !full;
        }
    }
    if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
        reader->at++;
        if (!take_exponent(reader, &exponent))
            return false;
    }
    return combine(reader, negative, digits, exponent, out);
}

/* ---- the way to the array ---- */

/* Steps over one value; false at the end of the text. */
static bool skip_value(struct reader *reader) {
    size_t depth = 0;
    skip_space(reader);
    while (reader->at < reader->end) {
        char character = *reader->at;
        if (depth == 0 && (character == ',' || character == '}' || character == ']'))
            return true;
        reader->at++;
        if (character == '{' || character == '[')
            depth++;
        else if (character == '}' || character == ']')
            depth--;
        for (bool quoted = character == '"'; quoted && reader->at < reader->end; reader->at++) {
            quoted = *reader->at != '"';
            reader->at += *reader->at == '\\' && reader->at + 1 < reader->end;
        }
    }
    return false;
}

/* Goes into the object that comes next, to the value of the field. */
static bool enter_field(struct reader *reader, const char *field) {
    struct view name;
    if (!take(reader, '{'))
        return false;
    do {
        if (!take_string(reader, &name) || !take(reader, ':'))
            return false;
        if (view_equals_c(name, field))
            return true;
    } while (skip_value(reader) && take(reader, ','));
    return false;
}

static enum status read_pieces(struct reader *reader, struct vocabulary *vocabulary,
                               struct unigram *unigram, struct error *err) {
    enum status status = STATUS_OK;
    if (take(reader, ']'))
        return status;
    do {
        struct view piece;
        double score;
        bool right = take(reader, '[') && take_string(reader, &piece);
        /* The piece may live in the reader's one buffer; nothing below is a string. */
        right = right && take(reader, ',') && take_number(reader, &score) && take(reader, ']');
        if (!right)
            return error_set(err, STATUS_BAD_FILE,
                             "model.vocab: entry %u is not a piece with its score", unigram->count);
        status = vocabulary_append(vocabulary, piece, err);
        if (status != STATUS_OK) {
            error_prefix(err, "model.vocab");
            return status;
        }
        status = unigram_add_score(unigram, score);
    } while (status == STATUS_OK && take(reader, ','));
    if (status != STATUS_OK || take(reader, ']'))
        return status;
    return error_set(err, STATUS_BAD_FILE, "model.vocab: the array does not end behind entry %u",
                     unigram->count);
}

static enum status cut(struct view document, size_t start, size_t end, char **rest,
                       size_t *rest_bytes) {
    size_t bytes = start + 2 + document.bytes - end;
    char *data = malloc(bytes);
    if (data == NULL)
        return STATUS_NO_MEMORY;
    memcpy(data, document.data, start);
    memcpy(data + start, "[]", 2);
    memcpy(data + start + 2, document.data + end, document.bytes - end);
    *rest = data;
    *rest_bytes = bytes;
    return STATUS_OK;
}

enum status unigram_json_take(struct view document, struct vocabulary *vocabulary,
                              struct unigram *unigram, char **rest, size_t *rest_bytes,
                              struct error *err) {
    *rest = NULL;
    *rest_bytes = 0;
    struct reader *reader = malloc(sizeof *reader);
    if (reader == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no memory to read the vocabulary");
    reader->at = document.data;
    reader->end = document.data + document.bytes;
    enum status status = STATUS_OK;
    if (enter_field(reader, "model") && enter_field(reader, "vocab")) {
        size_t start = (size_t)(reader->at - document.data);
        if (take(reader, '[')) {
            for (int i = 0; i < POWERS; i++) {
                char text[8];
                snprintf(text, sizeof text, "1e%d", i);
                reader->powers[i] = strtod(text, NULL);
            }
            status = read_pieces(reader, vocabulary, unigram, err);
            if (status == STATUS_OK)
                status =
                    cut(document, start, (size_t)(reader->at - document.data), rest, rest_bytes);
            if (status == STATUS_NO_MEMORY)
                error_set(err, status, "no memory to read the vocabulary");
        }
    }
    free(reader);
    return status;
}
