/* cmd_serve.c: `bertd serve`: the server from start to end.
 *
 * The HTTP front end is up first, so that /livez answers while the engine opens; then come the
 * plan's table and, as the last line of the start, the ready line. Signals are blocked in every
 * thread and taken here by sigwait(): the first one drains, a second one ends at once. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "server/commands.h"
#include "server/engine_start.h"
#include "server/server.h"

struct settings {
    struct engine_settings engine;
    const char *host;
    uint64_t port, queue_tokens_max, call_inputs_max, call_tokens_max;
    uint64_t body_bytes_max, body_memory_bytes_max, connections_max;
    uint64_t header_timeout_ms, body_timeout_ms, idle_timeout_ms, call_timeout_ms;
    uint64_t drain_delay_ms, drain_timeout_ms, http_threads;
    uint32_t log_level, log_format;
    bool truncate, access_log;
};

/* clang-format off */
#define FIELD(name_) .offset = offsetof(struct settings, name_), .environment = true
#define ROW_TIME(name_, field, min_, fallback_, help_)                                             \
    {.name = (name_), .kind = OPTION_TIME, FIELD(field), .min = (min_), .max = TIME_MS_MAX,        \
     .fallback = (fallback_), .help = (help_)}
#define ROW_COUNT(name_, field, min_, max_, fallback_, help_)                                      \
    {.name = (name_), .kind = OPTION_COUNT, FIELD(field), .min = (min_), .max = (max_),            \
     .fallback = (fallback_), .help = (help_)}
#define ROW_BYTES(name_, field, fallback_, help_)                                                  \
    {.name = (name_), .kind = OPTION_BYTES, FIELD(field), .min = 1, .max = BYTES_MAX,              \
     .fallback = (fallback_), .help = (help_)}
/* clang-format on */

#define TIME_MS_MAX 86400000u
#define BYTES_MAX   (1ULL << 40)

static const struct option options[] = {
    {.name = "host",
     .kind = OPTION_STRING,
     FIELD(host),
     .value_name = "HOST",
     .fallback = "127.0.0.1",
     .help = "name, IPv4 or IPv6 address to listen on, or unix:PATH"},
    ROW_COUNT("port", port, 0, 65535, "8080", "0 picks a free one and prints it"),
    OPTION_ROW_MODEL(struct settings, engine),
    OPTION_ROW_DTYPE(struct settings, engine),
    OPTION_ROWS_PLAN(struct settings, engine),
    OPTION_ROWS_FLOW(struct settings, engine),
    OPTION_ROW_AUTO(struct settings, queue_tokens_max, "max-queue-tokens", UINT32_MAX,
                    "tokens that may wait before calls are refused (half a second of work)"),
    ROW_COUNT("max-call-inputs", call_inputs_max, 1, 1000000, "2048", "inputs of one call"),
    ROW_COUNT("max-call-tokens", call_tokens_max, 1, UINT32_MAX / 2, "262144",
              "tokens of one call, by exact count"),
    ROW_BYTES("max-body", body_bytes_max, "8M", "bytes of one body"),
    ROW_BYTES("max-body-memory", body_memory_bytes_max, "256M", "bytes of all bodies together"),
    ROW_COUNT("max-connections", connections_max, 1, 1000000, "4096", "open connections"),
    ROW_TIME("header-timeout", header_timeout_ms, 1, "10s", "first byte to end of headers"),
    ROW_TIME("body-timeout", body_timeout_ms, 1, "30s", "end of headers to end of body"),
    ROW_TIME("idle-timeout", idle_timeout_ms, 1, "75s", "between two requests of a connection"),
    ROW_TIME("timeout", call_timeout_ms, 1, "30s", "a call's deadline"),
    OPTION_ROW_TRUNCATE(struct settings, truncate),
    ROW_COUNT("http-threads", http_threads, 1, LIMIT_HTTP_THREADS, "1", "HTTP threads"),
    ROW_TIME("drain-delay", drain_delay_ms, 0, "0", "after SIGTERM: not ready, still serving"),
    ROW_TIME("drain-timeout", drain_timeout_ms, 0, "30s", "for the calls in flight at the end"),
    {.name = "log-level",
     .kind = OPTION_CHOICE,
     FIELD(log_level),
     .choices = "error|warning|info|debug",
     .fallback = "info",
     .help = "least important line that is logged"},
    {.name = "log-format",
     .kind = OPTION_CHOICE,
     FIELD(log_format),
     .choices = "text|json",
     .fallback = "text",
     .help = "form of the log lines"},
    {.name = "access-log",
     .kind = OPTION_FLAG,
     FIELD(access_log),
     .help = "one log line for each request"},
};

static int run(int argc, char **argv);

const struct command command_serve = {
    .name = "serve",
    .summary = "Run the server.",
    OPTION_TABLE(options),
    .run = run,
};

static void server_options_fill(const struct settings *settings, struct server_options *out) {
    server_options_init(out);
    out->host = settings->host;
    out->port = (uint16_t)settings->port;
    out->body_bytes_max = settings->body_bytes_max;
    out->body_memory_bytes_max = settings->body_memory_bytes_max;
    out->connections_max = (uint32_t)settings->connections_max;
    out->header_timeout_ms = (uint32_t)settings->header_timeout_ms;
    out->body_timeout_ms = (uint32_t)settings->body_timeout_ms;
    out->idle_timeout_ms = (uint32_t)settings->idle_timeout_ms;
    out->call_timeout_ms = (uint32_t)settings->call_timeout_ms;
    out->call_inputs_max = (uint32_t)settings->call_inputs_max;
    out->truncate = settings->truncate;
    out->http_threads = (uint32_t)settings->http_threads;
    out->drain_delay_ms = (uint32_t)settings->drain_delay_ms;
    out->drain_timeout_ms = (uint32_t)settings->drain_timeout_ms;
    out->access_log = settings->access_log;
}

/* A second signal during the end: nothing is waited for any more. */
static void end_at_once(int number) {
    _exit(128 + number);
}

static void signals_block(sigset_t *ends) {
    sigemptyset(ends);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, ends, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void signals_end_at_once(const sigset_t *ends) {
    const struct sigaction action = {.sa_handler = end_at_once};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, ends, NULL);
}

static void log_plan(const struct engine *engine) {
    const char *line = engine_plan_text(engine);
    for (const char *end; *line; line = *end ? end + 1 : end) {
        end = strchr(line, '\n');
        if (!end)
            end = line + strlen(line);
        if (end > line)
            log_write(LOG_INFO, "%.*s", (int)(end - line), line);
    }
}

/* Opens the engine behind the running front end and waits for the end. */
static int serve(const struct settings *settings, const struct model_source *source,
                 struct server *server, const sigset_t *ends) {
    struct engine_options engine_options;
    struct engine *engine;
    struct error err;
    engine_start_options(&settings->engine, source, &engine_options);
    engine_options.queue_tokens_max = settings->queue_tokens_max;
    engine_options.call_tokens_max = (uint32_t)settings->call_tokens_max;
    if (engine_open(&engine_options, &engine, &err) != STATUS_OK) {
        server_stop(server);
        return engine_start_fail(&command_serve, &err);
    }
    int exit_status = EXIT_STATUS_OK, number = 0;
    if (server_set_engine(server, engine, source->name[0] ? source->name : NULL) != STATUS_OK) {
        error_set(&err, STATUS_NO_MEMORY, "no memory for the model's name");
        exit_status = engine_start_fail(&command_serve, &err);
    } else {
        log_plan(engine);
        /* Not a log line: programs wait for it, whatever the level and the format. */
        fprintf(stderr, "bertd: listening on %s\n", server_url(server));
        while (sigwait(ends, &number) != 0)
            continue;
        log_write(LOG_INFO, "signal %d: finishing what is in flight", number);
    }
    signals_end_at_once(ends);
    server_stop(server);
    engine_close(engine);
    return exit_status;
}

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    struct model_source source;
    struct server_options server_options;
    struct server *server;
    struct error err;
    sigset_t ends;
    int exit_status;
    if (!options_begin(&command_serve, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    log_init((enum log_level)settings.log_level, (enum log_format)settings.log_format);
    if (!engine_start_find(&command_serve, &settings.engine, &source))
        return EXIT_STATUS_FAILED;
    signals_block(&ends);
    server_options_fill(&settings, &server_options);
    if (server_start(&server_options, &server, &err) != STATUS_OK)
        return engine_start_fail(&command_serve, &err);
    return serve(&settings, &source, server, &ends);
}
