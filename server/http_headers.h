/* http_headers.h: what the headers of one request say about its framing and its body, and whether
 * that is allowed. libmicrohttpd 0.9.75 takes Content-Length beside chunked, two lengths, unknown
 * codings and a missing Host; here they are refused. Knows nothing of libmicrohttpd, but that it
 * parses in place: it ends each part of the request line and of the headers with a NUL in the
 * buffer that they came in, so the parts follow each other there, and where one does not follow
 * the one before it, a NUL was sent that hides the rest of that one (or the line was folded, which
 * RFC 9112 lets a server refuse). */
#ifndef BERTD_HTTP_HEADERS_H
#define BERTD_HTTP_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/limits.h"
#include "engine/base/view.h"
#include "server/api_error.h"

enum { HEADER_VALUE_BYTES = 128 };

/* Path and query as they came, before anything is decoded in their place. */
struct http_target {
    const char *start;
    size_t bytes;
    bool has_nul;   /* %00 in it */
    bool has_slash; /* %2F in its path: no slash of ours, and lost once it is decoded */
};

struct http_headers {
    bool http_1_1; /* false: HTTP/1.0 */
    size_t bytes;  /* request line and headers together */
    struct http_target target;
    const char *parts_end; /* of the part before; NULL: not looked at */
    bool parts_differ;     /* a part does not follow the one before it */
    unsigned lengths, codings, hosts, expectations, content_types, content_codings; /* how many */
    bool name_is_bad; /* a header name that is not a token */
    uint64_t length;  /* of Content-Length; UINT64_MAX when it does not fit */
    char coding[HEADER_VALUE_BYTES], expectation[HEADER_VALUE_BYTES];
    char content_type[HEADER_VALUE_BYTES], content_coding[HEADER_VALUE_BYTES];
    char request_id[LIMIT_REQUEST_ID_BYTES + 1]; /* empty: none, or not sane */
    bool has_timeout;
    uint32_t timeout_ms; /* 0: not a whole number above 0 */
};

/* `target` is the request line's, NULL: there is none. */
struct http_target http_target_of(const char *target);

/* The request line, with headers->target set. */
void http_headers_begin(struct http_headers *headers, const char *method, const char *version);

/* Takes one header of the request into account; call for each. */
void http_headers_add(struct http_headers *headers, struct view name, struct view value);

/* After the last header: `bytes` from the method to the end of the headers. */
void http_headers_end(struct http_headers *headers, const char *method, size_t bytes);

/* A body follows the headers. */
bool http_headers_body(const struct http_headers *headers);

/* The client waits for "100 Continue" before it sends the body. */
bool http_headers_continue(const struct http_headers *headers);

/* Framing and size. After an error the connection must be closed. Errors: invalid_framing,
 * transfer_coding_not_implemented, headers_too_large. */
bool http_headers_check(const struct http_headers *headers, struct api_error *err);

/* The rest that does not depend on the route. Errors: uri_too_long, expectation_failed,
 * invalid_value, not_found. The connection can go on. */
bool http_headers_check_request(const struct http_headers *headers, struct api_error *err);

/* A body of JSON is wanted. Errors: length_required, unsupported_media_type, body_too_large. */
bool http_headers_check_json(const struct http_headers *headers, uint64_t body_bytes_max,
                             struct api_error *err);

#endif
