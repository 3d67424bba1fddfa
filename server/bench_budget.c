/* bench_budget.c: three measurements of one load, put together and shown. */
#include "server/bench_budget.h"

#include <stdio.h>

#include "engine/base/clock.h"

static const double ns_per_us = 1e3;

/* From shares of the measured time to nanoseconds for one token. */
static void stages_sum(const struct bench_result *run, struct bench_budget *out) {
    const double tokens = run->tokens > 0 ? (double)run->tokens : 1;
    const double ns = run->seconds * (double)NS_PER_S / tokens;
    for (uint32_t i = 0; i < run->stages_count; i++) {
        const struct bench_stage *stage = &run->stages[i];
        out->handover_ns += (stage->completing + stage->ready) * ns;
        out->idle_ns += (stage->starved + stage->blocked - stage->ready) * ns;
    }
    if (run->microbatches > 0)
        out->handover_turn_ns = out->handover_ns * tokens / (double)run->microbatches;
    out->tokens_per_second = tokens / run->seconds;
}

enum status bench_budget_measure(struct engine *engine, struct bench_front *front,
                                 const struct bench_load *load, uint32_t clients,
                                 const struct bench_result *run, uint64_t duration_ns,
                                 struct bench_budget *out, struct error *err) {
    *out = (struct bench_budget){.idle_ns = 0};
    stages_sum(run, out);
    enum status status =
        engine_measure_budget(engine, load->inputs, load->count, duration_ns, &out->budget, err);
    if (status == STATUS_OK)
        status = bench_front_measure(front, load, clients, duration_ns, &out->front, err);
    return status;
}

/* A line of what is spent around the pass. */
struct around {
    const char *name, *key;
    double ns; /* for one token */
};
enum { AROUND_LINES = 6 };

static void around_list(const struct bench_budget *b, struct around out[AROUND_LINES]) {
    const struct around lines[AROUND_LINES] = {
        {"hand-over", "handover", b->handover_ns},
        {"idle", "idle", b->idle_ns},
        {"tokenizer", "tokenizer", b->front.tokenizer_ns},
        {"JSON, reading", "json_read", b->front.json_read_ns},
        {"JSON, writing", "json_write", b->front.json_write_ns},
        {"HTTP", "http", b->front.http_ns},
    };
    for (int i = 0; i < AROUND_LINES; i++)
        out[i] = lines[i];
}

/* What tokenizer, JSON and HTTP have of the processor time of a served token. */
static double front_share(const struct bench_budget *b) {
    const struct bench_front_result *front = &b->front;
    const double before_stages =
        front->tokenizer_ns + front->json_read_ns + front->json_write_ns + front->http_ns;
    const double all = before_stages + front->stages_ns;
    return all > 0 ? before_stages / all : 0;
}

static double tokens_of(const struct budget *budget) {
    return budget->tokens > 0 ? (double)budget->tokens : 1;
}

static double least_sum(const struct budget *budget) {
    double sum = 0;
    for (uint32_t i = 0; i < budget->parts_count; i++)
        sum += budget->parts[i].least_ns;
    return sum;
}

static void print_peaks(const struct budget *budget) {
    printf("one core: ");
    if (budget->peak_flops > 0)
        printf("%.1f GFLOP/s (%s), ", budget->peak_flops / 1e9, budget->peak_name);
    if (budget->peak_f32_flops > 0 && budget->peak_f32_flops != budget->peak_flops)
        printf("%.1f in f32, ", budget->peak_f32_flops / 1e9);
    printf("%.0f GB/s in its caches, %.1f GB/s where %.1f MB of weights are read in turn\n",
           budget->cache_bytes_per_second / 1e9, budget->read_bytes_per_second / 1e9,
           (double)budget->weights_bytes / 1e6);
}

static void print_line(const struct budget *budget, const char *name, double ns, double least_ns,
                       const char *bound) {
    const double us = ns_per_us * tokens_of(budget);
    printf("%-26s %9.3f %6.1f %%", name, ns / us, 100.0 * ns / budget->pass_ns);
    if (least_ns > 0)
        printf(" %9.3f %6.1f %%  %s", least_ns / us, ns > 0 ? 100.0 * least_ns / ns : 0.0, bound);
    printf("\n");
}

static void print_pass(const struct budget *budget) {
    printf("%-26s %9s %8s %9s %8s  %s\n", "part", "us/token", "share", "least", "of it",
           "bound by");
    for (uint32_t i = 0; i < budget->parts_count; i++) {
        const struct budget_part *part = &budget->parts[i];
        print_line(budget, part->name, part->ns, part->least_ns, budget_bound_name(part->bound));
    }
    print_line(budget, "forward pass", budget->pass_ns, least_sum(budget), "");
}

void bench_budget_print(const struct bench_budget *b, const char *load, uint32_t clients) {
    const struct budget *budget = &b->budget;
    struct around lines[AROUND_LINES];
    printf("\nbudget at length %s: %u texts of %llu tokens in %u microbatch%s, on one thread\n",
           load, budget->texts, (unsigned long long)budget->tokens, budget->microbatches,
           budget->microbatches == 1 ? "" : "es");
    print_peaks(budget);
    print_pass(budget);
    printf("\naround it, with %u clients:\n", clients);
    around_list(b, lines);
    for (int i = 0; i < AROUND_LINES; i++)
        print_line(budget, lines[i].name, lines[i].ns * tokens_of(budget), 0, "");
    printf("hand-over is %.1f us a turn; over HTTP %.0f tokens/s, %.1f %% of the engine alone, "
           "tokenizer, JSON\nand HTTP take %.1f %% of the processor time\n",
           b->handover_turn_ns / ns_per_us, b->front.tokens_per_second,
           100.0 * b->front.tokens_per_second / b->tokens_per_second, 100.0 * front_share(b));
    fflush(stdout);
}

static void put_number(struct json_writer *json, const char *key, double value) {
    json_put_key(json, key);
    json_put_float(json, (float)value);
}

static void put_count(struct json_writer *json, const char *key, uint64_t value) {
    json_put_key(json, key);
    json_put_unsigned(json, value);
}

static void put_part(struct json_writer *json, const struct budget *budget,
                     const struct budget_part *part) {
    const double us = ns_per_us * tokens_of(budget);
    json_put_begin_object(json);
    json_put_key(json, "name");
    json_put_string(json, part->name);
    put_number(json, "us_per_token", part->ns / us);
    put_number(json, "share", part->ns / budget->pass_ns);
    if (part->bound != BUDGET_NO_BOUND) {
        put_number(json, "least_us_per_token", part->least_ns / us);
        json_put_key(json, "bound");
        json_put_string(json, budget_bound_name(part->bound));
    }
    json_put_end_object(json);
}

void bench_budget_put(const struct bench_budget *b, struct json_writer *json) {
    const struct budget *budget = &b->budget;
    struct around lines[AROUND_LINES];
    json_put_begin_object(json);
    put_count(json, "texts", budget->texts);
    put_count(json, "tokens", budget->tokens);
    put_count(json, "microbatches", budget->microbatches);
    put_number(json, "peak_flops", budget->peak_flops);
    put_number(json, "peak_f32_flops", budget->peak_f32_flops);
    json_put_key(json, "peak_name");
    json_put_string(json, budget->peak_name);
    put_number(json, "cache_bytes_per_second", budget->cache_bytes_per_second);
    put_number(json, "read_bytes_per_second", budget->read_bytes_per_second);
    put_count(json, "weights_bytes", budget->weights_bytes);
    json_put_key(json, "parts");
    json_put_begin_array(json);
    for (uint32_t i = 0; i < budget->parts_count; i++)
        put_part(json, budget, &budget->parts[i]);
    json_put_end_array(json);
    const double us = ns_per_us * tokens_of(budget);
    put_number(json, "pass_us_per_token", budget->pass_ns / us);
    put_number(json, "least_us_per_token", least_sum(budget) / us);
    put_number(json, "tokenize_us_per_token", budget->tokenize_ns / us);
    json_put_key(json, "around_us_per_token");
    json_put_begin_object(json);
    around_list(b, lines);
    for (int i = 0; i < AROUND_LINES; i++)
        put_number(json, lines[i].key, lines[i].ns / ns_per_us);
    json_put_end_object(json);
    put_number(json, "handover_us_per_turn", b->handover_turn_ns / ns_per_us);
    put_number(json, "http_tokens_per_second", b->front.tokens_per_second);
    put_number(json, "front_share", front_share(b));
    json_put_end_object(json);
}
