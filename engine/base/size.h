/* size.h: arithmetic on sizes that come from files and clients. Each function returns false, and
 * leaves the output alone, when the exact result does not fit. */
#ifndef BERTD_BASE_SIZE_H
#define BERTD_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

static inline bool size_multiply(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool size_add(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

#endif
