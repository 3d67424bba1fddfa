/* api_error.h: what can be wrong with an exchange, as HTTP status and code (api.md §5), and the
 * JSON that says so. */
#ifndef BERTD_API_ERROR_H
#define BERTD_API_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/limits.h"
#include "engine/base/status.h"
#include "server/json_write.h"

/* name, HTTP status, code, type */
#define API_CODE_TABLE(X)                                                                          \
    X(INVALID_JSON, 400, "invalid_json", "invalid_request_error")                                  \
    X(INVALID_UTF8, 400, "invalid_utf8", "invalid_request_error")                                  \
    X(UNKNOWN_FIELD, 400, "unknown_field", "invalid_request_error")                                \
    X(MISSING_FIELD, 400, "missing_field", "invalid_request_error")                                \
    X(INVALID_TYPE, 400, "invalid_type", "invalid_request_error")                                  \
    X(INVALID_VALUE, 400, "invalid_value", "invalid_request_error")                                \
    X(WRONG_TASK, 400, "wrong_task", "invalid_request_error")                                      \
    X(EMPTY_INPUT, 400, "empty_input", "invalid_request_error")                                    \
    X(INVALID_FRAMING, 400, "invalid_framing", "invalid_request_error")                            \
    X(NOT_FOUND, 404, "not_found", "invalid_request_error")                                        \
    X(MODEL_NOT_FOUND, 404, "model_not_found", "invalid_request_error")                            \
    X(METHOD_NOT_ALLOWED, 405, "method_not_allowed", "invalid_request_error")                      \
    X(REQUEST_TIMEOUT, 408, "request_timeout", "invalid_request_error")                            \
    X(LENGTH_REQUIRED, 411, "length_required", "invalid_request_error")                            \
    X(BODY_TOO_LARGE, 413, "body_too_large", "invalid_request_error")                              \
    X(TOO_MANY_INPUTS, 413, "too_many_inputs", "invalid_request_error")                            \
    X(CALL_TOO_LARGE, 413, "call_too_large", "invalid_request_error")                              \
    X(NO_PROMPTS, 413, "no_prompts", "invalid_request_error")                                      \
    X(TARGET_TOO_LONG, 414, "uri_too_long", "invalid_request_error")                               \
    X(UNSUPPORTED_MEDIA_TYPE, 415, "unsupported_media_type", "invalid_request_error")              \
    X(EXPECTATION_FAILED, 417, "expectation_failed", "invalid_request_error")                      \
    X(INPUT_TOO_LONG, 422, "input_too_long", "invalid_request_error")                              \
    X(QUEUE_FULL, 429, "queue_full", "rate_limit_error")                                           \
    X(HEADERS_TOO_LARGE, 431, "headers_too_large", "invalid_request_error")                        \
    X(INTERNAL, 500, "internal", "server_error")                                                   \
    X(NOT_FINITE, 500, "not_finite", "server_error")                                               \
    X(CODING_NOT_IMPLEMENTED, 501, "transfer_coding_not_implemented", "invalid_request_error")     \
    X(LOADING, 503, "loading", "server_error")                                                     \
    X(DRAINING, 503, "draining", "server_error")                                                   \
    X(STAGE_STUCK, 503, "stage_stuck", "server_error")                                             \
    X(DEADLINE_EXCEEDED, 504, "deadline_exceeded", "server_error")                                 \
    X(CLIENT_GONE, 499, "client_gone", "invalid_request_error")

enum api_code {
#define API_CODE_ENUM(name, http_status, code, type) API_##name,
    API_CODE_TABLE(API_CODE_ENUM)
#undef API_CODE_ENUM
        API_CODE_COUNT
};

enum { API_MESSAGE_BYTES = 640, API_PARAM_BYTES = 96 };

struct api_error {
    enum api_code code;
    char param[API_PARAM_BYTES]; /* empty: null */
    char message[API_MESSAGE_BYTES];
};

/* Whose shape an error has, and whose statuses. */
enum api_dialect {
    API_DIALECT_NATIVE, /* {"error":{"message","type","code","param"}} */
    API_DIALECT_TEI     /* text-embeddings-inference: {"error","error_type"} */
};

/* The HTTP status and the word that stand for a code. */
unsigned api_code_http_status(enum api_code code);
unsigned api_error_status(enum api_code code, enum api_dialect dialect);
const char *api_code_name(enum api_code code);

/* Fills `err`; the message is valid UTF-8 whatever the client sent. Returns false. */
bool api_error_set(struct api_error *err, enum api_code code, const char *param, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* The engine's error in the API's words. `many`: the call's input was an array, so that the param
 * is "input[3]" and not "input". Returns false. */
bool api_error_from_engine(struct api_error *err, const struct error *error, bool many);

/* The error in its dialect, with the request id in the message of a 500. */
void api_error_write(const struct api_error *err, enum api_dialect dialect, const char *request_id,
                     struct json_writer *out);

/* Whether it is valid UTF-8. */
bool api_text_is_utf8(const char *text, size_t bytes);

/* Copies `text` with every byte that is not valid UTF-8, and every control character, replaced by
 * '?', cut to the room at a code point border. For what clients sent, in messages and logs. */
void api_text_clean(char *out, size_t room, const char *text, size_t bytes);

#endif
