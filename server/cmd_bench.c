/* cmd_bench.c: `bertd bench`: throughput and latency of the engine without HTTP, by length and
 * number of clients, and how busy each stage was. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "server/bench_budget.h"
#include "server/bench_load.h"
#include "server/bench_run.h"
#include "server/commands.h"
#include "server/engine_start.h"
#include "server/json_write.h"
#include "server/shutdown.h"
#include "server/text_output.h"

enum { LIST_MAX = 16, JSON_BYTES_MAX = 1 << 24 };

struct settings {
    struct engine_settings engine;
    const char *jsonl, *lengths, *clients;
    uint64_t duration_ms, passes;
    bool json, budget;
};

static const struct option options[] = {
    OPTION_ROW_MODEL(struct settings, engine),
    OPTION_ROW_JSON(struct settings, json),
    {.name = "seconds",
     .kind = OPTION_TIME,
     .offset = offsetof(struct settings, duration_ms),
     .min = 10,
     .max = 3600000,
     .fallback = "2",
     .help = "length of each measurement"},
    {.name = "passes",
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, passes),
     .min = 1,
     .max = LIMIT_BENCH_PASSES,
     .fallback = "off",
     .word = "off",
     .word_value = 0,
     .value_name = "N",
     .help = "measure N times all inputs instead of for a time"},
    {.name = "lengths",
     .kind = OPTION_STRING,
     .offset = offsetof(struct settings, lengths),
     .value_name = "N,N,mixed",
     .fallback = "8,32,128,512,mixed",
     .help = "tokens of each input, special tokens included"},
    {.name = "clients",
     .kind = OPTION_STRING,
     .offset = offsetof(struct settings, clients),
     .value_name = "N,N",
     .fallback = "1,16",
     .help = "inputs in flight at a time"},
    {.name = "jsonl",
     .kind = OPTION_STRING,
     .offset = offsetof(struct settings, jsonl),
     .value_name = "FILE",
     .help = "texts of this file instead of random token ids"},
    {.name = "budget",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, budget),
     .help = "where the time goes, beside the least that this machine would allow"},
    {.name = "all-rows",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, engine.all_rows),
     .help = "the last layer computes all tokens, also where the head reads the first only"},
    OPTION_ROW_DTYPE(struct settings, engine),
    OPTION_ROWS_PLAN(struct settings, engine),
    OPTION_ROWS_FLOW(struct settings, engine),
    OPTION_ROWS_WATCH(struct settings, engine),
};

static int run(int argc, char **argv);

const struct command command_bench = {
    .name = "bench",
    .summary = "Throughput and latency of the engine without HTTP, and how busy its stages are.",
    OPTION_TABLE(struct settings, options),
    .run = run,
};

/* Numbers of a list "8,32,mixed"; 0 stands for the word. */
struct list {
    uint32_t values[LIST_MAX], count;
};

static bool parse_list(const char *text, const char *word, uint32_t max, struct list *out) {
    out->count = 0;
    for (;;) {
        size_t bytes = strcspn(text, ",");
        char *end = NULL;
        unsigned long value = 0;
        if (out->count == LIST_MAX || bytes == 0)
            return false;
        if (!word || strlen(word) != bytes || memcmp(text, word, bytes) != 0) {
            value = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
            if (value == 0 || value > max || end != text + bytes)
                return false;
        }
        out->values[out->count++] = (uint32_t)value;
        if (!text[bytes])
            return true;
        text += bytes + 1;
    }
}

static void print_head(const struct engine_info *info) {
    printf("%s, dtype %s, %u stage thread%s x %u replica%s, microbatches of up to %u tokens\n\n",
           info->name, info->dtype, info->stages_count, info->stages_count == 1 ? "" : "s",
           info->replicas_count, info->replicas_count == 1 ? "" : "s", info->microbatch_tokens);
}

static void print_columns(void) {
    printf("%8s %8s %10s %10s %9s %9s %9s\n", "length", "clients", "texts/s", "tokens/s", "p50 ms",
           "p90 ms", "p99 ms");
    fflush(stdout);
}

static void print_row(const char *name, uint32_t clients, const struct bench_result *result) {
    printf("%8s %8u %10.1f %10.0f %9.2f %9.2f %9.2f\n", name, clients,
           (double)result->texts / result->seconds, (double)result->tokens / result->seconds,
           result->p50_ms, result->p90_ms, result->p99_ms);
    fflush(stdout);
}

static void print_stages(const char *name, uint32_t clients, const struct bench_result *result) {
    printf("\nstages at length %s with %u clients:\n%8s %-12s %7s %9s %9s\n", name, clients,
           "replica", "stage", "busy", "starved", "blocked");
    for (uint32_t i = 0; i < result->stages_count; i++)
        printf("%8u %-12s %5.1f %% %7.1f %% %7.1f %%\n", result->stages[i].replica,
               result->stages[i].name, 100.0 * result->stages[i].busy,
               100.0 * result->stages[i].starved, 100.0 * result->stages[i].blocked);
}

static void put_number(struct json_writer *json, const char *key, double value) {
    json_put_key(json, key);
    json_put_float(json, (float)value);
}

static void put_count(struct json_writer *json, const char *key, uint64_t value) {
    json_put_key(json, key);
    json_put_unsigned(json, value);
}

static void put_head(struct json_writer *json, const struct engine_info *info) {
    json_put_begin_object(json);
    json_put_key(json, "model");
    json_put_string(json, info->name);
    json_put_key(json, "dtype");
    json_put_string(json, info->dtype);
    put_count(json, "stage_threads", info->stages_count);
    put_count(json, "replicas", info->replicas_count);
    put_count(json, "microbatch_tokens", info->microbatch_tokens);
    json_put_key(json, "rows");
    json_put_begin_array(json);
}

/* `budget` may be NULL. */
static void put_row(struct json_writer *json, const char *name, uint32_t clients,
                    const struct bench_result *result, const struct bench_budget *budget) {
    json_put_begin_object(json);
    json_put_key(json, "length");
    json_put_string(json, name);
    put_count(json, "clients", clients);
    put_number(json, "seconds", result->seconds);
    put_count(json, "texts", result->texts);
    put_count(json, "tokens", result->tokens);
    put_number(json, "texts_per_second", (double)result->texts / result->seconds);
    put_number(json, "tokens_per_second", (double)result->tokens / result->seconds);
    put_number(json, "p50_ms", result->p50_ms);
    put_number(json, "p90_ms", result->p90_ms);
    put_number(json, "p99_ms", result->p99_ms);
    json_put_key(json, "stages");
    json_put_begin_array(json);
    for (uint32_t i = 0; i < result->stages_count; i++) {
        json_put_begin_object(json);
        json_put_key(json, "name");
        json_put_string(json, result->stages[i].name);
        put_count(json, "replica", result->stages[i].replica);
        put_number(json, "busy", result->stages[i].busy);
        put_number(json, "starved", result->stages[i].starved);
        put_number(json, "blocked", result->stages[i].blocked);
        json_put_end_object(json);
    }
    json_put_end_array(json);
    if (budget) {
        json_put_key(json, "budget");
        bench_budget_put(budget, json);
    }
    json_put_end_object(json);
}

/* What is measured, with the engine open. */
struct bench {
    const struct settings *settings;
    struct engine *engine;
    const struct engine_info *info;
    struct bench_front *front; /* with --budget only */
    struct list lengths, clients;
    struct json_writer json;
};

/* One row. The last one of a load has its budget too, where it is asked for. */
static enum status measure_row(struct bench *bench, const struct bench_load *load, uint32_t clients,
                               bool stages, bool budgeted, struct error *err) {
    const struct bench_span span = {.duration_ns = bench->settings->duration_ms * NS_PER_MS,
                                    .passes = bench->settings->passes};
    struct bench_result result;
    struct bench_budget budget;
    enum status status = bench_run(bench->engine, load, clients, span, &result, err);
    if (status != STATUS_OK)
        return status;
    if (!bench->settings->json)
        print_row(load->name, clients, &result);
    if (budgeted)
        status = bench_budget_measure(bench->engine, bench->front, load, clients, &result,
                                      span.duration_ns, &budget, err);
    if (status == STATUS_OK && bench->settings->json)
        put_row(&bench->json, load->name, clients, &result, budgeted ? &budget : NULL);
    if (status == STATUS_OK && !bench->settings->json && stages)
        print_stages(load->name, clients, &result);
    if (status == STATUS_OK && !bench->settings->json && budgeted)
        bench_budget_print(&budget, load->name, clients);
    bench_result_free(&result);
    return status;
}

/* All numbers of clients with one load. `last`: print the stages of the last row. */
static enum status measure_load(struct bench *bench, const struct bench_load *load, bool last,
                                struct error *err) {
    const bool budget = bench->settings->budget;
    for (uint32_t i = 0; i < bench->clients.count; i++) {
        const bool ends = i + 1 == bench->clients.count;
        if (measure_row(bench, load, bench->clients.values[i], ends && (last || budget),
                        ends && budget, err) != STATUS_OK)
            return error_prefix(err, "length %s", load->name);
    }
    if (budget && !last && !bench->settings->json) {
        printf("\n");
        print_columns();
    }
    return STATUS_OK;
}

static enum status measure_file(struct bench *bench, struct error *err) {
    const char *path = bench->settings->jsonl;
    struct bench_load load;
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set(err, STATUS_IO, "--jsonl: '%.300s': %s", path, strerror(errno));
    enum status status = bench_load_file(file, &load, err);
    fclose(file);
    if (status != STATUS_OK)
        return error_prefix(err, "--jsonl: '%.300s'", path);
    status = measure_load(bench, &load, true, err);
    bench_load_free(&load);
    return status;
}

static enum status measure_lengths(struct bench *bench, struct error *err) {
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < bench->lengths.count; i++) {
        struct bench_load load;
        uint32_t length = bench->lengths.values[i];
        status = length ? bench_load_fixed(bench->info, length, &load)
                        : bench_load_mixed(bench->info, &load);
        if (status != STATUS_OK)
            return error_set(err, status, "%s", status_meaning(status));
        status = measure_load(bench, &load, i + 1 == bench->lengths.count, err);
        bench_load_free(&load);
    }
    return status;
}

/* Drops the lengths that the model does not take, and says so. False when none is left. */
static bool fit_lengths(struct bench *bench) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < bench->lengths.count; i++) {
        if (bench->lengths.values[i] <= bench->info->tokens_max)
            bench->lengths.values[kept++] = bench->lengths.values[i];
        else
            fprintf(stderr, "bertd bench: length %u is left out, the model takes %u tokens\n",
                    bench->lengths.values[i], bench->info->tokens_max);
    }
    bench->lengths.count = kept;
    return kept > 0;
}

static enum status measure_loads(struct bench *bench, struct error *err) {
    enum status status = STATUS_OK;
    if (bench->settings->budget)
        status = bench_front_open(bench->engine, &bench->front, err);
    if (status == STATUS_OK)
        status = bench->settings->jsonl ? measure_file(bench, err) : measure_lengths(bench, err);
    bench_front_close(bench->front);
    return status;
}

static int measure_all(struct bench *bench) {
    struct error err;
    bool json = bench->settings->json;
    if (!bench->settings->jsonl && !fit_lengths(bench))
        return EXIT_STATUS_FAILED;
    json_writer_init(&bench->json, JSON_BYTES_MAX);
    if (json) {
        put_head(&bench->json, bench->info);
    } else {
        print_head(bench->info);
        print_columns();
    }
    enum status status = measure_loads(bench, &err);
    int exit_status = EXIT_STATUS_OK;
    if (shutdown_requested()) {
        exit_status = EXIT_STATUS_SIGNAL + shutdown_signal();
    } else if (status != STATUS_OK) {
        exit_status = engine_start_fail(&command_bench, &err);
    } else if (json) {
        json_put_end_array(&bench->json);
        json_put_end_object(&bench->json);
        if (!text_output_json_line(stdout, &bench->json))
            exit_status = EXIT_STATUS_FAILED;
    }
    json_writer_free(&bench->json);
    return exit_status;
}

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    int exit_status;
    struct bench bench = {.settings = &settings};
    if (!options_begin(&command_bench, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    if (!parse_list(settings.lengths, "mixed", LIMIT_POSITIONS, &bench.lengths))
        return options_refuse(
            &command_bench,
            "--lengths: got '%.80s', allowed: up to %d of mixed and counts from 1 "
            "to %u, with commas between",
            settings.lengths, LIST_MAX, LIMIT_POSITIONS);
    if (!parse_list(settings.clients, NULL, LIMIT_BENCH_CLIENTS, &bench.clients))
        return options_refuse(&command_bench,
                              "--clients: got '%.80s', allowed: up to %d counts from 1 to %u, with "
                              "commas between",
                              settings.clients, LIST_MAX, LIMIT_BENCH_CLIENTS);
    struct error err;
    if (shutdown_start(SHUTDOWN_HANGUP_ENDS, &err) != STATUS_OK)
        return engine_start_fail(&command_bench, &err);
    bench.engine = engine_start(&command_bench, &settings.engine, UINT64_MAX / 2, &exit_status);
    if (!bench.engine)
        return exit_status;
    bench.info = engine_get_info(bench.engine);
    exit_status = measure_all(&bench);
    if (engine_close(bench.engine) != STATUS_OK && exit_status == EXIT_STATUS_OK)
        exit_status = EXIT_STATUS_FAILED;
    return exit_status;
}
