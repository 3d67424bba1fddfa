/* server.c: start, readiness and the order of the end. */
#include "server/server.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "engine/base/clock.h"
#include "engine/base/limits.h"
#include "engine/base/log.h"
#include "server/http.h"
#include "server/listen.h"
#include "server/reader.h"
#include "server/state.h"

enum { RETRY_SECONDS_MAX = 60, POLL_MS = 5, OTHER_FILES = 256 };

void server_options_init(struct server_options *options) {
    *options = (struct server_options){
        .host = "127.0.0.1",
        .port = 8080,
        .body_bytes_max = LIMIT_BODY_BYTES,
        .body_memory_bytes_max = LIMIT_BODY_MEMORY_BYTES,
        .connections_max = LIMIT_CONNECTIONS,
        .header_timeout_ms = LIMIT_HEADER_TIMEOUT_MS,
        .body_timeout_ms = LIMIT_BODY_TIMEOUT_MS,
        .idle_timeout_ms = LIMIT_IDLE_TIMEOUT_MS,
        .call_timeout_ms = LIMIT_CALL_TIMEOUT_MS,
        .call_inputs_max = LIMIT_CALL_INPUTS,
        .truncate = true,
        .http_threads = 1,
        .drain_timeout_ms = LIMIT_DRAIN_TIMEOUT_MS,
    };
}

static void sleep_ms(uint32_t ms) {
    const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* Each connection is a descriptor; the soft limit is often 1024. */
static void raise_open_files(uint32_t connections_max) {
    struct rlimit limit;
    rlim_t need = (rlim_t)connections_max + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need)
        return;
    limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < need)
        log_write(LOG_WARN, "the system allows %llu open files, --max-connections %u wants %llu",
                  (unsigned long long)limit.rlim_cur, connections_max, (unsigned long long)need);
}

static void server_free(struct server *server) {
    reader_stop(server->reader);
    listen_close(server->listener, server->url);
    free(server->host);
    free(server->url);
    free(server->model_name);
    free(server);
}

enum status server_start(const struct server_options *options, struct server **out,
                         struct error *err) {
    *out = NULL;
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the server");
    server->listener = -1;
    server->options = *options;
    server->started = time(NULL);
    metrics_init(&server->metrics);
    if (getrandom(&server->run_number, sizeof server->run_number, 0) < 0)
        server->run_number = clock_now_ns();
    enum status status = STATUS_OK;
    server->host = strdup(options->host);
    if (!server->host)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for the server");
    server->options.host = server->host;
    if (status == STATUS_OK)
        status = listen_open(server->host, options->port, &server->listener, &server->url,
                             &server->port, err);
    if (status == STATUS_OK) {
        raise_open_files(options->connections_max);
        /* A connection has one body at a time, so this is room for all. */
        status =
            reader_start(options->connections_max + options->http_threads, &server->reader, err);
    }
    if (status == STATUS_OK) {
        status = http_start(server, server->listener, &server->http, err);
    }
    if (status != STATUS_OK) {
        server_free(server);
        return status;
    }
    *out = server;
    return STATUS_OK;
}

enum status server_set_engine(struct server *server, struct engine *engine, const char *name) {
    server->model_name = strdup(name ? name : engine_get_info(engine)->name);
    if (!server->model_name)
        return STATUS_NO_MEMORY;
    atomic_store(&server->engine, engine);
    return STATUS_OK;
}

void server_stop(struct server *server) {
    if (!server)
        return;
    struct engine *engine = atomic_load(&server->engine);
    atomic_store(&server->phase, PHASE_LEAVING);
    if (engine)
        sleep_ms(server->options.drain_delay_ms);
    atomic_store(&server->phase, PHASE_DRAINING);
    if (engine)
        engine_drain(engine);
    uint64_t end_ns = clock_now_ns() + server->options.drain_timeout_ms * NS_PER_MS;
    while (http_busy(server->http) > 0 && clock_now_ns() < end_ns)
        sleep_ms(POLL_MS);
    http_stop(server->http);
    server_free(server);
}

uint16_t server_port(const struct server *server) {
    return server->port;
}

const char *server_url(const struct server *server) {
    return server->url;
}

enum api_code server_readiness(struct server *server, const char **reason) {
    struct engine *engine = atomic_load(&server->engine);
    struct engine_statistics statistics;
    *reason = NULL;
    if (atomic_load(&server->phase) != PHASE_SERVING) {
        *reason = "the server finishes what it has and stops";
        return API_DRAINING;
    }
    if (!engine) {
        *reason = "the model is being loaded";
        return API_LOADING;
    }
    engine_get_statistics(engine, &statistics);
    if (statistics.stuck_stage) {
        *reason = statistics.stuck_stage;
        return API_STAGE_STUCK;
    }
    return API_CODE_COUNT;
}

unsigned server_retry_after(struct server *server, enum api_code code) {
    struct engine *engine = atomic_load(&server->engine);
    struct engine_statistics statistics;
    if (code != API_QUEUE_FULL || !engine)
        return 1;
    engine_get_statistics(engine, &statistics);
    double rate = statistics.drain_tokens_per_second > 0
                      ? statistics.drain_tokens_per_second
                      : engine_get_info(engine)->tokens_per_second;
    double seconds = rate > 0 ? ceil((double)statistics.queue_tokens / rate) : 1;
    if (!(seconds > 1))
        return 1;
    return seconds < RETRY_SECONDS_MAX ? (unsigned)seconds : RETRY_SECONDS_MAX;
}

void server_make_id(struct server *server, char out[17]) {
    uint64_t number = atomic_fetch_add(&server->next_id, 1);
    /* An odd factor maps numbers to numbers one to one, so ids do not repeat. */
    snprintf(out, 17, "%016llx",
             (unsigned long long)(server->run_number + number * 0x9E3779B97F4A7C15ULL));
}
