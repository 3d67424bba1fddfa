/* exchange.c: answers of an exchange. */
#include "server/exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/log.h"
#include "server/state.h"

static const char JSON_TYPE[] = "application/json";

void exchange_answer(struct exchange *exchange) {
    struct answer *answer = &exchange->answer;
    if (json_writer_failed(&answer->body)) {
        exchange_refuse(exchange, API_INTERNAL, "the answer does not fit in memory");
        return;
    }
    answer->http_status = 200;
    answer->code = API_CODE_COUNT;
    answer->content_type = JSON_TYPE;
}

void exchange_fail(struct exchange *exchange, const struct api_error *err) {
    struct answer *answer = &exchange->answer;
    answer->http_status = api_error_status(err->code, exchange->dialect);
    answer->code = err->code;
    answer->content_type = JSON_TYPE;
    if (answer->http_status == 429 || answer->http_status == 503)
        answer->retry_after_s = server_retry_after(exchange->server, err->code);
    if (answer->http_status == 500)
        log_write(LOG_ERROR, "%s (%s %s, request id %s)", err->message, exchange->method_name,
                  exchange->path, exchange->request_id);
    json_writer_free(&answer->body);
    json_writer_init(&answer->body, LIMIT_ANSWER_BYTES);
    api_error_write(err, exchange->dialect, exchange->request_id, &answer->body);
}

void exchange_refuse(struct exchange *exchange, enum api_code code, const char *format, ...) {
    char message[API_MESSAGE_BYTES];
    struct api_error err;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    api_error_set(&err, code, NULL, "%s", message);
    exchange_fail(exchange, &err);
}

void exchange_clear(struct exchange *exchange) {
    if (exchange->answer.render_free)
        exchange->answer.render_free(exchange->answer.render_context);
    if (exchange->task.free)
        exchange->task.free(exchange->task.context);
    exchange->answer.render_free = NULL;
    exchange->task.free = NULL;
    json_writer_free(&exchange->answer.body);
}
