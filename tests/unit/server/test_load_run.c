/* test_load_run.c: the schedule is a Poisson process, heads of answers are read strictly, and every
 * request that was due is counted once, whatever the server does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "server/load_run.h"

static void gaps_are_exponential_and_repeat_with_the_seed(void **state) {
    (void)state;
    const double rate = 1000;
    uint64_t count, again_count, other_count;
    uint64_t *schedule = load_schedule_make(rate, 100 * NS_PER_S, 7, &count);
    uint64_t *again = load_schedule_make(rate, 100 * NS_PER_S, 7, &again_count);
    uint64_t *other = load_schedule_make(rate, 100 * NS_PER_S, 8, &other_count);
    assert_true(schedule && again && other);
    /* 100,000 are expected, with a standard deviation of 316. */
    assert_in_range(count, 98500, 101500);
    assert_int_equal(count, again_count);
    assert_memory_equal(schedule, again, count * sizeof *schedule);
    assert_true(other[0] != schedule[0]);
    double sum = 0, squares = 0;
    uint64_t long_gaps = 0;
    for (uint64_t i = 1; i < count; i++) {
        assert_true(schedule[i] >= schedule[i - 1]);
        const double gap = (double)(schedule[i] - schedule[i - 1]) / 1e9 * rate;
        sum += gap;
        squares += gap * gap;
        long_gaps += gap > 1;
    }
    const double mean = sum / (double)(count - 1), variance = squares / (double)(count - 1) - 1;
    assert_true(fabs(mean - 1) < 0.02 && fabs(variance - 1) < 0.05);
    assert_true(fabs((double)long_gaps / (double)count - exp(-1)) < 0.01);
    assert_true(schedule[count - 1] < 100 * NS_PER_S);
    free(other);
    free(again);
    free(schedule);
}

static int read_head(const char *text, size_t *head_bytes, int *status, uint64_t *body_bytes) {
    return load_head_read(text, strlen(text), head_bytes, status, body_bytes);
}

static void heads_of_answers(void **state) {
    (void)state;
    size_t head_bytes;
    int status;
    uint64_t body_bytes;
    const char whole[] = "HTTP/1.1 429 Too Many\r\nX: y\r\ncontent-length: 17\r\n\r\n{";
    assert_int_equal(read_head(whole, &head_bytes, &status, &body_bytes), 1);
    assert_int_equal(head_bytes, sizeof whole - 2);
    assert_int_equal(status, 429);
    assert_int_equal(body_bytes, 17);
    for (size_t bytes = 0; bytes + 2 < sizeof whole; bytes++)
        assert_int_equal(load_head_read(whole, bytes, &head_bytes, &status, &body_bytes), 0);
    assert_int_equal(read_head("HTTP/1.0 200 OK", &head_bytes, &status, &body_bytes), -1);
    assert_int_equal(read_head("SSH-2.0", &head_bytes, &status, &body_bytes), -1);
    assert_int_equal(read_head("HTTP/1.1 2x0 OK\r\n\r\n", &head_bytes, &status, &body_bytes), -1);
    assert_int_equal(read_head("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &head_bytes,
                               &status, &body_bytes),
                     -1);
}

/* A server of one connection at a time that answers by turns: 200, 503, none and a hang-up. */
struct server {
    int listener;
    uint16_t port;
    pthread_t thread;
};

/* Reads one request of this test: a head and a body of two bytes. False at the end. */
static bool serve_read(int fd) {
    char text[512];
    size_t bytes = 0;
    for (;;) {
        const ssize_t got = recv(fd, text + bytes, sizeof text - 1 - bytes, 0);
        if (got <= 0)
            return false;
        bytes += (size_t)got;
        text[bytes] = '\0';
        const char *end = strstr(text, "\r\n\r\n");
        if (end && end + 4 + 2 <= text + bytes)
            return true;
    }
}

static void *serve(void *context) {
    struct server *server = context;
    static const char good[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    static const char bad[] = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
    for (unsigned turn = 0;;) {
        const int fd = accept(server->listener, NULL, NULL);
        const int on = 1;
        if (fd < 0)
            return NULL;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        for (; serve_read(fd); turn++) {
            if (turn % 4 == 3)
                break;
            if (turn % 4 == 1)
                send(fd, bad, sizeof bad - 1, MSG_NOSIGNAL);
            else /* in two pieces */
                for (size_t at = 0; at < sizeof good - 1; at += 20)
                    send(fd, good + at, sizeof good - 1 - at < 20 ? sizeof good - 1 - at : 20,
                         MSG_NOSIGNAL);
        }
        turn++;
        close(fd);
    }
}

static struct server *server_make(void) {
    struct server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    assert_non_null(server);
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &bytes), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    return server;
}

static void server_free(struct server *server) {
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    free(server);
}

static void every_request_counts_once(void **state) {
    (void)state;
    struct server *server = server_make();
    struct load_request request;
    struct error err;
    assert_int_equal(load_request_make("/x", "{}", 2, &request), STATUS_OK);
    struct load_options options = {
        .host.s_addr = htonl(INADDR_LOOPBACK),
        .port = server->port,
        .requests = &request,
        .requests_count = 1,
        .connections = 1,
        .duration_ns = NS_PER_S / 5,
        .patience_ns = 5 * NS_PER_S,
        .seed = 1,
    };
    const double rates[] = {0, 500};
    for (int i = 0; i < 2; i++) {
        struct load_result result;
        options.rate = rates[i];
        if (load_run(&options, &result, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        assert_true(result.due > 20);
        assert_int_equal(result.due,
                         result.ok + result.refused + result.broken + result.unanswered);
        assert_int_equal(result.unanswered, 0);
        assert_int_equal(result.latencies.count, result.ok);
        /* Two of four are good, one is refused, one broken. */
        assert_true(result.ok >= result.due / 2 - 2 && result.ok <= result.due / 2 + 2);
        assert_true(result.refused + 2 >= result.due / 4 && result.broken + 2 >= result.due / 4);
        assert_true(result.seconds > 0 && result.cpu > 0 && result.cpu <= 1.1);
        if (options.rate > 0) {
            uint64_t due;
            free(load_schedule_make(options.rate, options.duration_ns, options.seed, &due));
            assert_int_equal(result.due, due);
        }
        load_result_free(&result);
    }
    load_request_free(&request);
    server_free(server);
}

/* A listener that never answers: latency would be endless, so the requests are unanswered. */
static void silence_is_counted(void **state) {
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    struct load_request request;
    struct load_result result;
    struct error err;
    assert_int_equal(load_request_make("/x", "{}", 2, &request), STATUS_OK);
    const struct load_options options = {
        .host.s_addr = htonl(INADDR_LOOPBACK),
        .port = ntohs(address.sin_port),
        .requests = &request,
        .requests_count = 1,
        .connections = 2,
        .rate = 200,
        .duration_ns = NS_PER_S / 10,
        .patience_ns = NS_PER_S / 10,
        .seed = 3,
    };
    assert_int_equal(load_run(&options, &result, &err), STATUS_OK);
    uint64_t due;
    free(load_schedule_make(options.rate, options.duration_ns, options.seed, &due));
    assert_true(due > 2);
    assert_int_equal(result.due, due);
    assert_int_equal(result.unanswered, due);
    load_result_free(&result);
    close(listener);
    assert_int_equal(load_run(&options, &result, &err), STATUS_IO);
    load_request_free(&request);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_exponential_and_repeat_with_the_seed),
        cmocka_unit_test(heads_of_answers),
        cmocka_unit_test(every_request_counts_once),
        cmocka_unit_test(silence_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
