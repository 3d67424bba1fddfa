/* json_write.c: the writer of answers. See json_write.h. */
#include "server/json_write.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { JSON_FIRST_CAPACITY = 512, FLOAT_DIGITS_MAX = 9, POWERS_COUNT = 23 };

void json_init(struct json_writer *json, size_t bytes_max) {
    *json = (struct json_writer){.bytes_max = bytes_max};
}

void json_free(struct json_writer *json) {
    free(json->data);
    json_init(json, json->bytes_max);
}

void json_reset(struct json_writer *json) {
    json->bytes = 0;
    json->failed = false;
    json->needs_comma = false;
}

/* Room for `bytes` more, or NULL after marking the failure. */
static char *reserve(struct json_writer *json, size_t bytes) {
    if (json->failed)
        return NULL;
    if (bytes <= json->capacity - json->bytes)
        return json->data + json->bytes;
    if (bytes > json->bytes_max - json->bytes) {
        json->failed = true;
        return NULL;
    }
    size_t capacity = json->capacity ? json->capacity : JSON_FIRST_CAPACITY;
    while (capacity < json->bytes + bytes)
        capacity = capacity > json->bytes_max / 2 ? json->bytes_max : capacity * 2;
    char *data = realloc(json->data, capacity);
    if (!data) {
        json->failed = true;
        return NULL;
    }
    json->data = data;
    json->capacity = capacity;
    return data + json->bytes;
}

void json_raw(struct json_writer *json, struct view bytes) {
    char *out = bytes.bytes ? reserve(json, bytes.bytes) : NULL;
    if (!out)
        return;
    memcpy(out, bytes.data, bytes.bytes);
    json->bytes += bytes.bytes;
}

static void put_char(struct json_writer *json, char c) {
    json_raw(json, (struct view){&c, 1});
}

static void begin_value(struct json_writer *json) {
    if (json->needs_comma)
        put_char(json, ',');
    json->needs_comma = true;
}

void json_open(struct json_writer *json, char bracket) {
    begin_value(json);
    put_char(json, bracket);
    json->needs_comma = false;
}

void json_close(struct json_writer *json, char bracket) {
    put_char(json, bracket);
    json->needs_comma = true;
}

void json_key(struct json_writer *json, const char *key) {
    begin_value(json);
    put_char(json, '"');
    json_raw(json, view_of(key));
    json_raw(json, (struct view){"\":", 2});
    json->needs_comma = false;
}

void json_value(struct json_writer *json, struct view value) {
    begin_value(json);
    json_raw(json, value);
}

static bool is_plain(unsigned char c) {
    return c >= 0x20 && c != '"' && c != '\\' && c != 0x7F;
}

static void put_escape(struct json_writer *json, unsigned char c) {
    static const char hex[] = "0123456789abcdef", letters[] = "btn.fr"; /* from U+0008 */
    char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    size_t bytes = 6;
    if (c == '"' || c == '\\') {
        escape[1] = (char)c;
        bytes = 2;
    } else if (c >= 8 && c <= 13 && c != 11) {
        escape[1] = letters[c - 8];
        bytes = 2;
    }
    json_raw(json, (struct view){escape, bytes});
}

void json_write_string(struct json_writer *json, struct view text) {
    begin_value(json);
    put_char(json, '"');
    for (size_t start = 0; start < text.bytes;) {
        size_t end = start;
        while (end < text.bytes && is_plain((unsigned char)text.data[end]))
            end++;
        json_raw(json, (struct view){text.data + start, end - start});
        if (end < text.bytes)
            put_escape(json, (unsigned char)text.data[end++]);
        start = end;
    }
    put_char(json, '"');
}

void json_text(struct json_writer *json, const char *text) {
    json_write_string(json, view_of(text));
}

void json_count(struct json_writer *json, uint64_t value) {
    char number[JSON_NUMBER_BYTES];
    int n = snprintf(number, sizeof number, "%" PRIu64, value);
    json_value(json, (struct view){number, (size_t)n});
}

void json_write_integer(struct json_writer *json, int64_t value) {
    char number[JSON_NUMBER_BYTES];
    int n = snprintf(number, sizeof number, "%" PRId64, value);
    json_value(json, (struct view){number, (size_t)n});
}

void json_bool(struct json_writer *json, bool value) {
    json_value(json, view_of(value ? "true" : "false"));
}

void json_write_null(struct json_writer *json) {
    json_value(json, view_of("null"));
}

void json_double(struct json_writer *json, double value) {
    char number[JSON_NUMBER_BYTES];
    if (!isfinite(value)) {
        json->failed = true;
        return;
    }
    int n = snprintf(number, sizeof number, "%.6g", value);
    json_value(json, (struct view){number, (size_t)n});
}

void json_float(struct json_writer *json, float value) {
    char number[JSON_NUMBER_BYTES];
    if (!isfinite(value)) {
        json->failed = true;
        return;
    }
    size_t n = json_format_float(value, number);
    json_value(json, (struct view){number, n});
}

/* `digits` * 10^`exponent`; what a float32 is printed as. */
struct decimal {
    uint64_t digits;
    int exponent;
};

/* Powers of ten that a double holds exactly. */
static const double powers[POWERS_COUNT] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Any two decimals of six digits are different floats. So, if fewer digits do, they are those of
 * the nearest six-digit decimal without its zeros, and the search can start at six. Each try is
 * one rounding to digits and one back, since the powers are exact. False: the value is outside
 * their range, or a way back ended on the border between two floats, where a double cannot say. */
static bool find_fast(float value, struct decimal *out) {
    if (value < 1e-12f || value > 1e12f)
        return false;
    int exponent = (int)floor(log10((double)value)); /* of the leading digit */
    for (int count = FLT_DIG; count <= FLOAT_DIGITS_MAX; count++) {
        int scale = count - 1 - exponent;
        double power = powers[scale >= 0 ? scale : -scale];
        double digits = nearbyint(scale >= 0 ? (double)value * power : (double)value / power);
        double back = scale >= 0 ? digits / power : digits * power;
        uint64_t bits;
        memcpy(&bits, &back, sizeof bits);
        if ((bits & 0x1FFFFFFF) == 0x10000000)
            return false;
        if ((float)back == value) {
            *out = (struct decimal){(uint64_t)digits, -scale};
            return true;
        }
    }
    return false;
}

static void find_slowly(float value, struct decimal *out) {
    char text[JSON_NUMBER_BYTES];
    for (int count = 1; count <= FLOAT_DIGITS_MAX; count++) {
        snprintf(text, sizeof text, "%.*e", count - 1, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    *out = (struct decimal){(uint64_t)(text[0] - '0'), 0};
    const char *c = text + 1;
    if (*c == '.')
        for (c++; *c != 'e'; c++, out->exponent--)
            out->digits = out->digits * 10 + (uint64_t)(*c - '0');
    out->exponent += (int)strtol(c + 1, NULL, 10);
}

size_t json_format_float(float value, char out[JSON_NUMBER_BYTES]) {
    struct decimal decimal;
    const char *sign = signbit(value) ? "-" : "";
    float magnitude = fabsf(value);
    if (magnitude == 0.0f)
        return (size_t)snprintf(out, JSON_NUMBER_BYTES, "%s0", sign);
    if (!find_fast(magnitude, &decimal))
        find_slowly(magnitude, &decimal);
    while (decimal.digits % 10 == 0) {
        decimal.digits /= 10;
        decimal.exponent++;
    }
    char digits[JSON_NUMBER_BYTES / 2];
    int count = snprintf(digits, sizeof digits, "%" PRIu64, decimal.digits);
    int point = count + decimal.exponent; /* digits before the decimal point */
    int n;
    if (point > 0 && point <= 16 && decimal.exponent >= 0)
        n = snprintf(out, JSON_NUMBER_BYTES, "%s%s%.*s", sign, digits, decimal.exponent,
                     "0000000000000000");
    else if (point > 0 && point < count)
        n = snprintf(out, JSON_NUMBER_BYTES, "%s%.*s.%s", sign, point, digits, digits + point);
    else if (point <= 0 && point > -6)
        n = snprintf(out, JSON_NUMBER_BYTES, "%s0.%.*s%s", sign, -point, "000000", digits);
    else if (count == 1)
        n = snprintf(out, JSON_NUMBER_BYTES, "%s%se%d", sign, digits, point - 1);
    else
        n = snprintf(out, JSON_NUMBER_BYTES, "%s%c.%se%d", sign, digits[0], digits + 1, point - 1);
    return (size_t)n;
}
