/* metrics.c: counts, and their text form. */
#include "server/metrics.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "server/process_metrics.h"
#include "server/state.h"
#include "server/version.h"

static const char *const route_labels[] = {
#define METRIC_ROUTE_LABEL(name, label) label,
    METRIC_ROUTE_TABLE(METRIC_ROUTE_LABEL)
#undef METRIC_ROUTE_LABEL
};

static const char *const outcome_labels[] = {
#define METRIC_OUTCOME_LABEL(name, label) label,
    METRIC_OUTCOME_TABLE(METRIC_OUTCOME_LABEL)
#undef METRIC_OUTCOME_LABEL
};

static const char *const phase_labels[] = {"tokenize", "queue", "compute", "write"};

static const double seconds_bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                        0.25,   0.5,   1,      2.5,   5,    10,    30};
enum { SECONDS_BOUNDS_COUNT = sizeof seconds_bounds / sizeof seconds_bounds[0] };

void metrics_init(struct metrics *metrics) {
    for (int route = 0; route < METRIC_ROUTE_COUNT; route++) {
        for (int outcome = 0; outcome < METRIC_OUTCOME_COUNT; outcome++)
            atomic_init(&metrics->requests[route][outcome], 0);
        histogram_init(&metrics->durations[route], seconds_bounds, SECONDS_BOUNDS_COUNT);
    }
    for (int phase = 0; phase < METRIC_PHASE_COUNT; phase++)
        histogram_init(&metrics->phases[phase], seconds_bounds, SECONDS_BOUNDS_COUNT);
}

enum metric_outcome metrics_outcome(enum api_code code) {
    if (code == API_CODE_COUNT)
        return METRIC_OUTCOME_OK;
    switch (code) {
    case API_BODY_TOO_LARGE:
    case API_TOO_MANY_INPUTS:
    case API_CALL_TOO_LARGE:
    case API_TARGET_TOO_LONG:
    case API_INPUT_TOO_LONG:
    case API_HEADERS_TOO_LARGE:
        return METRIC_OUTCOME_TOO_LARGE;
    case API_QUEUE_FULL:
        return METRIC_OUTCOME_QUEUE_FULL;
    case API_REQUEST_TIMEOUT:
    case API_DEADLINE_EXCEEDED:
        return METRIC_OUTCOME_DEADLINE;
    case API_CLIENT_GONE:
        return METRIC_OUTCOME_CANCELLED;
    case API_CODING_NOT_IMPLEMENTED: /* 501, but the client's fault */
        return METRIC_OUTCOME_INVALID;
    case API_LOADING:
    case API_DRAINING:
    case API_STAGE_STUCK:
        return METRIC_OUTCOME_UNAVAILABLE;
    default:
        return api_code_http_status(code) < 500 ? METRIC_OUTCOME_INVALID : METRIC_OUTCOME_ERROR;
    }
}

void metrics_count(struct metrics *metrics, enum metric_route route, enum metric_outcome outcome,
                   uint64_t duration_ns) {
    atomic_fetch_add_explicit(&metrics->requests[route][outcome], 1, memory_order_relaxed);
    histogram_observe(&metrics->durations[route], (double)duration_ns / (double)NS_PER_S);
}

void metrics_observe_phase(struct metrics *metrics, enum metric_phase phase, uint64_t duration_ns) {
    histogram_observe(&metrics->phases[phase], (double)duration_ns / (double)NS_PER_S);
}

static void write_family(struct json_writer *out, const char *name, const char *type,
                         const char *help) {
    json_writer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* `labels` without braces, may be empty. */
static void write_histogram(struct json_writer *out, const char *name, const char *labels,
                            const struct histogram *histogram) {
    const char *comma = *labels ? "," : "";
    uint64_t count = 0;
    for (uint32_t i = 0; i < histogram->bounds_count; i++) {
        count += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        json_writer_printf(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, comma,
                           histogram->bounds[i], (unsigned long long)count);
    }
    count +=
        atomic_load_explicit(&histogram->counts[histogram->bounds_count], memory_order_relaxed);
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    json_writer_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n%s_sum%s%s%s %.6f\n", name, labels,
                       comma, (unsigned long long)count, name, open, labels, close,
                       histogram_sum(histogram));
    json_writer_printf(out, "%s_count%s%s%s %llu\n", name, open, labels, close,
                       (unsigned long long)count);
}

static void write_requests(const struct metrics *metrics, struct json_writer *out) {
    char labels[96];
    write_family(out, "bertd_requests_total", "counter", "HTTP requests by route and outcome.");
    for (int route = 0; route < METRIC_ROUTE_COUNT; route++)
        for (int outcome = 0; outcome < METRIC_OUTCOME_COUNT; outcome++)
            json_writer_printf(out, "bertd_requests_total{route=\"%s\",outcome=\"%s\"} %llu\n",
                               route_labels[route], outcome_labels[outcome],
                               (unsigned long long)atomic_load_explicit(
                                   &metrics->requests[route][outcome], memory_order_relaxed));
    write_family(out, "bertd_request_duration_seconds", "histogram",
                 "From the end of the headers to the end of the answer.");
    for (int route = 0; route < METRIC_ROUTE_COUNT; route++) {
        snprintf(labels, sizeof labels, "route=\"%s\"", route_labels[route]);
        write_histogram(out, "bertd_request_duration_seconds", labels, &metrics->durations[route]);
    }
    write_family(out, "bertd_phase_duration_seconds", "histogram",
                 "Where the time of answered calls went.");
    for (int phase = 0; phase < METRIC_PHASE_COUNT; phase++) {
        snprintf(labels, sizeof labels, "phase=\"%s\"", phase_labels[phase]);
        write_histogram(out, "bertd_phase_duration_seconds", labels, &metrics->phases[phase]);
    }
}

/* A label value: backslash, quote and newline are escaped; cut to the room. */
static void escape_label(char *out, size_t room, const char *text) {
    size_t n = 0;
    for (; *text && n + 3 < room; text++) {
        if (*text == '\\' || *text == '"' || *text == '\n')
            out[n++] = '\\';
        out[n++] = *text == '\n' ? 'n' : *text;
    }
    out[n] = '\0';
}

static void write_value(struct json_writer *out, const char *name, const char *type,
                        const char *help, const char *labels, double value) {
    write_family(out, name, type, help);
    json_writer_printf(out, "%s%s%s%s %.15g\n", name, *labels ? "{" : "", labels,
                       *labels ? "}" : "", value);
}

static void write_model(struct server *server, struct engine *engine, struct json_writer *out) {
    const struct engine_info *info = engine_get_info(engine);
    struct engine_statistics statistics;
    engine_get_statistics(engine, &statistics);
    char model[200], labels[640];
    escape_label(model, sizeof model, server->model_name);
    snprintf(labels, sizeof labels, "model=\"%s\",task=\"%s\"", model, info->task);
    write_value(out, "bertd_inputs_total", "counter", "Inputs answered.", labels,
                (double)statistics.inputs);
    snprintf(labels, sizeof labels, "model=\"%s\"", model);
    write_value(out, "bertd_tokens_total", "counter", "Tokens answered, special tokens included.",
                labels, (double)statistics.tokens);
    write_value(out, "bertd_truncated_total", "counter", "Inputs that were cut.", labels,
                (double)statistics.truncated);
    snprintf(labels, sizeof labels,
             "model=\"%s\",revision=\"%s\",dtype=\"%s\",family=\"%s\",task=\"%s\"", model,
             info->revision, info->dtype, info->family, info->task);
    write_value(out, "bertd_model_info", "gauge", "What is served.", labels, 1);
    write_value(out, "bertd_queue_tokens", "gauge",
                "Tokens admitted and not yet taken by the first stage.", "",
                (double)statistics.queue_tokens);
    write_value(out, "bertd_in_flight", "gauge", "Calls admitted and not yet answered.", "",
                (double)statistics.calls_in_flight);
    write_family(out, "bertd_microbatch_tokens", "histogram", "Tokens of a microbatch.");
    write_histogram(out, "bertd_microbatch_tokens", "", statistics.microbatch_tokens);
    write_family(out, "bertd_microbatch_inputs", "histogram", "Inputs of a microbatch.");
    write_histogram(out, "bertd_microbatch_inputs", "", statistics.microbatch_inputs);
}

static void write_stages(struct server *server, struct engine *engine, struct json_writer *out) {
    static const char *const names[] = {"bertd_stage_busy_seconds_total",
                                        "bertd_stage_starved_seconds_total",
                                        "bertd_stage_blocked_seconds_total"};
    static const char *const helps[] = {"Time a stage spent on microbatches.",
                                        "Time a stage waited for input.",
                                        "Time a stage waited for room downstream."};
    char model[200];
    escape_label(model, sizeof model, server->model_name);
    for (int i = 0; i < 3; i++) {
        struct stage_statistics stage;
        write_family(out, names[i], "counter", helps[i]);
        for (uint32_t index = 0; engine_get_stage(engine, index, &stage); index++) {
            uint64_t ns = i == 0 ? stage.busy_ns : i == 1 ? stage.starved_ns : stage.blocked_ns;
            json_writer_printf(out, "%s{model=\"%s\",replica=\"%u\",stage=\"%s\"} %.6f\n", names[i],
                               model, stage.replica, stage.name, (double)ns / (double)NS_PER_S);
        }
    }
}

void metrics_write(struct server *server, struct json_writer *out) {
    struct engine *engine = atomic_load(&server->engine);
    const char *reason;
    write_requests(&server->metrics, out);
    if (engine) {
        write_model(server, engine, out);
        write_stages(server, engine, out);
    }
    write_value(out, "bertd_ready", "gauge", "1: calls are taken.", "",
                server_readiness(server, &reason) == API_CODE_COUNT);
    write_value(out, "bertd_build_info", "gauge", "The program.", "version=\"" BERTD_VERSION "\"",
                1);
    process_metrics_write(out);
}
