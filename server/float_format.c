/* float_format.c: shortest decimals by trial, in double arithmetic.
 *
 * For n = 1, 2, … the n-digit decimal nearest to the value is tried: it reads back to the value
 * exactly when it lies strictly between the midpoints to both neighbours. A midpoint has 25 bits,
 * so it is a double without rounding; digits / 10^k is one correctly rounded division as long as
 * 10^k is a double without rounding (k <= 22). Rounding is monotone, so a quotient that is above
 * the midpoint comes from a decimal above it. Quotients that equal a midpoint, and values too large
 * or small for this, are left to strtof(). Nine digits always do (IEEE 754, float32). */
#include "server/float_format.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 9, POWER_MAX = 22 };

static const double powers[POWER_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* digits * 10^-scale, the digits without zeros at the end. */
struct decimal {
    uint32_t digits;
    int scale;
};

static void decimal_trim(struct decimal *decimal) {
    while (decimal->digits != 0 && decimal->digits % 10 == 0) {
        decimal->digits /= 10;
        decimal->scale--;
    }
}

/* The exponent e with 10^e <= value < 10^(e + 1), for values the table covers. */
static int decimal_exponent(double value) {
    int exponent = (int)floor(log10(value));
    /* log10 may be off by one at the borders; the table is exact. */
    while (exponent >= 0 ? value >= powers[exponent + 1] : value * powers[-exponent] >= 10.0)
        exponent++;
    while (exponent >= 0 ? value < powers[exponent] : value * powers[-exponent] < 1.0)
        exponent--;
    return exponent;
}

static bool find_fast(float value, struct decimal *out) {
    double exact = (double)value;
    if (exact < 1e-12 || exact >= 1e15)
        return false;
    double low = (exact + (double)nextafterf(value, 0.0f)) / 2;
    double high = (exact + (double)nextafterf(value, INFINITY)) / 2;
    int exponent = decimal_exponent(exact);
    for (int n = 1; n <= DIGITS_MAX; n++) {
        int scale = n - 1 - exponent;
        double digits = scale >= 0 ? rint(exact * powers[scale]) : rint(exact / powers[-scale]);
        double back = scale >= 0 ? digits / powers[scale] : digits * powers[-scale];
        if (back == low || back == high)
            return false;
        if (back > low && back < high) {
            *out = (struct decimal){(uint32_t)digits, scale};
            return true;
        }
    }
    return false;
}

static void find_slow(float value, struct decimal *out) {
    char text[32];
    for (int n = 1; n <= DIGITS_MAX; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    uint32_t digits = 0;
    int scale = 0;
    const char *c = text;
    for (bool fraction = false; *c && *c != 'e'; c++) {
        if (*c == '.') {
            fraction = true;
            continue;
        }
        digits = digits * 10 + (uint32_t)(*c - '0');
        scale += fraction;
    }
    *out = (struct decimal){digits, scale - (int)strtol(c + 1, NULL, 10)};
}

static size_t decimal_write(char *out, struct decimal decimal) {
    char digits[16];
    int count = snprintf(digits, sizeof digits, "%u", decimal.digits);
    int exponent = count - 1 - decimal.scale; /* of the first digit */
    char *at = out;
    if (exponent < -4 || exponent >= 16) {
        *at++ = digits[0];
        if (count > 1) {
            *at++ = '.';
            memcpy(at, digits + 1, (size_t)count - 1);
            at += count - 1;
        }
        return (size_t)(at - out) +
               (size_t)snprintf(at, 6, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    }
    if (exponent < 0) {
        memcpy(at, "0.000", 5);
        at += 1 - exponent; /* "0." and -exponent - 1 zeros */
        memcpy(at, digits, (size_t)count);
        at += count;
    } else {
        int whole = exponent + 1;
        for (int i = 0; i < whole; i++)
            *at++ = i < count ? digits[i] : '0';
        *at++ = '.';
        if (count > whole) {
            memcpy(at, digits + whole, (size_t)(count - whole));
            at += count - whole;
        } else {
            *at++ = '0';
        }
    }
    *at = '\0';
    return (size_t)(at - out);
}

size_t float_format(char out[FLOAT_FORMAT_BYTES], float value) {
    size_t sign = 0;
    if (signbit(value)) {
        out[0] = '-';
        sign = 1;
        value = -value;
    }
    if (value == 0.0f) {
        memcpy(out + sign, "0.0", 4);
        return sign + 3;
    }
    struct decimal decimal;
    if (!find_fast(value, &decimal))
        find_slow(value, &decimal);
    decimal_trim(&decimal);
    return sign + decimal_write(out + sign, decimal);
}
