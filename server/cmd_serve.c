/* cmd_serve.c: `bertd serve`: starts the front end, then the engine, says that it is ready, and
 * waits for the signal to stop. The main thread does nothing else. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "server/commands.h"
#include "server/engine_start.h"
#include "server/server.h"
#include "server/shutdown.h"

enum { DAY_MS = 24 * 3600 * 1000 };

struct settings {
    struct engine_settings engine;
    const char *host;
    uint64_t port, max_queue_tokens, max_call_inputs, max_call_tokens, max_body, max_body_memory;
    uint64_t max_connections, http_threads;
    uint64_t header_timeout_ms, body_timeout_ms, idle_timeout_ms, timeout_ms;
    uint64_t drain_delay_ms, drain_timeout_ms;
    uint32_t log_level, log_format;
    bool truncate, access_log;
};

/* clang-format off */
#define FIELD(member) .offset = offsetof(struct settings, member), .environment = true
#define TIME_ROW(name_, member, min_, fallback_, help_)                                            \
    {.name = (name_), .kind = OPTION_TIME, FIELD(member), .min = (min_), .max = DAY_MS,            \
     .fallback = (fallback_), .help = (help_)}

static const struct option options[] = {
    OPTION_ROW_MODEL(struct settings, engine),
    {.name = "host", .kind = OPTION_STRING, FIELD(host), .value_name = "ADDRESS",
     .fallback = "127.0.0.1", .help = "address to listen on, or unix:PATH"},
    {.name = "port", .kind = OPTION_COUNT, FIELD(port), .max = 65535, .fallback = "8080",
     .help = "port to listen on; 0 picks one"},
    OPTION_ROW_DTYPE(struct settings, engine),
    OPTION_ROWS_PLAN(struct settings, engine),
    OPTION_ROWS_FLOW(struct settings, engine),
    OPTION_ROWS_WATCH(struct settings, engine),
    {.name = "max-queue-tokens", .kind = OPTION_COUNT, FIELD(max_queue_tokens), .min = 1,
     .max = 1ULL << 40, .word = "auto", .fallback = "auto",
     .help = "tokens that may wait, then 429; auto: half a second of measured work"},
    {.name = "max-call-inputs", .kind = OPTION_COUNT, FIELD(max_call_inputs), .min = 1,
     .max = 1000000, .fallback = "2048", .help = "inputs of one call, then 413"},
    {.name = "max-call-tokens", .kind = OPTION_COUNT, FIELD(max_call_tokens), .min = 1,
     .max = 1ULL << 28, .fallback = "262144", .help = "tokens of one call, then 413"},
    {.name = "max-body", .kind = OPTION_BYTES, FIELD(max_body), .min = 1, .max = 1ULL << 30,
     .fallback = "8M", .help = "bytes of one body, then 413"},
    {.name = "max-body-memory", .kind = OPTION_BYTES, FIELD(max_body_memory), .min = 1,
     .max = 1ULL << 40, .fallback = "256M", .help = "bytes of all bodies together, then 429"},
    {.name = "max-connections", .kind = OPTION_COUNT, FIELD(max_connections), .min = 1,
     .max = 1000000, .fallback = "4096", .help = "open connections"},
    TIME_ROW("header-timeout", header_timeout_ms, 1, "10s", "first byte to end of the headers"),
    TIME_ROW("body-timeout", body_timeout_ms, 1, "30s", "end of the headers to end of the body"),
    TIME_ROW("idle-timeout", idle_timeout_ms, 1, "75s", "between two exchanges of a connection"),
    TIME_ROW("timeout", timeout_ms, 1, "30s", "deadline of a call, then 504"),
    OPTION_ROW_TRUNCATE(struct settings, truncate),
    {.name = "http-threads", .kind = OPTION_COUNT, FIELD(http_threads), .min = 1,
     .max = LIMIT_HTTP_THREADS, .fallback = "1", .help = "threads that speak HTTP"},
    TIME_ROW("drain-delay", drain_delay_ms, 0, "0", "not ready, but still serving, after SIGTERM"),
    TIME_ROW("drain-timeout", drain_timeout_ms, 0, "30s", "for the calls in flight after that"),
    {.name = "log-level", .kind = OPTION_CHOICE, FIELD(log_level),
     .choices = "error|warn|info|debug", .fallback = "info", .help = "least level that is logged"},
    {.name = "log-format", .kind = OPTION_CHOICE, FIELD(log_format), .choices = "text|json",
     .fallback = "text", .help = "form of the log on standard error"},
    {.name = "access-log", .kind = OPTION_FLAG, FIELD(access_log),
     .help = "log one line an exchange"},
};
/* clang-format on */

/* As flags these are unknown like any other name; as variables they would go unnoticed, and a
 * server must not start without the API key that it was given. */
static const char *const later_names[] = {
    "api-key", "api-key-file", "cors-origin", "tls-cert", "tls-key", "admin-port", NULL,
};

static int run(int argc, char **argv);

const struct command command_serve = {
    .name = "serve",
    .summary = "Run the server.",
    OPTION_TABLE(struct settings, options),
    .later_names = later_names,
    .run = run,
};

static void fill_server_options(const struct settings *settings, struct server_options *out) {
    server_options_init(out);
    out->host = settings->host;
    out->port = (uint16_t)settings->port;
    out->body_bytes_max = settings->max_body;
    out->body_memory_bytes_max = settings->max_body_memory;
    out->connections_max = (uint32_t)settings->max_connections;
    out->header_timeout_ms = (uint32_t)settings->header_timeout_ms;
    out->body_timeout_ms = (uint32_t)settings->body_timeout_ms;
    out->idle_timeout_ms = (uint32_t)settings->idle_timeout_ms;
    out->call_timeout_ms = (uint32_t)settings->timeout_ms;
    out->call_inputs_max = (uint32_t)settings->max_call_inputs;
    out->truncate = settings->truncate;
    out->http_threads = (uint32_t)settings->http_threads;
    out->drain_delay_ms = (uint32_t)settings->drain_delay_ms;
    out->drain_timeout_ms = (uint32_t)settings->drain_timeout_ms;
    out->access_log = settings->access_log;
}

/* One log line for each line of a text. */
static void log_lines(const char *text) {
    while (*text) {
        size_t bytes = strcspn(text, "\n");
        if (bytes)
            log_write(LOG_INFO, "%.*s", (int)bytes, text);
        text += bytes + (text[bytes] == '\n');
    }
}

static void report_engine(const struct engine *engine) {
    const struct engine_info *info = engine_get_info(engine);
    char labels[32] = "";
    if (info->labels_count)
        snprintf(labels, sizeof labels, ", %u label%s", info->labels_count,
                 info->labels_count == 1 ? "" : "s");
    log_write(LOG_INFO, "model %s: %s, %s%s, dtype %s, up to %u tokens", info->name, info->family,
              info->task, labels, info->dtype, info->tokens_max);
    log_lines(engine_plan_text(engine));
    log_write(LOG_INFO,
              "%.0f tokens a second measured, microbatches of up to %u tokens, queue of %llu "
              "tokens",
              info->tokens_per_second, info->microbatch_tokens,
              (unsigned long long)info->queue_tokens_max);
}

/* The ready line, whatever the log's level and form are: scripts wait for it. */
static void print_ready(const struct server *server) {
    char line[512];
    int bytes = snprintf(line, sizeof line, "bertd: listening on %s\n", server_url(server));
    if (write(STDERR_FILENO, line, (size_t)bytes) < 0)
        return; /* nobody reads standard error; serving goes on */
}

/* With the front end up: loads, serves until the signal. */
static enum status serve(const struct settings *settings, const struct model_source *source,
                         struct server *server, struct engine **engine, struct error *err) {
    struct engine_options engine_options;
    engine_start_options(&settings->engine, source, &engine_options);
    engine_options.queue_tokens_max = settings->max_queue_tokens;
    engine_options.call_tokens_max = (uint32_t)settings->max_call_tokens;
    enum status status = engine_open(&engine_options, engine, err);
    if (status != STATUS_OK || shutdown_requested())
        return status;
    report_engine(*engine);
    status = server_set_engine(server, *engine, *source->name ? source->name : NULL);
    if (status != STATUS_OK)
        return error_set(err, status, "%s", status_meaning(status));
    print_ready(server);
    shutdown_wait();
    if (settings->drain_delay_ms)
        log_write(LOG_INFO, "stopping: not ready, but calls are taken for %llu ms more",
                  (unsigned long long)settings->drain_delay_ms);
    else
        log_write(LOG_INFO, "stopping: no new calls, those in flight are finished");
    return STATUS_OK;
}

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    struct model_source source;
    struct server_options server_options;
    struct server *server = NULL;
    struct engine *engine = NULL;
    struct error err;
    int exit_status;
    if (!options_begin(&command_serve, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    log_init((enum log_level)settings.log_level, (enum log_format)settings.log_format);
    if (!engine_start_find(&command_serve, &settings.engine, &source, &exit_status))
        return exit_status;
    fill_server_options(&settings, &server_options);
    enum status status = shutdown_start(SHUTDOWN_HANGUP_IGNORED, &err);
    if (status == STATUS_OK)
        status = server_start(&server_options, &server, &err);
    if (status == STATUS_OK)
        status = serve(&settings, &source, server, &engine, &err);
    server_stop(server);
    const enum status closed = engine_close(engine);
    if (status != STATUS_OK)
        return engine_start_fail(&command_serve, &err);
    return closed == STATUS_OK ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
