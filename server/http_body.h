/* http_body.h: a request body while it arrives, under a limit for itself and one for all. */
#ifndef BERTD_HTTP_BODY_H
#define BERTD_HTTP_BODY_H

#include <stdatomic.h>
#include <stdint.h>

#include "server/api_error.h"

struct http_body {
    char *data;
    size_t bytes, capacity;
    uint64_t received; /* bytes seen, kept or not */
};

/* Appends; `total` counts the memory of all bodies. After an error the body holds nothing.
 * Errors: body_too_large, queue_full (all bodies together), internal. */
bool http_body_append(struct http_body *body, const char *data, size_t bytes, uint64_t bytes_max,
                      _Atomic uint64_t *total, uint64_t total_max, struct api_error *err);
void http_body_free(struct http_body *body, _Atomic uint64_t *total);

#endif
