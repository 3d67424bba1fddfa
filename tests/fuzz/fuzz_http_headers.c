/* fuzz_http_headers.c: any bytes as header lines, "Name: value" each. A request that passes has one
 * framing only, and what is echoed or logged of it is printable. */
#include <stdlib.h>
#include <string.h>

#include "server/http_headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_accepted(const struct http_headers *headers) {
    if (headers->lengths + headers->codings > 1 || headers->hosts > 1 || headers->name_is_bad)
        abort();
    for (const char *c = headers->request_id; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '"' || *c == '\\')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct http_headers headers = {.http_1_1 = bytes % 2 == 0, .bytes = bytes};
    struct api_error err;
    const char *at = (const char *)data;
    for (size_t left = bytes; left > 0;) {
        const char *end = memchr(at, '\n', left);
        size_t line = end ? (size_t)(end - at) : left;
        const char *colon = memchr(at, ':', line);
        size_t name = colon ? (size_t)(colon - at) : line;
        size_t skip = colon ? name + 1 : line;
        http_headers_add(&headers, (struct view){at, name}, (struct view){at + skip, line - skip});
        line += end != NULL;
        at += line;
        left -= line;
    }
    if (http_headers_check(&headers, &err) && http_headers_check_request(&headers, &err) &&
        http_headers_check_json(&headers, 1000, &err))
        check_accepted(&headers);
    return 0;
}
