/* load_run.c: the schedule, the connections and the loop. See load_run.h. */
#include "server/load_run.h"

#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/view.h"

enum { HEAD_BYTES_MAX = 8192, RECEIVE_BYTES = 1 << 16 };

struct connection {
    int fd; /* -1: to be opened */
    bool busy;
    uint64_t from_ns; /* the latency counts from here */
    const struct load_request *request;
    size_t sent;
    char head[HEAD_BYTES_MAX];
    size_t head_bytes;
    bool in_body;
    int http_status;
    uint64_t body_left;
};

struct load {
    const struct load_options *options;
    struct load_result *result;
    struct connection *connections; /* [options->connections] */
    struct pollfd *polls;           /* the same */
    uint64_t *schedule;             /* NULL: a closed loop */
    uint64_t next;                  /* request to send */
    uint64_t start_ns, end_ns, last_ns;
    uint32_t busy;
    char *room; /* [RECEIVE_BYTES] */
};

enum status load_request_make(const char *path, const char *body, size_t body_bytes,
                              struct load_request *out) {
    static const char format[] = "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                 "application/json\r\nContent-Length: %zu\r\n\r\n";
    const int head = snprintf(NULL, 0, format, path, body_bytes);
    *out = (struct load_request){.bytes = (size_t)head + body_bytes};
    out->data = malloc(out->bytes + 1);
    if (!out->data)
        return STATUS_NO_MEMORY;
    snprintf(out->data, (size_t)head + 1, format, path, body_bytes);
    memcpy(out->data + head, body, body_bytes);
    return STATUS_OK;
}

void load_request_free(struct load_request *request) {
    free(request->data);
    *request = (struct load_request){0};
}

/* Uniform in (0, 1]. */
static double next_random(uint64_t *state) {
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((double)(*state >> 11) + 1.0) * 0x1p-53;
}

uint64_t *load_schedule_make(double rate, uint64_t duration_ns, uint64_t seed, uint64_t *count) {
    uint64_t capacity = 1024, state = seed;
    uint64_t *schedule = malloc(capacity * sizeof *schedule);
    double at_ns = 0;
    for (int i = 0; i < 4; i++) /* seeds that are alike become unlike */
        next_random(&state);
    for (*count = 0; schedule;) {
        at_ns -= log(next_random(&state)) / rate * (double)NS_PER_S;
        if (at_ns >= (double)duration_ns)
            return schedule;
        if (*count == capacity) {
            uint64_t *grown = realloc(schedule, 2 * capacity * sizeof *schedule);
            if (!grown)
                break;
            schedule = grown;
            capacity *= 2;
        }
        schedule[(*count)++] = (uint64_t)at_ns;
    }
    free(schedule);
    return NULL;
}

/* Of the line "Name: value" in the head, the number; false when there is no such line. */
static bool head_find_number(const char *text, size_t bytes, const char *name, uint64_t *out) {
    const size_t name_bytes = strlen(name);
    for (const char *at = text; (at = memchr(at, '\n', bytes - (size_t)(at - text)));) {
        at++;
        const size_t left = bytes - (size_t)(at - text);
        if (left <= name_bytes + 1 || strncasecmp(at, name, name_bytes) != 0 ||
            at[name_bytes] != ':')
            continue;
        *out = strtoull(at + name_bytes + 1, NULL, 10);
        return true;
    }
    return false;
}

int load_head_read(const char *text, size_t bytes, size_t *head_bytes, int *http_status,
                   uint64_t *body_bytes) {
    static const char start[] = "HTTP/1.1 ", end[] = "\r\n\r\n";
    const size_t known = bytes < sizeof start - 1 ? bytes : sizeof start - 1;
    if (memcmp(text, start, known) != 0)
        return -1;
    const char *last = memmem(text, bytes, end, sizeof end - 1);
    if (!last)
        return 0;
    *head_bytes = (size_t)(last - text) + sizeof end - 1;
    *http_status = 0;
    for (size_t i = 0; i < 3; i++) {
        const char digit = text[sizeof start - 1 + i];
        if (digit < '0' || digit > '9')
            return -1;
        *http_status = *http_status * 10 + digit - '0';
    }
    return head_find_number(text, *head_bytes, "Content-Length", body_bytes) ? 1 : -1;
}

static bool connection_open(const struct load_options *options, struct connection *connection) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(options->port), .sin_addr = options->host};
    const int on = 1;
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0)
        return false;
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(connection->fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return true;
    close(connection->fd);
    connection->fd = -1;
    return false;
}

static void connection_close(struct connection *connection) {
    if (connection->fd >= 0)
        close(connection->fd);
    connection->fd = -1;
}

static void connection_fail(struct load *load, struct connection *connection) {
    load->result->broken++;
    load->busy--;
    connection->busy = false;
    connection_close(connection);
}

/* Sends what the socket takes. */
static void connection_send(struct load *load, struct connection *connection) {
    const struct load_request *request = connection->request;
    while (connection->sent < request->bytes) {
        const ssize_t sent = send(connection->fd, request->data + connection->sent,
                                  request->bytes - connection->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (sent <= 0) {
            connection_fail(load, connection);
            return;
        }
        connection->sent += (size_t)sent;
    }
}

/* Servers may close a connection that was idle for a while; that is no fault. */
static bool connection_is_open(const struct connection *connection) {
    char byte;
    return connection->fd >= 0 && recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           errno == EAGAIN;
}

/* Begins the next request on an idle connection, to be timed from `from_ns`. */
static void connection_begin(struct load *load, struct connection *connection, uint64_t from_ns) {
    const struct load_options *options = load->options;
    load->result->due++;
    load->busy++;
    connection->busy = true;
    connection->from_ns = from_ns;
    connection->request = &options->requests[load->next++ % options->requests_count];
    connection->sent = connection->head_bytes = 0;
    connection->in_body = false;
    if (!connection_is_open(connection)) {
        connection_close(connection);
        if (!connection_open(options, connection)) {
            connection_fail(load, connection);
            return;
        }
    }
    connection_send(load, connection);
}

static enum status connection_finish(struct load *load, struct connection *connection) {
    load->last_ns = clock_now_ns();
    load->busy--;
    connection->busy = false;
    if (connection->http_status != 200) {
        load->result->refused++;
        return STATUS_OK;
    }
    load->result->ok++;
    return latencies_add(&load->result->latencies, load->last_ns - connection->from_ns);
}

/* Takes bytes of an answer. False: it is none. */
static bool connection_take(struct connection *connection, const char *data, size_t bytes) {
    if (!connection->in_body) {
        if (bytes > HEAD_BYTES_MAX - connection->head_bytes)
            bytes = HEAD_BYTES_MAX - connection->head_bytes;
        memcpy(connection->head + connection->head_bytes, data, bytes);
        connection->head_bytes += bytes;
        size_t head_bytes;
        const int whole = load_head_read(connection->head, connection->head_bytes, &head_bytes,
                                         &connection->http_status, &connection->body_left);
        if (whole <= 0)
            return whole == 0 && connection->head_bytes < HEAD_BYTES_MAX;
        connection->in_body = true;
        bytes = connection->head_bytes - head_bytes;
    }
    if (bytes > connection->body_left)
        return false;
    connection->body_left -= bytes;
    return true;
}

/* Reads what is there. Error: NO_MEMORY. */
static enum status connection_receive(struct load *load, struct connection *connection) {
    const size_t room =
        connection->in_body ? RECEIVE_BYTES : HEAD_BYTES_MAX - connection->head_bytes;
    const ssize_t got = recv(connection->fd, load->room, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return STATUS_OK;
    if (got <= 0 || !connection_take(connection, load->room, (size_t)got))
        connection_fail(load, connection);
    else if (connection->in_body && connection->body_left == 0)
        return connection_finish(load, connection);
    return STATUS_OK;
}

/* Gives idle connections what is due. Returns when the next request is due, UINT64_MAX: never, or
 * all connections are busy. */
static uint64_t load_begin(struct load *load, uint64_t due_count) {
    for (uint32_t i = 0; i < load->options->connections; i++) {
        const uint64_t now_ns = clock_now_ns();
        if (load->schedule ? load->next == due_count : now_ns >= load->end_ns)
            return UINT64_MAX;
        const uint64_t due_ns =
            load->schedule ? load->start_ns + load->schedule[load->next] : now_ns;
        if (due_ns > now_ns)
            return load->busy < load->options->connections ? due_ns : UINT64_MAX;
        if (!load->connections[i].busy)
            connection_begin(load, &load->connections[i], due_ns);
    }
    /* Idle ones are left when a connection broke at once. */
    return load->busy < load->options->connections ? clock_now_ns() : UINT64_MAX;
}

/* Waits for answers, or until a request is due. Error: NO_MEMORY. */
static enum status load_wait(struct load *load, uint64_t until_ns) {
    const uint32_t count = load->options->connections;
    const uint64_t now_ns = clock_now_ns();
    const uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    const struct timespec wait = {(time_t)(wait_ns / NS_PER_S), (long)(wait_ns % NS_PER_S)};
    for (uint32_t i = 0; i < count; i++) {
        const struct connection *c = &load->connections[i];
        const short sending = c->busy && c->sent < c->request->bytes ? POLLOUT : 0;
        load->polls[i] =
            (struct pollfd){.fd = c->busy ? c->fd : -1, .events = (short)(POLLIN | sending)};
    }
    enum status status = STATUS_OK;
    if (ppoll(load->polls, count, &wait, NULL) <= 0)
        return status;
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
        struct connection *c = &load->connections[i];
        if (c->busy && (load->polls[i].revents & POLLOUT))
            connection_send(load, c);
        if (c->busy && (load->polls[i].revents & (POLLIN | POLLERR | POLLHUP)))
            status = connection_receive(load, c);
    }
    return status;
}

static enum status load_loop(struct load *load, uint64_t due_count) {
    const uint64_t last_ns = load->end_ns + load->options->patience_ns;
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        const uint64_t due_ns = load_begin(load, due_count);
        const bool more = load->schedule ? load->next < due_count : clock_now_ns() < load->end_ns;
        if ((!more && load->busy == 0) || clock_now_ns() >= last_ns)
            break;
        status = load_wait(load, due_ns < last_ns ? due_ns : last_ns);
    }
    if (load->schedule) /* those that never found a connection */
        load->result->due = due_count;
    const struct load_result *r = load->result;
    load->result->unanswered = r->due - r->ok - r->refused - r->broken;
    return status;
}

static enum status load_open(struct load *load, struct error *err) {
    const struct load_options *options = load->options;
    load->connections = calloc(options->connections, sizeof *load->connections);
    load->polls = calloc(options->connections, sizeof *load->polls);
    load->room = malloc(RECEIVE_BYTES);
    if (!load->connections || !load->polls || !load->room)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u connections",
                         options->connections);
    for (uint32_t i = 0; i < options->connections; i++)
        load->connections[i].fd = -1;
    for (uint32_t i = 0; i < options->connections; i++)
        if (!connection_open(options, &load->connections[i]))
            return error_set(err, STATUS_IO, "connection %u to port %u: %s", i + 1, options->port,
                             strerror(errno));
    return STATUS_OK;
}

enum status load_run(const struct load_options *options, struct load_result *out,
                     struct error *err) {
    *out = (struct load_result){0};
    struct load load = {.options = options, .result = out};
    uint64_t due_count = 0;
    enum status status = load_open(&load, err);
    if (status == STATUS_OK && options->rate > 0) {
        load.schedule =
            load_schedule_make(options->rate, options->duration_ns, options->seed, &due_count);
        if (!load.schedule)
            status = error_set(err, STATUS_NO_MEMORY, "no memory for the schedule");
    }
    if (status == STATUS_OK) {
        prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* to be in time */
        const uint64_t cpu_ns = clock_thread_ns();
        load.start_ns = load.last_ns = clock_now_ns();
        load.end_ns = load.start_ns + options->duration_ns;
        status = load_loop(&load, due_count);
        if (status != STATUS_OK)
            error_set(err, status, "%s", status_meaning(status));
        const uint64_t ran_ns = clock_now_ns() - load.start_ns;
        out->seconds = (double)(load.last_ns - load.start_ns) / (double)NS_PER_S;
        out->cpu = (double)(clock_thread_ns() - cpu_ns) / (double)(ran_ns ? ran_ns : 1);
        latencies_sort(&out->latencies);
    }
    for (uint32_t i = 0; load.connections && i < options->connections; i++)
        connection_close(&load.connections[i]);
    free(load.schedule);
    free(load.room);
    free(load.polls);
    free(load.connections);
    if (status != STATUS_OK)
        load_result_free(out);
    return status;
}

void load_result_free(struct load_result *result) {
    latencies_free(&result->latencies);
}
