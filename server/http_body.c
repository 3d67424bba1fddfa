/* http_body.c: grows with what has come, never with what was announced. */
#include "server/http_body.h"

#include <stdlib.h>
#include <string.h>

enum { BODY_BYTES_MIN = 4096 };

void http_body_free(struct http_body *body, _Atomic uint64_t *total) {
    free(body->data);
    atomic_fetch_sub(total, body->capacity);
    body->data = NULL;
    body->bytes = body->capacity = 0;
}

/* Takes `bytes` from what all bodies may have together. */
static bool take(_Atomic uint64_t *total, uint64_t bytes, uint64_t total_max) {
    uint64_t before = atomic_fetch_add(total, bytes);
    if (before + bytes <= total_max)
        return true;
    atomic_fetch_sub(total, bytes);
    return false;
}

bool http_body_append(struct http_body *body, const char *data, size_t bytes, uint64_t bytes_max,
                      _Atomic uint64_t *total, uint64_t total_max, struct api_error *err) {
    body->received += bytes;
    if (bytes > bytes_max - body->bytes) {
        http_body_free(body, total);
        return api_error_set(err, API_BODY_TOO_LARGE, NULL, "the body is too large; allowed: %llu",
                             (unsigned long long)bytes_max);
    }
    size_t need = body->bytes + bytes;
    if (need > body->capacity) {
        size_t capacity = body->capacity * 2 > need ? body->capacity * 2 : need;
        if (capacity < BODY_BYTES_MIN)
            capacity = BODY_BYTES_MIN;
        if (!take(total, capacity - body->capacity, total_max)) {
            http_body_free(body, total);
            return api_error_set(err, API_QUEUE_FULL, NULL,
                                 "the bodies of all connections hold too much memory");
        }
        char *grown = realloc(body->data, capacity);
        if (!grown) {
            atomic_fetch_sub(total, capacity - body->capacity);
            http_body_free(body, total);
            return api_error_set(err, API_INTERNAL, NULL, "%s", status_meaning(STATUS_NO_MEMORY));
        }
        body->data = grown;
        body->capacity = capacity;
    }
    memcpy(body->data + body->bytes, data, bytes);
    body->bytes = need;
    return true;
}
