/* bench_run.c: drives the engine from one thread and measures. See bench_run.h. */
#include "server/bench_run.h"

#include <stdlib.h>

#include "engine/base/clock.h"
#include "server/callers.h"
#include "server/percentile.h"
#include "server/shutdown.h"

struct drive {
    struct callers *callers;
    const struct bench_load *load;
    enum engine_task task;
    uint32_t next; /* input to send */
    uint32_t in_flight;
    struct latencies latencies; /* while measuring only */
    uint64_t tokens;
};

static void send_next(struct drive *drive) {
    struct call_spec spec = {
        .inputs = &drive->load->inputs[drive->next],
        .inputs_count = 1,
        .truncate = true,
        .task = drive->task,
        .fill_mask = {.top_k = 5},
    };
    drive->next = (drive->next + 1) % drive->load->count;
    drive->in_flight++;
    callers_submit(drive->callers, callers_begin(drive->callers), &spec);
}

/* Takes one answer; counts it when `measured`. */
static enum status take_next(struct drive *drive, bool measured, struct error *err) {
    struct caller_result result;
    struct call_answer answer;
    if (!callers_take(drive->callers, &result))
        return STATUS_OK;
    enum status status = result.outcome;
    if (status != STATUS_OK) {
        *err = result.error;
    } else if (measured) {
        call_get_answer(result.call, 0, &answer);
        drive->tokens += answer.tokens;
        status = latencies_add(&drive->latencies, result.done_ns - result.submitted_ns);
        if (status != STATUS_OK)
            error_set(err, status, "%s", status_meaning(status));
    }
    callers_give_back(drive->callers, &result);
    drive->in_flight--;
    return status;
}

/* Keeps all clients busy until `end_ns`, or until `texts_max` are counted. */
static enum status drive_until(struct drive *drive, uint64_t end_ns, uint64_t texts_max,
                               bool measured, struct error *err) {
    enum status status = STATUS_OK;
    while (status == STATUS_OK && clock_now_ns() < end_ns && drive->latencies.count < texts_max) {
        if (shutdown_requested())
            return error_set(err, STATUS_CANCELLED, "ended by a signal");
        status = take_next(drive, measured, err);
        if (status == STATUS_OK)
            send_next(drive);
    }
    return status;
}

/* Reads all stages' counters; `stages` has room for them. */
static void read_stages(struct engine *engine, struct stage_statistics *stages, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        engine_get_stage(engine, i, &stages[i]);
}

static void share_stages(const struct stage_statistics *before,
                         const struct stage_statistics *after, struct bench_result *out) {
    for (uint32_t i = 0; i < out->stages_count; i++) {
        double busy = (double)(after[i].busy_ns - before[i].busy_ns);
        double starved = (double)(after[i].starved_ns - before[i].starved_ns);
        double blocked = (double)(after[i].blocked_ns - before[i].blocked_ns);
        double completing = (double)(after[i].completing_ns - before[i].completing_ns);
        double ready = (double)(after[i].ready_ns - before[i].ready_ns);
        double all = busy + starved + blocked;
        double scale = all > 0.0 ? 1.0 / all : 0.0;
        out->microbatches += after[i].microbatches - before[i].microbatches;
        out->stages[i] = (struct bench_stage){.name = after[i].name,
                                              .replica = after[i].replica,
                                              .busy = busy * scale,
                                              .starved = starved * scale,
                                              .blocked = blocked * scale,
                                              .completing = completing * scale,
                                              .ready = ready * scale};
    }
}

static enum status measure(struct engine *engine, struct drive *drive, uint32_t clients,
                           struct bench_span span, struct stage_statistics *counters,
                           struct bench_result *out, struct error *err) {
    uint64_t duration_ns = span.duration_ns, texts_max = UINT64_MAX, end_ns = UINT64_MAX;
    uint64_t warm_ns = duration_ns / 10 > NS_PER_S / 5 ? duration_ns / 10 : NS_PER_S / 5;
    for (uint32_t i = 0; i < clients; i++)
        send_next(drive);
    enum status status = drive_until(drive, clock_now_ns() + warm_ns, texts_max, false, err);
    read_stages(engine, counters, out->stages_count);
    uint64_t started_ns = clock_now_ns();
    if (span.passes > 0)
        texts_max = span.passes * drive->load->count;
    else
        end_ns = started_ns + duration_ns;
    if (status == STATUS_OK)
        status = drive_until(drive, end_ns, texts_max, true, err);
    out->seconds = (double)(clock_now_ns() - started_ns) / (double)NS_PER_S;
    read_stages(engine, counters + out->stages_count, out->stages_count);
    share_stages(counters, counters + out->stages_count, out);
    struct error ignored;
    while (drive->in_flight > 0)
        take_next(drive, false, status == STATUS_OK ? err : &ignored);
    return status;
}

enum status bench_run(struct engine *engine, const struct bench_load *load, uint32_t clients,
                      struct bench_span span, struct bench_result *out, struct error *err) {
    const struct engine_info *info = engine_get_info(engine);
    struct drive drive = {.load = load, .task = info->task_kind};
    *out = (struct bench_result){.stages_count = info->stages_count * info->replicas_count};
    struct stage_statistics *counters = calloc(2 * (size_t)out->stages_count, sizeof *counters);
    out->stages = calloc(out->stages_count, sizeof *out->stages);
    enum status status = STATUS_NO_MEMORY;
    if (counters && out->stages)
        status = callers_open(engine, clients, CALLERS_AS_DONE, &drive.callers);
    if (status != STATUS_OK)
        error_set(err, status, "%s", status_meaning(status));
    else
        status = measure(engine, &drive, clients, span, counters, out, err);
    if (status == STATUS_OK) {
        latencies_sort(&drive.latencies);
        out->texts = drive.latencies.count;
        out->tokens = drive.tokens;
        out->p50_ms = latencies_percentile(&drive.latencies, 0.50);
        out->p90_ms = latencies_percentile(&drive.latencies, 0.90);
        out->p99_ms = latencies_percentile(&drive.latencies, 0.99);
    } else {
        bench_result_free(out);
    }
    callers_close(drive.callers);
    latencies_free(&drive.latencies);
    free(counters);
    return status;
}

void bench_result_free(struct bench_result *result) {
    free(result->stages);
    result->stages = NULL;
    result->stages_count = 0;
}
