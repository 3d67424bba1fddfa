/* test_server.c: the front end over real sockets, with an engine that can be held still: loading,
 * deadlines, hang-ups, time-outs, long bodies and answers, the order of the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/json_write.h"
#include "server/server.h"
#include "tests/unit/server/fake_engine.h"

enum { ANSWER_BYTES = 1 << 20, PATIENCE_S = 10 };

struct fixture {
    struct engine *engine;
    struct server *server;
};

/* A server on a free port. `change` may alter the options. */
static struct fixture start(uint32_t delay_ms, uint32_t calls_max,
                            void (*change)(struct server_options *options)) {
    struct fixture fixture;
    struct server_options options;
    struct error err;
    server_options_init(&options);
    options.port = 0;
    if (change)
        change(&options);
    if (server_start(&options, &fixture.server, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    fixture.engine = fake_engine_open(delay_ms, calls_max);
    return fixture;
}

static struct fixture start_ready(uint32_t delay_ms, uint32_t calls_max,
                                  void (*change)(struct server_options *options)) {
    struct fixture fixture = start(delay_ms, calls_max, change);
    assert_int_equal(server_set_engine(fixture.server, fixture.engine, NULL), STATUS_OK);
    return fixture;
}

static void stop(struct fixture *fixture) {
    server_stop(fixture->server);
    engine_close(fixture->engine);
}

static int dial(const struct fixture *fixture) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server_port(fixture->server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void send_text(int fd, const char *text, size_t bytes) {
    while (bytes > 0) {
        ssize_t sent = send(fd, text, bytes, MSG_NOSIGNAL);
        if (sent <= 0)
            fail_msg("the server hung up before it had everything");
        text += sent;
        bytes -= (size_t)sent;
    }
}

static void send_post(int fd, const char *headers, const char *body) {
    char head[512];
    int bytes = snprintf(head, sizeof head,
                         "POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s\r\n",
                         strlen(body), headers);
    send_text(fd, head, (size_t)bytes);
    send_text(fd, body, strlen(body));
}

/* All that comes until the server closes; malloc'ed, with NUL. */
static char *receive_all(int fd) {
    char *text = malloc(ANSWER_BYTES);
    assert_non_null(text);
    size_t bytes = 0;
    for (;;) {
        ssize_t got = recv(fd, text + bytes, ANSWER_BYTES - 1 - bytes, 0);
        if (got < 0)
            fail_msg("the server neither answered nor closed");
        if (got == 0)
            break;
        bytes += (size_t)got;
    }
    text[bytes] = '\0';
    close(fd);
    return text;
}

/* Reads until the last byte of the text is there; for connections that stay open. */
static char *receive_until(int fd, const char *last) {
    char *text = malloc(ANSWER_BYTES);
    assert_non_null(text);
    size_t bytes = 0;
    text[0] = '\0';
    while (!strstr(text, last)) {
        ssize_t got = recv(fd, text + bytes, ANSWER_BYTES - 1 - bytes, 0);
        if (got <= 0)
            fail_msg("no '%s' in: %s", last, text);
        bytes += (size_t)got;
        text[bytes] = '\0';
    }
    return text;
}

static void assert_has(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("no '%s' in: %.2000s", part, text);
}

/* Takes over the text. */
static void assert_answer(char *text, const char *status, const char *part) {
    assert_has(text, status);
    assert_has(text, part);
    free(text);
}

static char *get(const struct fixture *fixture, const char *path) {
    char head[256];
    int fd = dial(fixture);
    int bytes = snprintf(head, sizeof head,
                         "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    send_text(fd, head, (size_t)bytes);
    return receive_all(fd);
}

static char *post(const struct fixture *fixture, const char *headers, const char *body) {
    char all[256];
    int fd = dial(fixture);
    snprintf(all, sizeof all, "Connection: close\r\n%s", headers);
    send_post(fd, all, body);
    return receive_all(fd);
}

static void pause_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static uint64_t read_count(struct engine *engine, const uint64_t *count) {
    pthread_mutex_lock(&engine->lock);
    uint64_t value = *count;
    pthread_mutex_unlock(&engine->lock);
    return value;
}

static void wait_for(struct engine *engine, const uint64_t *count, uint64_t value) {
    for (int i = 0; i < PATIENCE_S * 200 && read_count(engine, count) != value; i++)
        pause_ms(5);
    assert_int_equal(read_count(engine, count), value);
}

static void it_lives_while_loading_and_is_ready_with_the_engine(void **state) {
    (void)state;
    struct fixture f = start(0, 10, NULL);
    assert_answer(get(&f, "/livez"), "HTTP/1.1 200", "\"status\":\"ok\"");
    assert_answer(get(&f, "/readyz"), "HTTP/1.1 503", "\"status\":\"loading\"");
    char *text = post(&f, "", "{\"input\":\"a\"}");
    assert_has(text, "Retry-After: 1\r\n");
    assert_answer(text, "HTTP/1.1 503", "\"code\":\"loading\"");
    assert_answer(get(&f, "/v1/models"), "HTTP/1.1 200", "\"data\":[]");
    assert_int_equal(server_set_engine(f.server, f.engine, "named"), STATUS_OK);
    assert_answer(get(&f, "/readyz"), "HTTP/1.1 200", "\"status\":\"ok\"");
    assert_answer(get(&f, "/health"), "HTTP/1.1 200", "\"reason\":null");
    assert_answer(post(&f, "", "{\"input\":\"a\"}"), "HTTP/1.1 200", "\"model\":\"named\"");
    stop(&f);
}

static void an_answer_has_the_form_of_the_contract(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 10, NULL);
    char *text = post(&f, "X-Request-Id: my-1\r\n", "{\"input\":\"12345678\",\"top_k\":5}");
    assert_has(text, "X-Request-Id: my-1\r\n");
    assert_has(text, "Content-Type: application/json\r\n");
    assert_has(text, "Server-Timing: tokenize;dur=1.000, queue;dur=2.000, compute;dur=3.500\r\n");
    assert_has(text, "{\"id\":\"cls-");
    assert_has(text, "\"activation\":\"sigmoid\",\"data\":[{\"object\":\"classification\","
                     "\"index\":0,\"label\":\"short\",\"score\":0.9921875,\"predictions\":"
                     "[{\"label\":\"short\",\"score\":0.9921875,\"index\":0},"
                     "{\"label\":\"long \\\"one\\\"\",\"score\":0.0078125,\"index\":1}],"
                     "\"tokens\":10,\"truncated\":false}],"
                     "\"usage\":{\"prompt_tokens\":10,\"total_tokens\":10}}");
    free(text);
    stop(&f);
}

static void pipelined_requests_are_answered_in_order(void **state) {
    (void)state;
    struct fixture f = start_ready(1, 100, NULL);
    char body[128];
    int fd = dial(&f);
    for (int i = 0; i < 20; i++) {
        snprintf(body, sizeof body, "{\"input\":\"%.*s\"}", i * 7 % 20 + 1,
                 "aaaaaaaaaaaaaaaaaaaaa");
        send_post(fd, i == 19 ? "Connection: close\r\n" : "", body);
    }
    char *text = receive_all(fd), *at = text;
    for (int i = 0; i < 20; i++) {
        snprintf(body, sizeof body, "\"prompt_tokens\":%d,", i * 7 % 20 + 3);
        at = strstr(at, "\"prompt_tokens\"");
        assert_non_null(at);
        assert_int_equal(strncmp(at, body, strlen(body)), 0);
        at++;
    }
    free(text);
    stop(&f);
}

static void a_client_that_hangs_up_cancels_its_call(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 100, NULL);
    fake_engine_block(f.engine, true);
    int stays = dial(&f);
    send_post(stays, "Connection: close\r\n", "{\"input\":\"stays\"}");
    for (int i = 0; i < 10; i++) {
        int fd = dial(&f);
        send_post(fd, "", "{\"input\":\"leaves\"}");
        wait_for(f.engine, &f.engine->submitted, (uint64_t)i + 2);
        if (i % 2) /* a reset in place of a FIN */
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
        close(fd);
        wait_for(f.engine, &f.engine->cancelled, (uint64_t)i + 1);
    }
    fake_engine_block(f.engine, false);
    assert_answer(receive_all(stays), "HTTP/1.1 200", "\"prompt_tokens\":7,");
    assert_answer(get(&f, "/metrics"), "HTTP/1.1 200",
                  "bertd_requests_total{route=\"/v1/classify\",outcome=\"cancelled\"} 10\n");
    stop(&f);
}

static void a_deadline_is_answered_even_when_the_engine_stands_still(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 100, NULL);
    fake_engine_block(f.engine, true);
    uint64_t start_ns = clock_now_ns();
    assert_answer(post(&f, "X-Request-Timeout-Ms: 100\r\n", "{\"input\":\"a\"}"), "HTTP/1.1 504",
                  "\"code\":\"deadline_exceeded\"");
    assert_true(clock_now_ns() - start_ns < 5 * NS_PER_S);
    stop(&f);
}

static void a_full_queue_is_429_with_a_measured_wait(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 1, NULL);
    fake_engine_block(f.engine, true);
    int waits = dial(&f);
    send_post(waits, "Connection: close\r\n", "{\"input\":\"a\"}");
    wait_for(f.engine, &f.engine->submitted, 1);
    char *text = post(&f, "", "{\"input\":\"a\"}");
    assert_has(text, "Retry-After: 3\r\n"); /* 2500 tokens at 1000 a second */
    assert_answer(text, "HTTP/1.1 429", "\"code\":\"queue_full\"");
    fake_engine_block(f.engine, false);
    assert_answer(receive_all(waits), "HTTP/1.1 200", "\"prompt_tokens\":3,");
    stop(&f);
}

static void errors_of_the_engine_name_the_input(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 10, NULL);
    char body[1024];
    snprintf(body, sizeof body, "{\"input\":[\"a\",\"%0600d\"],\"truncate\":false}", 0);
    char *text = post(&f, "", body);
    assert_has(text, "\"param\":\"input[1]\"");
    assert_answer(text, "HTTP/1.1 422", "the input has 602 tokens, the model takes 512");
    snprintf(body, sizeof body, "{\"input\":\"%0600d\",\"truncate\":true}", 0);
    assert_answer(post(&f, "", body), "HTTP/1.1 200", "\"tokens\":512,\"truncated\":true");
    stop(&f);
}

static void short_timeouts(struct server_options *options) {
    options->header_timeout_ms = options->body_timeout_ms = options->idle_timeout_ms = 300;
}

static void slow_headers_and_bodies_get_408_and_idle_ones_are_closed(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 10, short_timeouts);
    int header = dial(&f), body = dial(&f), idle = dial(&f), fresh = dial(&f);
    static const char part[] = "POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n";
    uint64_t start_ns = clock_now_ns();
    send_text(idle, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 32);
    send_text(body, part, sizeof part - 1);
    send_text(body, "\r\n{\"in", 6);
    for (size_t i = 0; i < 5; i++) { /* bytes that drip do not move the deadline */
        send_text(header, part + i, 1);
        pause_ms(50);
    }
    assert_answer(receive_all(header), "HTTP/1.1 408", "\"code\":\"request_timeout\"");
    assert_answer(receive_all(body), "HTTP/1.1 408", "Connection: close\r\n");
    assert_answer(receive_all(idle), "HTTP/1.1 200", "\"status\":\"ok\"");
    assert_answer(receive_all(fresh), "", "");
    assert_true(clock_now_ns() - start_ns < 5 * NS_PER_S);
    stop(&f);
}

static void many_inputs_are_answered_in_slices(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 10, NULL);
    enum { COUNT = 2000 };
    struct json_writer body;
    json_writer_init(&body, 1 << 20);
    json_put_begin_object(&body);
    json_put_key(&body, "input");
    json_put_begin_array(&body);
    for (int i = 0; i < COUNT; i++)
        json_put_string(&body, "text");
    json_put_end_array(&body);
    json_put_end_object(&body);
    json_writer_append(&body, "", 1);
    assert_false(json_writer_failed(&body));
    char *text = post(&f, "", body.data);
    assert_has(text, "Transfer-Encoding: chunked\r\n");
    assert_has(text, "\"index\":1999,");
    assert_has(text, "\"usage\":{\"prompt_tokens\":12000,");
    free(text);
    json_writer_free(&body);
    stop(&f);
}

static void long_bodies_are_read_beside_short_ones(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 10, NULL);
    enum { TEXT_BYTES = 300000 };
    char *body = malloc(TEXT_BYTES + 32);
    assert_non_null(body);
    int bytes = snprintf(body, TEXT_BYTES + 32, "{\"input\":\"%0*d\"}", TEXT_BYTES, 0);
    assert_answer(post(&f, "", body), "HTTP/1.1 200", "\"tokens\":512,\"truncated\":true");
    body[bytes - 1] = ']';
    assert_answer(post(&f, "", body), "HTTP/1.1 400", "\"code\":\"invalid_json\"");
    free(body);
    stop(&f);
}

static void a_refused_body_is_read_and_the_connection_goes_on(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 10, NULL);
    enum { BODY_BYTES = 10 << 20 };
    char *body = calloc(1, BODY_BYTES), head[128];
    assert_non_null(body);
    int fd = dial(&f);
    int bytes =
        snprintf(head, sizeof head,
                 "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", BODY_BYTES);
    send_text(fd, head, (size_t)bytes);
    send_text(fd, body, BODY_BYTES);
    free(receive_until(fd, "\"code\":\"not_found\",\"param\":null}}"));
    send_post(fd, "Connection: close\r\n", "{\"input\":\"a\"}");
    assert_answer(receive_all(fd), "HTTP/1.1 200", "\"prompt_tokens\":3,");
    free(body);
    stop(&f);
}

static void small_bodies(struct server_options *options) {
    options->body_bytes_max = 20;
}

static void a_body_over_the_limit_is_413_in_both_framings(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 10, small_bodies);
    static const char chunked[] = "POST /v1/classify HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                  "Transfer-Encoding: chunked\r\n\r\n15\r\n{\"input\":\"12345678\"}"
                                  " \r\n0\r\n\r\n";
    assert_answer(post(&f, "", "{\"input\":\"12345678\"}"), "HTTP/1.1 200", "\"tokens\":10,");
    assert_answer(post(&f, "", "{\"input\":\"12345678\"} "), "HTTP/1.1 413", "body_too_large");
    int fd = dial(&f);
    send_text(fd, chunked, sizeof chunked - 1);
    assert_answer(receive_all(fd), "HTTP/1.1 413", "body_too_large");
    stop(&f);
}

static void *stop_server(void *server) {
    server_stop(server);
    return NULL;
}

static void short_drain(struct server_options *options) {
    options->drain_timeout_ms = 200;
}

static void the_end_answers_calls_of_an_engine_that_stands_still(void **state) {
    (void)state;
    enum { CLIENTS = 100 };
    struct fixture f = start_ready(0, 1000, short_drain);
    int clients[CLIENTS];
    fake_engine_block(f.engine, true);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = dial(&f);
        send_post(clients[i], "", "{\"input\":\"a\"}");
    }
    wait_for(f.engine, &f.engine->submitted, CLIENTS);
    server_stop(f.server);
    for (int i = 0; i < CLIENTS; i++)
        assert_answer(receive_all(clients[i]), "HTTP/1.1 503", "\"code\":\"draining\"");
    engine_close(f.engine);
}

static void the_end_finishes_what_was_admitted_and_refuses_the_rest(void **state) {
    (void)state;
    enum { CLIENTS = 20 };
    struct fixture f = start_ready(20, 1000, NULL);
    int clients[CLIENTS], late = dial(&f);
    pthread_t thread;
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = dial(&f);
        send_post(clients[i], "", "{\"input\":\"a\"}");
    }
    wait_for(f.engine, &f.engine->submitted, CLIENTS);
    assert_int_equal(pthread_create(&thread, NULL, stop_server, f.server), 0);
    for (bool draining = false; !draining; pause_ms(1)) {
        pthread_mutex_lock(&f.engine->lock);
        draining = f.engine->draining;
        pthread_mutex_unlock(&f.engine->lock);
    }
    assert_answer(get(&f, "/readyz"), "HTTP/1.1 503", "\"status\":\"draining\"");
    assert_answer(get(&f, "/livez"), "HTTP/1.1 200", "\"status\":\"ok\"");
    send_post(late, "", "{\"input\":\"a\"}");
    assert_answer(receive_all(late), "HTTP/1.1 503", "\"code\":\"draining\"");
    for (int i = 0; i < CLIENTS; i++)
        assert_answer(receive_all(clients[i]), "HTTP/1.1 200", "\"prompt_tokens\":3,");
    pthread_join(thread, NULL);
    engine_close(f.engine);
}

static void two_threads(struct server_options *options) {
    options->http_threads = 2;
}

static void *send_calls(void *context) {
    const struct fixture *f = context;
    char body[64], tokens[64];
    for (int i = 0; i < 50; i++) {
        snprintf(body, sizeof body, "{\"input\":\"%.*s\"}", i % 20, "aaaaaaaaaaaaaaaaaaaaa");
        snprintf(tokens, sizeof tokens, "\"prompt_tokens\":%d,", i % 20 + 2);
        char *text = post(f, "", body);
        if (!strstr(text, tokens)) {
            fprintf(stderr, "no %s in %s\n", tokens, text);
            return text;
        }
        free(text);
    }
    return NULL;
}

static void clients_of_two_http_threads_get_their_own_answers(void **state) {
    (void)state;
    enum { CLIENTS = 8 };
    struct fixture f = start_ready(0, 100, two_threads);
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_calls, &f), 0);
    for (int i = 0; i < CLIENTS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    stop(&f);
}

static char socket_path[64];

static void on_unix_socket(struct server_options *options) {
    static char host[80];
    snprintf(socket_path, sizeof socket_path, "/tmp/bertd-test-%d.sock", (int)getpid());
    snprintf(host, sizeof host, "unix:%s", socket_path);
    options->host = host;
}

static void it_listens_on_a_unix_socket(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 10, on_unix_socket);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    assert_int_equal(strncmp(server_url(f.server), "unix:/", 6), 0);
    assert_int_equal(server_port(f.server), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    send_post(fd, "Connection: close\r\n", "{\"input\":\"a\"}");
    assert_answer(receive_all(fd), "HTTP/1.1 200", "\"prompt_tokens\":3,");
    stop(&f);
    assert_int_not_equal(access(socket_path, F_OK), 0);
}

static void a_port_in_use_is_one_clear_line(void **state) {
    (void)state;
    struct fixture f = start_ready(0, 10, NULL);
    struct server_options options;
    struct server *second = NULL;
    struct error err;
    server_options_init(&options);
    options.port = server_port(f.server);
    assert_int_equal(server_start(&options, &second, &err), STATUS_IO);
    assert_null(second);
    assert_has(err.message, "127.0.0.1");
    assert_null(strchr(err.message, '\n'));
    stop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_lives_while_loading_and_is_ready_with_the_engine),
        cmocka_unit_test(an_answer_has_the_form_of_the_contract),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(a_client_that_hangs_up_cancels_its_call),
        cmocka_unit_test(a_deadline_is_answered_even_when_the_engine_stands_still),
        cmocka_unit_test(a_full_queue_is_429_with_a_measured_wait),
        cmocka_unit_test(errors_of_the_engine_name_the_input),
        cmocka_unit_test(slow_headers_and_bodies_get_408_and_idle_ones_are_closed),
        cmocka_unit_test(many_inputs_are_answered_in_slices),
        cmocka_unit_test(long_bodies_are_read_beside_short_ones),
        cmocka_unit_test(a_refused_body_is_read_and_the_connection_goes_on),
        cmocka_unit_test(a_body_over_the_limit_is_413_in_both_framings),
        cmocka_unit_test(the_end_answers_calls_of_an_engine_that_stands_still),
        cmocka_unit_test(the_end_finishes_what_was_admitted_and_refuses_the_rest),
        cmocka_unit_test(clients_of_two_http_threads_get_their_own_answers),
        cmocka_unit_test(it_listens_on_a_unix_socket),
        cmocka_unit_test(a_port_in_use_is_one_clear_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
