/* poisson.c: a load generator for any HTTP/1.1 server that answers POST with a Content-Length:
 *
 *   poisson --port N [--path /v1/classify] --bodies FILE [--connections N] [--rate R]
 *           [--seconds S] [--patience S] [--seed N]
 *
 * A line of FILE is one JSON body. With a rate, requests are due at the times of a Poisson process
 * and latency counts from then; without one, a closed loop (server/load_run.h). One thread,
 * loopback only. Prints one line of JSON:
 *   {"due","ok","refused","broken","unanswered","seconds","rate","p50_ms","p99_ms","p999_ms","cpu"}
 * `rate` is answers with 200 a second, `cpu` this program's own share of a core. Status 0 when all
 * that was due was answered with 200, 1 when not, 2 for a wrong command line. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "server/json_write.h"
#include "server/load_run.h"

enum { REQUESTS_MAX = 100000, ANSWERED = 0, NOT_ANSWERED = 1, WRONG_USE = 2 };

struct settings {
    double port, connections, rate, seconds, patience, seed;
    const char *path, *bodies;
};

/* A number of the command line and what it may be. */
struct number {
    const char *name;
    double *value, min, max;
};

static bool number_read(const struct number *numbers, size_t count, const char *name,
                        const char *text) {
    for (size_t i = 0; i < count; i++) {
        char *end;
        if (strcmp(name, numbers[i].name) != 0)
            continue;
        *numbers[i].value = strtod(text, &end);
        if (end != text && !*end && *numbers[i].value >= numbers[i].min &&
            *numbers[i].value <= numbers[i].max)
            return true;
        fprintf(stderr, "poisson: %s: got '%s', allowed: %g to %g\n", name, text, numbers[i].min,
                numbers[i].max);
        return false;
    }
    fprintf(stderr, "poisson: unknown option %s\n", name);
    return false;
}

static bool settings_read(int argc, char **argv, struct settings *out) {
    *out = (struct settings){
        .connections = 64, .seconds = 10, .patience = 10, .seed = 1, .path = "/v1/classify"};
    const struct number numbers[] = {
        {"--port", &out->port, 1, UINT16_MAX},
        {"--connections", &out->connections, 1, LOAD_CONNECTIONS_MAX},
        {"--rate", &out->rate, 0, 1e6},
        {"--seconds", &out->seconds, 0.01, 3600},
        {"--patience", &out->patience, 0, 600},
        {"--seed", &out->seed, 0, 1e15},
    };
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--path") == 0)
            out->path = argv[i + 1];
        else if (strcmp(argv[i], "--bodies") == 0)
            out->bodies = argv[i + 1];
        else if (!number_read(numbers, sizeof numbers / sizeof *numbers, argv[i], argv[i + 1]))
            return false;
    }
    if (argc % 2 == 1 && out->port > 0 && out->bodies)
        return true;
    fprintf(stderr, "poisson: --port and --bodies are needed, and each option has a value\n");
    return false;
}

/* Requests with the lines of a file as bodies; their number, 0 after a message. */
static uint32_t requests_read(const struct settings *settings, struct load_request *requests) {
    FILE *file = fopen(settings->bodies, "re");
    char *line = NULL;
    size_t room = 0;
    uint32_t count = 0;
    ssize_t bytes;
    while (file && count < REQUESTS_MAX && (bytes = getline(&line, &room, file)) >= 0) {
        if (bytes > 0 && line[bytes - 1] == '\n')
            bytes--;
        if (load_request_make(settings->path, line, (size_t)bytes, &requests[count]) != STATUS_OK)
            break;
        count++;
    }
    if (count == 0)
        fprintf(stderr, "poisson: --bodies '%s': %s\n", settings->bodies,
                file ? "no lines" : strerror(errno));
    free(line);
    if (file)
        fclose(file);
    return count;
}

static void put_count(struct json_writer *json, const char *key, uint64_t value) {
    json_put_key(json, key);
    json_put_unsigned(json, value);
}

static void put_number(struct json_writer *json, const char *key, double value) {
    json_put_key(json, key);
    json_put_float(json, (float)value);
}

static void result_print(const struct load_result *result) {
    struct json_writer json;
    json_writer_init(&json, 4096);
    json_put_begin_object(&json);
    put_count(&json, "due", result->due);
    put_count(&json, "ok", result->ok);
    put_count(&json, "refused", result->refused);
    put_count(&json, "broken", result->broken);
    put_count(&json, "unanswered", result->unanswered);
    put_number(&json, "seconds", result->seconds);
    put_number(&json, "rate", result->seconds > 0 ? (double)result->ok / result->seconds : 0);
    put_number(&json, "p50_ms", latencies_percentile(&result->latencies, 0.50));
    put_number(&json, "p99_ms", latencies_percentile(&result->latencies, 0.99));
    put_number(&json, "p999_ms", latencies_percentile(&result->latencies, 0.999));
    put_number(&json, "cpu", result->cpu);
    json_put_end_object(&json);
    printf("%.*s\n", (int)json.bytes, json.data);
    json_writer_free(&json);
}

static int run(const struct settings *settings, const struct load_request *requests,
               uint32_t count) {
    const struct load_options options = {
        .host.s_addr = htonl(INADDR_LOOPBACK),
        .port = (uint16_t)settings->port,
        .requests = requests,
        .requests_count = count,
        .connections = (uint32_t)settings->connections,
        .rate = settings->rate,
        .duration_ns = (uint64_t)(settings->seconds * (double)NS_PER_S),
        .patience_ns = (uint64_t)(settings->patience * (double)NS_PER_S),
        .seed = (uint64_t)settings->seed,
    };
    struct load_result result;
    struct error err;
    if (load_run(&options, &result, &err) != STATUS_OK) {
        fprintf(stderr, "poisson: %s\n", err.message);
        return NOT_ANSWERED;
    }
    result_print(&result);
    const bool all = result.ok == result.due;
    load_result_free(&result);
    return all ? ANSWERED : NOT_ANSWERED;
}

int main(int argc, char **argv) {
    struct settings settings;
    if (!settings_read(argc, argv, &settings))
        return WRONG_USE;
    struct load_request *requests = calloc(REQUESTS_MAX, sizeof *requests);
    const uint32_t count = requests ? requests_read(&settings, requests) : 0;
    const int status = count > 0 ? run(&settings, requests, count) : WRONG_USE;
    for (uint32_t i = 0; i < count; i++)
        load_request_free(&requests[i]);
    free(requests);
    return status;
}
