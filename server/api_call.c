/* api_call.c: reading, submitting, waiting and answering, for the routes of all tasks. */
#include "server/api_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/clock.h"
#include "server/state.h"

static void wake(struct call *call, void *context) {
    (void)call;
    exchange_wake(context);
}

static void task_cancel(void *context) {
    struct call_task *task = context;
    if (task->call)
        call_cancel(task->call);
}

static void task_free(void *context) {
    struct call_task *task = context;
    if (task->kind->free)
        task->kind->free(task);
    call_body_free(task->body);
    call_release(task->call);
    free(task);
}

static bool render(void *context, struct json_writer *out) {
    struct call_task *task = context;
    return task->kind->write(task, LIMIT_ANSWER_SLICE_BYTES, out);
}

static void refuse_by_engine(struct exchange *exchange, const struct call_task *task,
                             const struct error *error) {
    struct api_error err;
    api_error_from_engine(&err, error, task->body->many);
    if (error->status == STATUS_CANCELLED && exchange->cancel_code == API_CLIENT_GONE)
        return; /* nobody is there to read an answer */
    if (error->status == STATUS_CANCELLED && exchange->cancel_code != API_CODE_COUNT)
        err.code = exchange->cancel_code;
    const char *param = task->kind->find_param(task);
    if (error->status == STATUS_INVALID_VALUE && error->input < 0 && param)
        snprintf(err.param, sizeof err.param, "%s", param);
    exchange_fail(exchange, &err);
}

/* "tokenize;dur=0.12, …" in milliseconds, and the same into the metrics. */
static void report_times(struct exchange *exchange, const struct call *call) {
    struct call_times times;
    call_get_times(call, &times);
    snprintf(exchange->answer.server_timing, sizeof exchange->answer.server_timing,
             "tokenize;dur=%.3f, queue;dur=%.3f, compute;dur=%.3f",
             (double)times.tokenize_ns / NS_PER_MS, (double)times.queue_ns / NS_PER_MS,
             (double)times.compute_ns / NS_PER_MS);
    struct metrics *metrics = &exchange->server->metrics;
    metrics_observe_phase(metrics, METRIC_PHASE_TOKENIZE, times.tokenize_ns);
    metrics_observe_phase(metrics, METRIC_PHASE_QUEUE, times.queue_ns);
    metrics_observe_phase(metrics, METRIC_PHASE_COMPUTE, times.compute_ns);
}

static void finish_call(struct exchange *exchange, void *context) {
    struct call_task *task = context;
    struct answer *answer = &exchange->answer;
    struct error error;
    bool in_slices = false;
    if (call_outcome(task->call, &error) != STATUS_OK) {
        refuse_by_engine(exchange, task, &error);
        return;
    }
    if (!task->kind->prepare(task, &in_slices)) {
        exchange_refuse(exchange, API_INTERNAL, "%s", status_meaning(STATUS_NO_MEMORY));
        return;
    }
    report_times(exchange, task->call);
    if (in_slices) {
        answer->render = render;
        answer->render_context = task;
    } else {
        uint64_t start_ns = clock_now_ns();
        while (task->kind->write(task, LIMIT_ANSWER_BYTES, &answer->body))
            if (json_writer_failed(&answer->body))
                break;
        answer->write_ns = clock_now_ns() - start_ns;
    }
    exchange_answer(exchange);
}

static void submit(struct exchange *exchange, struct call_task *task) {
    const struct call_body *body = task->body;
    struct call_spec spec = {
        .inputs = body->inputs,
        .inputs_count = body->inputs_count,
        .truncate = body->truncate,
        .side = (enum truncation_side)body->side,
        .task = task->kind->task,
        .client = exchange->client,
        .deadline_ns = exchange->received_ns + exchange->timeout_ms * NS_PER_MS,
        .done = wake,
        .context = exchange,
    };
    struct error error;
    char id[17];
    task->kind->specify(task, &spec);
    server_make_id(exchange->server, id);
    snprintf(task->head.id, sizeof task->head.id, "%s-%s", task->kind->id_prefix, id);
    task->head.model_name = exchange->server->model_name;
    task->head.created = time(NULL);
    exchange->task.finish = finish_call;
    if (engine_submit(task->engine, &spec, &task->call, &error) != STATUS_OK) {
        exchange->task.finish = NULL;
        refuse_by_engine(exchange, task, &error);
    }
    call_body_free(task->body);
}

/* On the HTTP thread or the reader's. */
static void read_input(struct call_task *task) {
    const struct server *server = task->exchange->server;
    const struct call_rules rules = {server->model_name, task->info,
                                     server->options.call_inputs_max, server->options.truncate};
    task->readable = task->kind->read(task, &rules, &task->read_error);
}

static void read_body(struct reading *reading) {
    struct call_task *task = (struct call_task *)reading;
    read_input(task);
    exchange_wake(task->exchange);
}

static void finish_reading(struct exchange *exchange, void *context) {
    struct call_task *task = context;
    exchange_release_body(exchange);
    if (exchange->cancel_code == API_CLIENT_GONE)
        return;
    if (exchange->cancel_code != API_CODE_COUNT)
        exchange_refuse(exchange, exchange->cancel_code, "the call was ended before it began");
    else if (task->readable)
        submit(exchange, task);
    else
        exchange_fail(exchange, &task->read_error);
}

/* Answers at once what cannot be a call: no model yet, no model any more, another task's model. */
static bool is_refused(struct exchange *exchange, const struct engine *engine,
                       const struct call_kind *kind) {
    static const char *const routes[] = {
        [ENGINE_TEXT_CLASSIFICATION] = "/v1/classify",
        [ENGINE_FILL_MASK] = "/v1/fill_mask",
    };
    if (!engine) {
        exchange_refuse(exchange, API_LOADING, "the model is being loaded");
        return true;
    }
    if (atomic_load(&exchange->server->phase) == PHASE_DRAINING) {
        exchange_refuse(exchange, API_DRAINING, "the server finishes what it has and stops");
        return true;
    }
    const struct engine_info *info = engine_get_info(engine);
    if (info->task_kind == kind->task)
        return false;
    exchange_refuse(exchange, API_WRONG_TASK, "the model's task is %s, which POST %s serves",
                    info->task, routes[info->task_kind]);
    return true;
}

void api_call(struct exchange *exchange, const struct call_kind *kind) {
    struct server *server = exchange->server;
    struct engine *engine = atomic_load(&server->engine);
    if (is_refused(exchange, engine, kind))
        return;
    struct call_task *task = calloc(1, kind->task_bytes);
    if (!task) {
        exchange_refuse(exchange, API_INTERNAL, "%s", status_meaning(STATUS_NO_MEMORY));
        return;
    }
    task->reading.run = read_body;
    task->kind = kind;
    task->exchange = exchange;
    task->engine = engine;
    task->info = engine_get_info(engine);
    exchange->task = (struct task){finish_reading, task_cancel, task_free, task};
    if (exchange->body.bytes > LIMIT_BODY_INLINE_BYTES &&
        reader_push(server->reader, &task->reading))
        return;
    exchange->task.finish = NULL;
    read_input(task);
    finish_reading(exchange, task);
}
