/* http_headers.c: rules of RFC 9110 and 9112 that guard against request smuggling, by values. */
#include "server/http_headers.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_token(struct view name) {
    for (size_t i = 0; i < name.bytes; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (!isalnum(c) && !strchr("!#$%&'*+-.^_`|~", c))
            return false;
        if (c == '\0')
            return false;
    }
    return name.bytes > 0;
}

static bool name_is(struct view name, const char *known) {
    return name.bytes == strlen(known) && strncasecmp(name.data, known, name.bytes) == 0;
}

/* The value without blanks around it; one that is too long is kept cut, and matches nothing. */
static void keep(char out[HEADER_VALUE_BYTES], struct view value) {
    while (value.bytes > 0 && (value.data[0] == ' ' || value.data[0] == '\t')) {
        value.data++;
        value.bytes--;
    }
    while (value.bytes > 0 && strchr(" \t", value.data[value.bytes - 1]))
        value.bytes--;
    api_text_clean(out, HEADER_VALUE_BYTES, value.data, value.bytes);
}

/* Digits only; UINT64_MAX when they do not fit; false when something else is there. */
static bool read_digits(struct view value, uint64_t *out) {
    uint64_t number = 0;
    for (size_t i = 0; i < value.bytes; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return false;
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(value.data[i] - '0'), &number))
            number = UINT64_MAX;
    }
    *out = number;
    return value.bytes > 0;
}

/* Visible ASCII without quotes and backslash: safe in a header, a log line and JSON. */
static void keep_request_id(struct http_headers *headers, struct view value) {
    headers->request_id[0] = '\0';
    if (value.bytes == 0 || value.bytes > LIMIT_REQUEST_ID_BYTES)
        return;
    for (size_t i = 0; i < value.bytes; i++)
        if (value.data[i] <= ' ' || value.data[i] > '~' || strchr("\"\\'<>", value.data[i]))
            return;
    memcpy(headers->request_id, value.data, value.bytes);
    headers->request_id[value.bytes] = '\0';
}

struct http_target http_target_of(const char *target) {
    struct http_target out = {.start = target, .bytes = target ? strlen(target) : 0};
    const size_t path_bytes = target ? strcspn(target, "?") : 0;
    for (size_t i = 0; i + 2 < out.bytes; i++) {
        if (target[i] != '%')
            continue;
        out.has_nul |= target[i + 1] == '0' && target[i + 2] == '0';
        out.has_slash |= i < path_bytes && target[i + 1] == '2' && (target[i + 2] | 0x20) == 'f';
    }
    return out;
}

/* A part starts at `start`, `gap_max` bytes at most behind the one before it. */
static void follow(struct http_headers *headers, const char *start, size_t gap_max) {
    const uintptr_t end = (uintptr_t)headers->parts_end, next = (uintptr_t)start;
    if (headers->parts_end && (next <= end || next - end > gap_max))
        headers->parts_differ = true;
}

void http_headers_begin(struct http_headers *headers, const char *method, const char *version) {
    enum { GAP = 1 }; /* one blank */
    headers->http_1_1 = strcmp(version, "HTTP/1.0") != 0;
    headers->parts_end = method + strlen(method);
    follow(headers, headers->target.start, GAP);
    headers->parts_end = headers->target.start + headers->target.bytes;
    follow(headers, version, GAP);
    headers->parts_end = version + strlen(version);
}

void http_headers_end(struct http_headers *headers, const char *method, size_t bytes) {
    enum { GAP = 4 }; /* the last line's end, and an empty line */
    follow(headers, method + bytes, GAP);
    headers->bytes = bytes;
}

void http_headers_add(struct http_headers *headers, struct view name, struct view value) {
    enum { GAP = 2 }; /* the line's end */
    follow(headers, name.data, GAP);
    if (headers->parts_end)
        headers->parts_end = value.data + value.bytes;
    if (!is_token(name)) {
        headers->name_is_bad = true;
    } else if (name_is(name, "Content-Length")) {
        headers->lengths++;
        if (!read_digits(value, &headers->length))
            headers->lengths++; /* as bad as two of them */
    } else if (name_is(name, "Transfer-Encoding")) {
        headers->codings++;
        /* As it stands: libmicrohttpd takes "chunked " for a body that ends with the connection. */
        api_text_clean(headers->coding, HEADER_VALUE_BYTES, value.data, value.bytes);
    } else if (name_is(name, "Host")) {
        headers->hosts++;
    } else if (name_is(name, "Expect")) {
        headers->expectations++;
        keep(headers->expectation, value);
    } else if (name_is(name, "Content-Type")) {
        headers->content_types++;
        keep(headers->content_type, value);
    } else if (name_is(name, "Content-Encoding")) {
        headers->content_codings++;
        keep(headers->content_coding, value);
    } else if (name_is(name, "X-Request-Id")) {
        keep_request_id(headers, value);
    } else if (name_is(name, "X-Request-Timeout-Ms")) {
        uint64_t ms = 0;
        headers->has_timeout = true;
        if (!read_digits(value, &ms))
            ms = 0;
        headers->timeout_ms = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
    }
}

bool http_headers_body(const struct http_headers *headers) {
    return headers->codings > 0 || headers->length > 0;
}

bool http_headers_continue(const struct http_headers *headers) {
    return headers->expectations > 0 && headers->http_1_1 && http_headers_body(headers);
}

bool http_headers_check(const struct http_headers *headers, struct api_error *err) {
    if (headers->name_is_bad)
        return api_error_set(err, API_INVALID_FRAMING, NULL,
                             "a header name has characters that no name may have");
    if (headers->parts_differ)
        return api_error_set(err, API_INVALID_FRAMING, NULL,
                             "the request line or a header has a NUL, a blank too many, or is "
                             "folded");
    if (headers->codings > 0 && headers->lengths > 0)
        return api_error_set(err, API_INVALID_FRAMING, NULL,
                             "Content-Length and Transfer-Encoding exclude each other");
    if (headers->lengths > 1)
        return api_error_set(err, API_INVALID_FRAMING, NULL,
                             "there must be one Content-Length, a whole number");
    if (headers->codings > 0 && !headers->http_1_1)
        return api_error_set(err, API_INVALID_FRAMING, NULL, "HTTP/1.0 has no Transfer-Encoding");
    if (headers->codings > 1 ||
        (headers->codings == 1 && strcasecmp(headers->coding, "chunked") != 0))
        return api_error_set(err, API_CODING_NOT_IMPLEMENTED, NULL,
                             "Transfer-Encoding is '%s'; allowed: chunked", headers->coding);
    if (headers->hosts > 1 || (headers->hosts == 0 && headers->http_1_1))
        return api_error_set(err, API_INVALID_FRAMING, NULL, "there must be one Host header");
    if (headers->bytes > LIMIT_HEADER_BYTES)
        return api_error_set(err, API_HEADERS_TOO_LARGE, NULL,
                             "the headers have %zu bytes; allowed: %u", headers->bytes,
                             LIMIT_HEADER_BYTES);
    return true;
}

bool http_headers_check_request(const struct http_headers *headers, struct api_error *err) {
    if (headers->target.bytes > LIMIT_TARGET_BYTES)
        return api_error_set(err, API_TARGET_TOO_LONG, NULL,
                             "path and query have %zu bytes; allowed: %u", headers->target.bytes,
                             LIMIT_TARGET_BYTES);
    if (headers->target.has_slash)
        return api_error_set(err, API_NOT_FOUND, NULL, "there is no route with %%2F in its path");
    if (headers->target.has_nul)
        return api_error_set(err, API_INVALID_VALUE, NULL, "the path has a NUL");
    if (headers->expectations > 1 ||
        (headers->expectations == 1 && strcasecmp(headers->expectation, "100-continue") != 0))
        return api_error_set(err, API_EXPECTATION_FAILED, NULL,
                             "Expect is '%s'; allowed: 100-continue", headers->expectation);
    if (headers->has_timeout && headers->timeout_ms == 0)
        return api_error_set(err, API_INVALID_VALUE, NULL,
                             "X-Request-Timeout-Ms must be a whole number above 0");
    return true;
}

/* JSON is UTF-8; other parameters say nothing about the bytes. */
static bool is_utf8_charset(const char *type) {
    static const char name[] = "charset=";
    for (const char *at = strchr(type, ';'); at; at = strchr(at, ';')) {
        at += 1 + strspn(at + 1, " \t");
        if (strncasecmp(at, name, strlen(name)) != 0)
            continue;
        at += strlen(name);
        at += *at == '"';
        const size_t bytes = strcspn(at, "\"; \t");
        if (!(bytes == 5 && strncasecmp(at, "utf-8", bytes) == 0) &&
            !(bytes == 4 && strncasecmp(at, "utf8", bytes) == 0))
            return false;
    }
    return true;
}

/* curl -d sends the form type by itself; it is read as JSON. */
static bool is_json_type(const char *type) {
    size_t bytes = strcspn(type, "; \t");
    static const char *const allowed[] = {"application/json", "application/x-www-form-urlencoded"};
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        if (bytes == strlen(allowed[i]) && strncasecmp(type, allowed[i], bytes) == 0)
            return true;
    return bytes == 0;
}

bool http_headers_check_json(const struct http_headers *headers, uint64_t body_bytes_max,
                             struct api_error *err) {
    if (headers->lengths == 0 && headers->codings == 0)
        return api_error_set(err, API_LENGTH_REQUIRED, NULL,
                             "a body needs Content-Length or Transfer-Encoding: chunked");
    if (headers->content_codings > 0 && strcasecmp(headers->content_coding, "identity") != 0)
        return api_error_set(err, API_UNSUPPORTED_MEDIA_TYPE, NULL,
                             "Content-Encoding is '%s'; allowed: identity",
                             headers->content_coding);
    if (headers->content_types > 1 || !is_json_type(headers->content_type))
        return api_error_set(err, API_UNSUPPORTED_MEDIA_TYPE, NULL,
                             "Content-Type is '%s'; allowed: application/json",
                             headers->content_type);
    if (!is_utf8_charset(headers->content_type))
        return api_error_set(err, API_UNSUPPORTED_MEDIA_TYPE, NULL,
                             "Content-Type is '%s'; allowed: application/json with charset=utf-8",
                             headers->content_type);
    if (headers->length > body_bytes_max)
        return api_error_set(
            err, API_BODY_TOO_LARGE, NULL, "the body has %llu bytes; allowed: %llu",
            (unsigned long long)headers->length, (unsigned long long)body_bytes_max);
    return true;
}
