/* http_loop.c: the thread of one loop: events, woken exchanges, deadlines, the end. */
#include "server/http_loop.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "server/http_mhd.h"
#include "server/state.h"

enum {
    EVENTS_AT_ONCE = 256,
    TICK_MS = 100,
    LOOK_MS = 1000,
    STOP_SEND_MS = 2000,     /* for answers to go out once the server stops */
    DEADLINE_GRACE_MS = 500, /* that the engine may be late with a deadline */
    EARLY_BYTES_MAX = 8192,
    GONE_GRACE_MS = 500, /* for what came before the end; libmicrohttpd may not see the end */
};

static uint64_t after_ms(uint64_t ms) {
    return clock_now_ns() + ms * NS_PER_MS;
}

static uint64_t phase_deadline(const struct connection *connection, enum connection_phase phase) {
    const struct server_options *options = &connection->loop->http->server->options;
    switch (phase) {
    case CONNECTION_IDLE:
        return after_ms(options->idle_timeout_ms);
    case CONNECTION_HEADER:
        return after_ms(options->header_timeout_ms);
    case CONNECTION_BODY:
        return after_ms(options->body_timeout_ms);
    case CONNECTION_WAITING:
        /* The engine keeps the deadline itself; this is for one that does not. */
        return after_ms((uint64_t)connection->exchange->timeout_ms + DEADLINE_GRACE_MS);
    default:
        return after_ms(LIMIT_SEND_TIMEOUT_MS);
    }
}

/* Bytes that the socket has received in its life; 0 where the system does not count. */
static uint64_t received_bytes(const struct connection *connection) {
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    if (getsockopt(connection->socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0)
        return 0;
    return info.tcpi_bytes_received;
}

static void set_phase(struct connection *connection, enum connection_phase phase) {
    struct loop *loop = connection->loop;
    loop->waiting -= connection->phase == CONNECTION_WAITING;
    loop->sending -= connection->phase == CONNECTION_SENDING;
    loop->waiting += phase == CONNECTION_WAITING;
    loop->sending += phase == CONNECTION_SENDING;
    connection->phase = phase;
}

/* Nothing more comes from a client that is gone: what libmicrohttpd still reads of it begins no
 * time of its own. */
static bool is_short(const struct connection *connection, enum connection_phase phase) {
    return connection->gone && phase != CONNECTION_WAITING && phase != CONNECTION_SENDING;
}

void loop_enter(struct connection *connection, enum connection_phase phase) {
    const uint64_t deadline_ns = phase_deadline(connection, phase);
    const uint64_t gone_ns = after_ms(GONE_GRACE_MS);
    set_phase(connection, phase);
    connection->deadline_ns =
        is_short(connection, phase) && gone_ns < deadline_ns ? gone_ns : deadline_ns;
    if (phase == CONNECTION_IDLE) {
        connection->look_ns = after_ms(LOOK_MS);
        connection->bytes_seen = received_bytes(connection);
    }
}

struct connection *loop_connect(struct loop *loop, struct MHD_Connection *handle, int socket) {
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->loop = loop;
    connection->handle = handle;
    connection->socket = socket;
    connection->number = atomic_fetch_add(&loop->http->connections_made, 1) + 1;
    connection->next = loop->connections;
    if (connection->next)
        connection->next->previous = connection;
    loop->connections = connection;
    loop_enter(connection, CONNECTION_IDLE);
    connection->bytes_seen = 0;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = connection};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
        loop_disconnect(connection);
        return NULL;
    }
    return connection;
}

void loop_disconnect(struct connection *connection) {
    if (!connection)
        return;
    struct loop *loop = connection->loop;
    set_phase(connection, CONNECTION_IDLE); /* leaves the counts of the other phases */
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, connection->socket, NULL);
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        loop->connections = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    free(connection);
    loop->run_again = true;
}

void loop_answer_early(struct connection *connection) {
    static const char timeout_body[] =
        "{\"error\":{\"message\":\"the request took too long to arrive\","
        "\"type\":\"invalid_request_error\",\"code\":\"request_timeout\",\"param\":null}}";
    const struct exchange *exchange = connection->exchange;
    bool answered = exchange && exchange->answer.http_status != 0;
    unsigned http_status = answered ? exchange->answer.http_status : 408;
    struct view body = answered
                           ? (struct view){exchange->answer.body.data, exchange->answer.body.bytes}
                           : view_of(timeout_body);
    char text[EARLY_BYTES_MAX], extra[LIMIT_REQUEST_ID_BYTES + 64] = "";
    if (answered)
        snprintf(extra, sizeof extra, "X-Request-Id: %s\r\n", exchange->request_id);
    if (answered && exchange->answer.retry_after_s > 0)
        snprintf(extra, sizeof extra, "X-Request-Id: %s\r\nRetry-After: %u\r\n",
                 exchange->request_id, exchange->answer.retry_after_s);
    int bytes = snprintf(text, sizeof text,
                         "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\n%s"
                         "Content-Length: %zu\r\nConnection: close\r\n\r\n%.*s",
                         http_status, http_mhd_reason(http_status), extra, body.bytes,
                         (int)body.bytes, body.bytes ? body.data : "");
    /* The send buffer is empty here; what it does not take, the client does not get. */
    if (bytes > 0 && (size_t)bytes < sizeof text &&
        send(connection->socket, text, (size_t)bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        connection->gone = true;
    shutdown(connection->socket, SHUT_WR);
    connection->abandoned = true;
}

static void cancel(struct connection *connection, enum api_code code) {
    struct exchange *exchange = connection->exchange;
    if (exchange->cancel_code == API_CODE_COUNT)
        exchange->cancel_code = code;
    connection->deadline_ns = 0;
    exchange->task.cancel(exchange->task.context);
}

static void handle_event(struct connection *connection, uint32_t events) {
    int unread = 0;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        connection->gone = true;
        if (connection->phase == CONNECTION_WAITING)
            cancel(connection, API_CLIENT_GONE);
        else if (connection->phase != CONNECTION_SENDING)
            connection->deadline_ns = after_ms(GONE_GRACE_MS);
    } else if (connection->phase == CONNECTION_IDLE &&
               ioctl(connection->socket, FIONREAD, &unread) == 0 && unread > 0) {
        /* Bytes of the last exchange that libmicrohttpd has read since are not a beginning. */
        loop_enter(connection, CONNECTION_HEADER);
    }
}

static void handle_deadline(struct connection *connection) {
    switch (connection->phase) {
    case CONNECTION_HEADER:
    case CONNECTION_BODY:
        if (!connection->abandoned)
            loop_answer_early(connection);
        shutdown(connection->socket, SHUT_RDWR);
        break;
    case CONNECTION_WAITING:
        cancel(connection, API_DEADLINE_EXCEEDED);
        break;
    default:
        shutdown(connection->socket, SHUT_RDWR);
        break;
    }
}

/* A first byte that libmicrohttpd took between our look at the events and its own gives no event
 * here; the socket's count tells of it. */
static void look_for_bytes(struct connection *connection, uint64_t now_ns) {
    if (connection->phase != CONNECTION_IDLE || connection->look_ns > now_ns)
        return;
    connection->look_ns = now_ns + LOOK_MS * NS_PER_MS;
    if (received_bytes(connection) != connection->bytes_seen)
        loop_enter(connection, CONNECTION_HEADER);
}

static void check_deadlines(struct loop *loop, uint64_t now_ns) {
    for (struct connection *c = loop->connections, *next; c; c = next) {
        next = c->next;
        look_for_bytes(c, now_ns);
        if (c->deadline_ns != 0 && c->deadline_ns <= now_ns) {
            handle_deadline(c);
            c->deadline_ns = 0; /* libmicrohttpd sees the end of the socket and closes it */
        }
    }
    loop->tick_ns = now_ns + TICK_MS * NS_PER_MS;
}

static void wake_loop(const struct loop *loop) {
    const uint64_t one = 1;
    while (write(loop->wake, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

void exchange_wake(struct exchange *exchange) {
    struct loop *loop = exchange->connection->loop;
    atomic_fetch_add(&loop->wakers, 1); /* the loop must outlive the write below */
    struct exchange *first = atomic_load(&loop->woken);
    do
        exchange->next_woken = first;
    while (!atomic_compare_exchange_weak(&loop->woken, &first, exchange));
    if (!first)
        wake_loop(loop);
    atomic_fetch_sub(&loop->wakers, 1);
}

/* Finishes what exchange_wake() has brought, first come first. */
static void finish_woken(struct loop *loop) {
    struct exchange *newest = atomic_exchange(&loop->woken, NULL), *oldest = NULL;
    while (newest) {
        struct exchange *next = newest->next_woken;
        newest->next_woken = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest) {
        struct exchange *exchange = oldest;
        oldest = exchange->next_woken;
        void (*finish)(struct exchange *, void *) = exchange->task.finish;
        exchange->task.finish = NULL;
        finish(exchange, exchange->task.context);
        if (exchange->task.finish)
            continue; /* it waits for something else now */
        loop_enter(exchange->connection, CONNECTION_SENDING);
        http_mhd_resume(exchange->connection);
    }
}

static void wait_events(struct loop *loop) {
    struct epoll_event events[EVENTS_AT_ONCE];
    bool at_once = loop->run_again || http_mhd_pending(loop);
    int timeout_ms = at_once ? 0 : loop->connections ? TICK_MS : -1;
    int count = epoll_wait(loop->epoll, events, EVENTS_AT_ONCE, timeout_ms);
    for (int i = 0; i < count; i++) {
        uint64_t ignored;
        if (events[i].data.ptr == &loop->wake) {
            while (read(loop->wake, &ignored, sizeof ignored) < 0 && errno == EINTR)
                continue;
        } else if (events[i].data.ptr != loop) {
            handle_event(events[i].data.ptr, events[i].events);
        }
    }
}

static void cancel_all(struct loop *loop) {
    for (struct connection *c = loop->connections; c; c = c->next)
        if (c->phase == CONNECTION_WAITING)
            cancel(c, API_DRAINING);
}

static void run(void *context) {
    struct loop *loop = context;
    uint64_t end_ns = 0; /* of sending, once stopping */
    for (;;) {
        wait_events(loop);
        finish_woken(loop);
        loop->run_again = false;
        http_mhd_run(loop);
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= loop->tick_ns)
            check_deadlines(loop, now_ns);
        if (!atomic_load(&loop->stopping))
            continue;
        if (end_ns == 0)
            end_ns = now_ns + STOP_SEND_MS * NS_PER_MS;
        cancel_all(loop); /* again and again: calls may have come in between */
        if (loop->waiting == 0 && (loop->sending == 0 || now_ns > end_ns))
            return;
    }
}

static enum status add_descriptor(struct loop *loop, int descriptor, void *mark,
                                  struct error *err) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        return error_set(err, STATUS_IO, "epoll: %s", strerror(errno));
    return STATUS_OK;
}

static void loop_close(struct loop *loop) {
    if (loop->daemon)
        http_mhd_close(loop);
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->wake >= 0)
        close(loop->wake);
}

enum status loop_start(struct loop *loop, struct http *http, int listener, struct error *err) {
    loop->http = http;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum status status = STATUS_OK;
    if (loop->epoll < 0 || loop->wake < 0)
        status = error_set(err, STATUS_IO, "epoll: %s", strerror(errno));
    if (status == STATUS_OK)
        status = http_mhd_open(loop, listener, err);
    if (status == STATUS_OK)
        status = add_descriptor(loop, http_mhd_descriptor(loop), loop, err);
    if (status == STATUS_OK)
        status = add_descriptor(loop, loop->wake, &loop->wake, err);
    if (status == STATUS_OK)
        status = thread_start(&loop->thread, "http", run, loop, err);
    if (status != STATUS_OK)
        loop_close(loop);
    return status;
}

void loop_stop(struct loop *loop) {
    atomic_store(&loop->stopping, true);
    wake_loop(loop);
    thread_join(&loop->thread);
    while (atomic_load(&loop->wakers) > 0)
        sched_yield();
    loop_close(loop);
}
