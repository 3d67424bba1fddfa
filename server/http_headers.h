/* http_headers.h: what the headers of one request say about its framing and its body, and whether
 * that is allowed. libmicrohttpd 0.9.75 takes Content-Length beside chunked, two lengths, unknown
 * codings and a missing Host; here they are refused. Knows nothing of libmicrohttpd. */
#ifndef BERTD_HTTP_HEADERS_H
#define BERTD_HTTP_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/limits.h"
#include "engine/base/view.h"
#include "server/api_error.h"

enum { HEADER_VALUE_BYTES = 128 };

struct http_headers {
    bool http_1_1;       /* false: HTTP/1.0 */
    size_t bytes;        /* request line and headers together */
    size_t target_bytes; /* of path and query */
    bool target_has_nul; /* %00 in it */
    unsigned lengths, codings, hosts, expectations, content_types, content_codings; /* how many */
    bool name_is_bad; /* a header name that is not a token */
    uint64_t length;  /* of Content-Length; UINT64_MAX when it does not fit */
    char coding[HEADER_VALUE_BYTES], expectation[HEADER_VALUE_BYTES];
    char content_type[HEADER_VALUE_BYTES], content_coding[HEADER_VALUE_BYTES];
    char request_id[LIMIT_REQUEST_ID_BYTES + 1]; /* empty: none, or not sane */
    bool has_timeout;
    uint32_t timeout_ms; /* 0: not a whole number above 0 */
};

/* Takes one header of the request into account; call for each. */
void http_headers_add(struct http_headers *headers, struct view name, struct view value);

/* A body follows the headers. */
bool http_headers_body(const struct http_headers *headers);

/* The client waits for "100 Continue" before it sends the body. */
bool http_headers_continue(const struct http_headers *headers);

/* Framing and size. After an error the connection must be closed. Errors: invalid_framing,
 * transfer_coding_not_implemented, headers_too_large. */
bool http_headers_check(const struct http_headers *headers, struct api_error *err);

/* The rest that does not depend on the route. Errors: uri_too_long, expectation_failed,
 * invalid_value. The connection can go on. */
bool http_headers_check_request(const struct http_headers *headers, struct api_error *err);

/* A body of JSON is wanted. Errors: length_required, unsupported_media_type, body_too_large. */
bool http_headers_check_json(const struct http_headers *headers, uint64_t body_bytes_max,
                             struct api_error *err);

#endif
