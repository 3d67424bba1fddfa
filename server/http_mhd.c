/* http_mhd.c: the only file that sees libmicrohttpd (0.9.75): from its callbacks to exchanges.
 *
 * It calls on_request() once when the headers are there, for each piece of the body, and once
 * more at the end; an answer that is queued in the first call closes the connection, so answers
 * wait for the last call, and a refused body is read and thrown away first. Connections are
 * suspended while a task has them, and suspended ones never time out by themselves. */
#include "server/http_mhd.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "engine/base/clock.h"
#include "server/http_body.h"
#include "server/http_headers.h"
#include "server/router.h"
#include "server/state.h"

/* An exchange with what only HTTP needs of it. */
struct http_exchange {
    struct exchange exchange; /* first, see exchange_release_body() */
    struct http_body body;
    bool ends_connection; /* the framing cannot be trusted, or the client was not let to send */
    bool counted;         /* in http->busy */
    size_t slice_offset;  /* bytes of answer.body already given to libmicrohttpd */
    bool slices_done;
};

static struct connection *connection_of(struct MHD_Connection *handle) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* --- answers --- */

/* Gives libmicrohttpd the next bytes of an answer in slices. */
static ssize_t read_slice(void *context, uint64_t position, char *out, size_t room) {
    struct http_exchange *http = context;
    struct answer *answer = &http->exchange.answer;
    (void)position;
    if (http->slice_offset == answer->body.bytes) {
        if (http->slices_done)
            return MHD_CONTENT_READER_END_OF_STREAM;
        uint64_t start_ns = clock_now_ns();
        json_writer_flush(&answer->body);
        http->slice_offset = 0;
        http->slices_done = !answer->render(answer->render_context, &answer->body);
        answer->write_ns += clock_now_ns() - start_ns;
        if (json_writer_failed(&answer->body))
            return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t bytes = answer->body.bytes - http->slice_offset;
    if (bytes > room)
        bytes = room;
    memcpy(out, answer->body.data + http->slice_offset, bytes);
    http->slice_offset += bytes;
    http->exchange.answer_bytes += bytes;
    loop_enter(http->exchange.connection, CONNECTION_SENDING); /* progress */
    return (ssize_t)bytes;
}

static struct MHD_Response *make_response(struct http_exchange *http) {
    struct answer *answer = &http->exchange.answer;
    if (answer->render)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, LIMIT_ANSWER_SLICE_BYTES,
                                                 read_slice, http, NULL);
    /* The buffer stays with the exchange, which outlives the sending. */
    http->exchange.answer_bytes = answer->body.bytes;
    return MHD_create_response_from_buffer(answer->body.bytes, answer->body.data,
                                           MHD_RESPMEM_PERSISTENT);
}

static bool add_headers(const struct http_exchange *http, struct MHD_Response *response) {
    const struct exchange *exchange = &http->exchange;
    const struct answer *answer = &exchange->answer;
    char seconds[16];
    snprintf(seconds, sizeof seconds, "%u", answer->retry_after_s);
    bool closes = http->ends_connection || atomic_load(&exchange->server->phase) == PHASE_DRAINING;
    const struct {
        bool wanted;
        const char *name, *value;
    } headers[] = {
        {true, MHD_HTTP_HEADER_CONTENT_TYPE, answer->content_type},
        {true, "X-Request-Id", exchange->request_id},
        {answer->server_timing[0], "Server-Timing", answer->server_timing},
        {answer->retry_after_s > 0, MHD_HTTP_HEADER_RETRY_AFTER, seconds},
        {answer->allow, MHD_HTTP_HEADER_ALLOW, answer->allow},
        {closes, MHD_HTTP_HEADER_CONNECTION, "close"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        if (headers[i].wanted &&
            MHD_add_response_header(response, headers[i].name, headers[i].value) != MHD_YES)
            return false;
    return true;
}

static enum MHD_Result queue_answer(struct http_exchange *http) {
    struct connection *connection = http->exchange.connection;
    enum MHD_Result result = MHD_NO;
    struct MHD_Response *response = make_response(http);
    if (!response)
        return MHD_NO;
    loop_enter(connection, CONNECTION_SENDING);
    if (add_headers(http, response))
        result =
            MHD_queue_response(connection->handle, http->exchange.answer.http_status, response);
    MHD_destroy_response(response);
    return result;
}

/* --- requests --- */

static enum MHD_Result add_header(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_bytes, const char *value, size_t value_bytes) {
    (void)kind;
    http_headers_add(context, (struct view){name, name_bytes},
                     (struct view){value ? value : "", value_bytes});
    return MHD_YES;
}

static enum method method_of(const char *name) {
    return strcmp(name, "POST") == 0   ? METHOD_POST
           : strcmp(name, "GET") == 0  ? METHOD_GET
           : strcmp(name, "HEAD") == 0 ? METHOD_HEAD
                                       : METHOD_OTHER;
}

static struct http_exchange *exchange_new(struct connection *connection, const char *method,
                                          const struct http_headers *headers) {
    struct http_exchange *http = calloc(1, sizeof *http);
    if (!http)
        return NULL;
    struct exchange *exchange = &http->exchange;
    exchange->server = connection->loop->http->server;
    exchange->connection = connection;
    exchange->client = connection->number;
    exchange->started_ns = clock_now_ns();
    exchange->method = method_of(method);
    exchange->cancel_code = exchange->answer.code = API_CODE_COUNT;
    json_writer_init(&exchange->answer.body, LIMIT_ANSWER_BYTES);
    api_text_clean(exchange->method_name, sizeof exchange->method_name, method, strlen(method));
    if (headers->request_id[0]) {
        memcpy(exchange->request_id, headers->request_id, sizeof exchange->request_id);
    } else {
        char id[17];
        server_make_id(exchange->server, id);
        snprintf(exchange->request_id, sizeof exchange->request_id, "req-%s", id);
    }
    return http;
}

/* The first call: the headers are there. */
static enum MHD_Result begin(struct connection *connection, const char *url, const char *method,
                             const char *version, struct http_exchange **out) {
    struct http_headers headers = {.target = connection->target};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection->handle, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    http_headers_begin(&headers, method, version);
    MHD_get_connection_values_n(connection->handle, MHD_HEADER_KIND, add_header, &headers);
    http_headers_end(&headers, method, info ? info->header_size : 0);
    struct http_exchange *http = exchange_new(connection, method, &headers);
    if (!http)
        return MHD_NO;
    *out = http;
    connection->exchange = &http->exchange;
    loop_enter(connection, CONNECTION_BODY);
    router_begin(&http->exchange, url, &headers);
    if (http->exchange.answer.http_status == 0)
        return MHD_YES;
    struct api_error ignored;
    http->ends_connection =
        !http_headers_check(&headers, &ignored) || http_headers_continue(&headers);
    if (http->ends_connection)
        return queue_answer(http);
    if (headers.length > LIMIT_DISCARD_BYTES)
        loop_answer_early(connection);
    return MHD_YES;
}

/* A piece of the body: kept, or thrown away when the exchange is refused already. */
static void take_body(struct http_exchange *http, const char *data, size_t bytes) {
    struct exchange *exchange = &http->exchange;
    struct connection *connection = exchange->connection;
    struct http *pool = connection->loop->http;
    const struct server_options *options = &exchange->server->options;
    struct api_error err;
    if (exchange->answer.http_status != 0 || exchange->method != METHOD_POST) {
        http->body.received += bytes;
    } else if (!http_body_append(&http->body, data, bytes, options->body_bytes_max,
                                 &pool->body_bytes, options->body_memory_bytes_max, &err)) {
        exchange_fail(exchange, &err);
    }
    if (http->body.received > LIMIT_DISCARD_BYTES && exchange->answer.http_status != 0 &&
        !connection->abandoned)
        loop_answer_early(connection);
}

/* The last call: the body is there, or the task is finished. */
static enum MHD_Result end(struct http_exchange *http) {
    struct exchange *exchange = &http->exchange;
    struct connection *connection = exchange->connection;
    if (connection->abandoned)
        return MHD_NO;
    if (exchange->answer.http_status == 0 && !http->counted) {
        if (connection->gone && exchange->method == METHOD_POST)
            return MHD_NO;
        http->counted = true;
        atomic_fetch_add(&connection->loop->http->busy, 1);
        exchange->received_ns = clock_now_ns();
        exchange->body = (struct view){http->body.data, http->body.bytes};
        router_handle(exchange);
        if (exchange->task.finish) {
            loop_enter(connection, CONNECTION_WAITING);
            MHD_suspend_connection(connection->handle);
            return MHD_YES;
        }
    }
    return exchange->answer.http_status != 0 ? queue_answer(http) : MHD_NO;
}

void exchange_release_body(struct exchange *exchange) {
    /* Every exchange is the first member of an http_exchange. */
    struct http_exchange *http = (struct http_exchange *)exchange;
    http_body_free(&http->body, &exchange->connection->loop->http->body_bytes);
    exchange->body = (struct view){NULL, 0};
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *handle, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *bytes, void **context) {
    (void)cls;
    struct http_exchange *http = *context;
    if (!http) {
        struct connection *connection = connection_of(handle);
        enum MHD_Result result = MHD_NO;
        if (connection)
            result = begin(connection, url, method, version, &http);
        *context = http;
        return result;
    }
    if (*bytes > 0) {
        take_body(http, data, *bytes);
        *bytes = 0;
        return MHD_YES;
    }
    return end(http);
}

/* The exchange is over, one way or the other; also called when only a request line had come. */
static void on_completed(void *cls, struct MHD_Connection *handle, void **context,
                         enum MHD_RequestTerminationCode code) {
    (void)cls;
    struct http_exchange *http = *context;
    struct connection *connection = connection_of(handle);
    *context = NULL;
    if (http) {
        bool sent = http->exchange.answer.http_status != 0 &&
                    (code == MHD_REQUEST_TERMINATED_COMPLETED_OK || connection->abandoned);
        router_completed(&http->exchange, sent);
        if (http->counted)
            atomic_fetch_sub(&connection->loop->http->busy, 1);
        http_body_free(&http->body, &connection->loop->http->body_bytes);
        exchange_clear(&http->exchange);
        free(http);
    }
    if (!connection)
        return;
    connection->exchange = NULL;
    loop_enter(connection, CONNECTION_IDLE);
}

static void on_connection(void *cls, struct MHD_Connection *handle, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        loop_disconnect(*context);
        *context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return;
    const int on = 1; /* fails on a Unix socket, which has no such delay */
    (void)setsockopt(info->connect_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *context = loop_connect(cls, handle, info->connect_fd);
}

/* The request line is there, nothing decoded yet. The result becomes on_request()'s context. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *handle) {
    (void)cls;
    struct connection *connection = connection_of(handle);
    if (!connection)
        return NULL;
    connection->target = http_target_of(target);
    if (connection->phase == CONNECTION_IDLE)
        loop_enter(connection, CONNECTION_HEADER);
    return NULL;
}

/* --- the daemon --- */

enum status http_mhd_open(struct loop *loop, int listener, struct error *err) {
    const struct server_options *options = &loop->http->server->options;
    unsigned share = (options->connections_max + options->http_threads - 1) / options->http_threads;
    int copy = fcntl(listener, F_DUPFD_CLOEXEC, 0); /* the daemon closes its own */
    if (copy < 0)
        return error_set(err, STATUS_IO, "listening socket: %s", strerror(errno));
    loop->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, NULL,
        MHD_OPTION_LISTEN_SOCKET, copy, MHD_OPTION_CONNECTION_LIMIT, share,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LIMIT_CONNECTION_BYTES,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, loop, MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL, MHD_OPTION_END);
    if (loop->daemon)
        return STATUS_OK;
    close(copy);
    return error_set(err, STATUS_IO, "the HTTP library does not start");
}

void http_mhd_close(struct loop *loop) {
    MHD_stop_daemon(loop->daemon);
    loop->daemon = NULL;
}

int http_mhd_descriptor(const struct loop *loop) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

bool http_mhd_pending(const struct loop *loop) {
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    return MHD_get_timeout(loop->daemon, &timeout_ms) == MHD_YES && timeout_ms == 0;
}

void http_mhd_run(struct loop *loop) {
    MHD_run(loop->daemon);
}

void http_mhd_resume(struct connection *connection) {
    MHD_resume_connection(connection->handle);
}

const char *http_mhd_reason(unsigned http_status) {
    return MHD_get_reason_phrase_for(http_status);
}
