/* bench_front.c: requests of a load over HTTP, and where the threads' processor time went. */
#include "server/bench_front.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "server/classify_read.h"
#include "server/fill_mask_read.h"
#include "server/load_run.h"
#include "server/state.h"

/* Requests that are sent in turn, at most. */
enum { REQUESTS_MAX = 512, BODY_BYTES_MAX = 1 << 24 };
static const uint64_t patience_ns = 10 * NS_PER_S;

struct bench_front {
    struct engine *engine;
    struct server *server;
};

enum status bench_front_open(struct engine *engine, struct bench_front **out, struct error *err) {
    struct server_options options;
    struct bench_front *front = calloc(1, sizeof *front);
    *out = NULL;
    if (!front)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the server");
    front->engine = engine;
    server_options_init(&options);
    options.port = 0;
    enum status status = server_start(&options, &front->server, err);
    if (status == STATUS_OK && server_set_engine(front->server, engine, NULL) != STATUS_OK)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for the server");
    if (status == STATUS_OK)
        *out = front;
    else
        bench_front_close(front);
    return status;
}

void bench_front_close(struct bench_front *front) {
    if (!front)
        return;
    server_stop(front->server);
    free(front);
}

/* {"input": ...} as a client would send it. */
static void body_write(const struct engine_input *input, struct json_writer *out) {
    json_put_begin_object(out);
    json_put_key(out, "input");
    if (input->ids) {
        json_put_begin_array(out);
        for (uint32_t i = 0; i < input->ids_count; i++)
            json_put_integer(out, input->ids[i]);
        json_put_end_array(out);
    } else if (input->text_pair.data) {
        json_put_begin_object(out);
        json_put_key(out, "text");
        json_put_string_view(out, input->text);
        json_put_key(out, "text_pair");
        json_put_string_view(out, input->text_pair);
        json_put_end_object(out);
    } else {
        json_put_string_view(out, input->text);
    }
    json_put_end_object(out);
}

/* Reads a body as the route does; the least time of a few goes. */
static double body_read_ns(const struct engine_info *info, struct view body) {
    enum { GOES = 3 };
    const struct call_rules rules = {info->name, info, LIMIT_CALL_INPUTS, true};
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < GOES; i++) {
        struct classify_call classify = {0};
        struct fill_mask_call fill_mask = {0};
        struct api_error err;
        const uint64_t start_ns = clock_now_ns();
        if (info->task_kind == ENGINE_FILL_MASK)
            fill_mask_read(body, &rules, &fill_mask, &err);
        else
            classify_read(body, &rules, &classify, &err);
        call_body_free(&fill_mask.body);
        call_body_free(&classify.body);
        const uint64_t ns = clock_now_ns() - start_ns;
        best_ns = ns < best_ns ? ns : best_ns;
    }
    return (double)best_ns;
}

/* Requests of up to REQUESTS_MAX inputs; *read_ns: the mean time of reading a body. */
static enum status requests_make(const struct engine_info *info, const struct bench_load *load,
                                 struct load_request *requests, uint32_t *count, double *read_ns) {
    const char *path = info->task_kind == ENGINE_FILL_MASK ? "/v1/fill_mask" : "/v1/classify";
    struct json_writer json;
    enum status status = STATUS_OK;
    json_writer_init(&json, BODY_BYTES_MAX);
    *read_ns = 0;
    for (*count = 0; *count < load->count && *count < REQUESTS_MAX && status == STATUS_OK;) {
        body_write(&load->inputs[*count], &json);
        if (json_writer_failed(&json))
            status = STATUS_NO_MEMORY;
        else
            status = load_request_make(path, json.data, json.bytes, &requests[*count]);
        if (status == STATUS_OK) {
            *read_ns += body_read_ns(info, (struct view){json.data, json.bytes});
            ++*count;
        }
        json_writer_free(&json);
        json_writer_init(&json, BODY_BYTES_MAX);
    }
    *read_ns /= *count > 0 ? *count : 1;
    return status;
}

enum thread_kind { THREAD_HTTP, THREAD_TOKENIZER, THREAD_STAGE, THREAD_KINDS };

/* By the start of its name. */
static enum thread_kind thread_find(const char *name) {
    static const struct {
        const char *start;
        enum thread_kind kind;
    } starts[] = {
        {"http", THREAD_HTTP},    {"reader", THREAD_HTTP}, {"tokenizer", THREAD_TOKENIZER},
        {"stage", THREAD_STAGE},  {"head", THREAD_STAGE},  {"helper", THREAD_STAGE},
        {"joiner", THREAD_STAGE},
    };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i].start, strlen(starts[i].start)) == 0)
            return starts[i].kind;
    return THREAD_KINDS;
}

/* The clock of a thread of this process, as the kernel numbers them: clock_getcpuclockid(3) has
 * only that of whole processes. */
static uint64_t thread_cpu_ns(long thread) {
    return clock_read_ns((clockid_t)((~(unsigned)thread << 3) | 6u));
}

/* Processor time of this process's threads so far, by kind. */
static void threads_read(double ns[THREAD_KINDS]) {
    DIR *tasks = opendir("/proc/self/task");
    memset(ns, 0, THREAD_KINDS * sizeof *ns);
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[64], name[32] = "";
        const long thread = strtol(task->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/self/task/%ld/comm", thread);
        FILE *file = thread > 0 ? fopen(path, "re") : NULL;
        if (!file)
            continue;
        const bool named = fgets(name, sizeof name, file);
        fclose(file);
        const enum thread_kind kind = named ? thread_find(name) : THREAD_KINDS;
        if (kind != THREAD_KINDS)
            ns[kind] += (double)thread_cpu_ns(thread);
    }
    if (tasks)
        closedir(tasks);
}

static enum status front_drive(struct bench_front *front, const struct load_options *options,
                               double read_ns, struct bench_front_result *out, struct error *err) {
    struct load_result result;
    struct engine_statistics before, after;
    double from[THREAD_KINDS], to[THREAD_KINDS];
    const struct histogram *writing = &front->server->metrics.phases[METRIC_PHASE_WRITE];
    const double written_s = histogram_sum(writing);
    engine_get_statistics(front->engine, &before);
    threads_read(from);
    enum status status = load_run(options, &result, err);
    if (status != STATUS_OK)
        return status;
    threads_read(to);
    engine_get_statistics(front->engine, &after);
    const uint64_t failed = result.due - result.ok;
    const double tokens = (double)(after.tokens - before.tokens), texts = (double)result.ok;
    if (failed > 0 || tokens < 1)
        status = error_set(err, STATUS_INTERNAL, "%llu of %llu answers were not 200",
                           (unsigned long long)failed, (unsigned long long)result.due);
    else
        *out = (struct bench_front_result){
            .tokens_per_second = tokens / result.seconds,
            .json_read_ns = read_ns * texts / tokens,
            .json_write_ns = (histogram_sum(writing) - written_s) * (double)NS_PER_S / tokens,
            .tokenizer_ns = (to[THREAD_TOKENIZER] - from[THREAD_TOKENIZER]) / tokens,
            .stages_ns = (to[THREAD_STAGE] - from[THREAD_STAGE]) / tokens,
        };
    out->http_ns = (to[THREAD_HTTP] - from[THREAD_HTTP]) / (tokens > 0 ? tokens : 1) -
                   out->json_read_ns - out->json_write_ns;
    load_result_free(&result);
    return status;
}

enum status bench_front_measure(struct bench_front *front, const struct bench_load *load,
                                uint32_t clients, uint64_t duration_ns,
                                struct bench_front_result *out, struct error *err) {
    struct load_request *requests = calloc(REQUESTS_MAX, sizeof *requests);
    uint32_t count = 0;
    double read_ns;
    *out = (struct bench_front_result){0};
    enum status status = STATUS_NO_MEMORY;
    if (requests)
        status = requests_make(engine_get_info(front->engine), load, requests, &count, &read_ns);
    if (status != STATUS_OK) {
        error_set(err, status, "%s", status_meaning(status));
    } else {
        const struct load_options options = {
            .host.s_addr = htonl(INADDR_LOOPBACK),
            .port = server_port(front->server),
            .requests = requests,
            .requests_count = count,
            .connections = clients < LOAD_CONNECTIONS_MAX ? clients : LOAD_CONNECTIONS_MAX,
            .duration_ns = duration_ns,
            .patience_ns = patience_ns,
        };
        status = front_drive(front, &options, read_ns, out, err);
    }
    for (uint32_t i = 0; i < count; i++)
        load_request_free(&requests[i]);
    free(requests);
    return status;
}
