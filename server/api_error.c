/* api_error.c: the table of codes and the error objects of the dialects. */
#include "server/api_error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct {
    unsigned http_status;
    const char *code, *type;
} table[API_CODE_COUNT] = {
#define API_CODE_ROW(name, http_status, code, type) {http_status, code, type},
    API_CODE_TABLE(API_CODE_ROW)
#undef API_CODE_ROW
};

unsigned api_code_http_status(enum api_code code) {
    return table[code].http_status;
}

const char *api_code_name(enum api_code code) {
    return table[code].code;
}

/* Bytes of the valid UTF-8 sequence at `at` (`left` bytes are there), or 0. */
static size_t sequence_bytes(const unsigned char *at, size_t left) {
    unsigned char c = at[0];
    size_t bytes = c < 0x80                ? 1
                   : c >= 0xC2 && c < 0xE0 ? 2
                   : (c & 0xF0) == 0xE0    ? 3
                   : c >= 0xF0 && c < 0xF5 ? 4
                                           : 0;
    if (bytes == 0 || bytes > left)
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    if ((c == 0xE0 && at[1] < 0xA0) || (c == 0xED && at[1] > 0x9F) || (c == 0xF0 && at[1] < 0x90) ||
        (c == 0xF4 && at[1] > 0x8F))
        return 0;
    return bytes;
}

void api_text_clean(char *out, size_t room, const char *text, size_t bytes) {
    const unsigned char *in = (const unsigned char *)text;
    size_t n = 0;
    for (size_t i = 0; i < bytes;) {
        size_t step = sequence_bytes(in + i, bytes - i);
        bool plain = step > 1 || (step == 1 && in[i] >= 0x20 && in[i] != 0x7f);
        size_t write = plain ? step : 1;
        if (n + write + 1 > room)
            break;
        if (plain)
            memcpy(out + n, in + i, step);
        else
            out[n] = '?';
        n += write;
        i += step > 0 ? step : 1;
    }
    out[n] = '\0';
}

bool api_text_is_utf8(const char *text, size_t bytes) {
    for (size_t i = 0, step; i < bytes; i += step) {
        step = sequence_bytes((const unsigned char *)text + i, bytes - i);
        if (step == 0)
            return false;
    }
    return true;
}

bool api_error_set(struct api_error *err, enum api_code code, const char *param, const char *format,
                   ...) {
    char message[2 * API_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    err->code = code;
    api_text_clean(err->message, sizeof err->message, message, strlen(message));
    api_text_clean(err->param, sizeof err->param, param ? param : "", param ? strlen(param) : 0);
    return false;
}

static enum api_code code_of(enum status status) {
    switch (status) {
    case STATUS_INVALID_VALUE:
        return API_INVALID_VALUE;
    case STATUS_INVALID_UTF8:
        return API_INVALID_UTF8;
    case STATUS_INPUT_TOO_LONG:
        return API_INPUT_TOO_LONG;
    case STATUS_CALL_TOO_LARGE:
        return API_CALL_TOO_LARGE;
    case STATUS_QUEUE_FULL:
        return API_QUEUE_FULL;
    case STATUS_DRAINING:
        return API_DRAINING;
    case STATUS_STAGE_STUCK:
        return API_STAGE_STUCK;
    case STATUS_DEADLINE:
        return API_DEADLINE_EXCEEDED;
    case STATUS_CANCELLED:
        return API_CLIENT_GONE;
    case STATUS_NOT_FINITE:
        return API_NOT_FINITE;
    default:
        return API_INTERNAL;
    }
}

bool api_error_from_engine(struct api_error *err, const struct error *error, bool many) {
    char param[32] = "";
    if (error->input >= 0 && many)
        snprintf(param, sizeof param, "input[%d]", error->input);
    else if (error->input >= 0)
        snprintf(param, sizeof param, "input");
    const char *message = error->message[0] ? error->message : status_meaning(error->status);
    return api_error_set(err, code_of(error->status), param, "%s", message);
}

unsigned api_error_status(enum api_code code, enum api_dialect dialect) {
    /* That server's JSON reader answers what does not have the right fields so. */
    bool is_field = code == API_MISSING_FIELD || code == API_INVALID_TYPE ||
                    code == API_INVALID_VALUE || code == API_UNKNOWN_FIELD;
    return dialect == API_DIALECT_TEI && is_field ? 422 : api_code_http_status(code);
}

/* The words of text-embeddings-inference, by the statuses that it gives them. */
static const char *tei_type(enum api_code code) {
    if (code == API_EMPTY_INPUT)
        return "Empty";
    switch (api_code_http_status(code)) {
    case 422:
        return "Tokenizer";
    case 429:
        return "Overloaded";
    case 503:
        return "Unhealthy";
    case 500:
    case 504:
        return "Backend";
    default:
        return "Validation";
    }
}

static void write_tei(const struct api_error *err, const char *message, struct json_writer *out) {
    json_put_begin_object(out);
    json_put_key(out, "error");
    json_put_string(out, message);
    json_put_key(out, "error_type");
    json_put_string(out, tei_type(err->code));
    json_put_end_object(out);
}

static void write_native(const struct api_error *err, const char *message,
                         struct json_writer *out) {
    json_put_begin_object(out);
    json_put_key(out, "error");
    json_put_begin_object(out);
    json_put_key(out, "message");
    json_put_string(out, message);
    json_put_key(out, "type");
    json_put_string(out, table[err->code].type);
    json_put_key(out, "code");
    json_put_string(out, table[err->code].code);
    json_put_key(out, "param");
    if (err->param[0])
        json_put_string(out, err->param);
    else
        json_put_null(out);
    json_put_end_object(out);
    json_put_end_object(out);
}

void api_error_write(const struct api_error *err, enum api_dialect dialect, const char *request_id,
                     struct json_writer *out) {
    char message[API_MESSAGE_BYTES + LIMIT_REQUEST_ID_BYTES + 32];
    bool named = table[err->code].http_status == 500;
    snprintf(message, sizeof message, "%s%s%s%s", err->message, named ? " (request id " : "",
             named ? request_id : "", named ? ")" : "");
    if (dialect == API_DIALECT_TEI)
        write_tei(err, message, out);
    else
        write_native(err, message, out);
}
