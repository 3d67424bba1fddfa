/* api_classify.c: POST /v1/classify, native dialect: reads the body, submits the call, and writes
 * the answer once the engine has woken the exchange. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/clock.h"
#include "server/api.h"
#include "server/classify_read.h"
#include "server/classify_write.h"
#include "server/reader.h"
#include "server/state.h"

/* Answers of more predictions than this go out in slices. */
enum { PREDICTIONS_AT_ONCE = 1024 };

struct classify_task {
    struct reading reading; /* first, see read_body() */
    struct exchange *exchange;
    struct engine *engine;
    struct classify_call input; /* from the body; its texts go when they are submitted */
    struct api_error read_error;
    bool readable;
    struct call *call; /* NULL until submitted */
    struct classify_writer writer;
};

static void wake(struct call *call, void *context) {
    (void)call;
    exchange_wake(context);
}

static void task_cancel(void *context) {
    struct classify_task *task = context;
    if (task->call)
        call_cancel(task->call);
}

static void task_free(void *context) {
    struct classify_task *task = context;
    classify_writer_free(&task->writer);
    classify_call_free(&task->input);
    call_release(task->call);
    free(task);
}

static bool render(void *context, struct json_writer *out) {
    return classify_writer_slice(context, LIMIT_ANSWER_SLICE_BYTES, out);
}

static void refuse_by_engine(struct exchange *exchange, const struct classify_task *task,
                             const struct error *error) {
    struct api_error err;
    api_error_from_engine(&err, error, task->input.many);
    if (error->status == STATUS_CANCELLED && exchange->cancel_code == API_CLIENT_GONE)
        return; /* nobody is there to read an answer */
    if (error->status == STATUS_CANCELLED && exchange->cancel_code != API_CODE_COUNT)
        err.code = exchange->cancel_code;
    if (error->status == STATUS_INVALID_VALUE && error->input < 0 && task->input.window)
        snprintf(err.param, sizeof err.param, "window.stride");
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
    struct classify_task *task = context;
    struct classify_writer *writer = &task->writer;
    struct answer *answer = &exchange->answer;
    struct error error;
    if (call_outcome(task->call, &error) != STATUS_OK) {
        refuse_by_engine(exchange, task, &error);
        return;
    }
    writer->call = task->call;
    if (!classify_writer_init(writer)) {
        exchange_refuse(exchange, API_INTERNAL, "%s", status_meaning(STATUS_NO_MEMORY));
        return;
    }
    report_times(exchange, task->call);
    uint32_t top_k = writer->cut.top_k, labels = writer->info->labels_count;
    uint64_t predictions = top_k > 0 && top_k < labels ? top_k : labels;
    if (predictions * writer->inputs_count > PREDICTIONS_AT_ONCE) {
        answer->render = render;
        answer->render_context = writer;
    } else {
        uint64_t start_ns = clock_now_ns();
        while (classify_writer_slice(writer, LIMIT_ANSWER_BYTES, &answer->body))
            if (json_writer_failed(&answer->body))
                break;
        answer->write_ns = clock_now_ns() - start_ns;
    }
    exchange_answer(exchange);
}

static void prepare_writer(struct classify_task *task) {
    const struct classify_call *input = &task->input;
    struct server *server = task->exchange->server;
    const struct engine_info *info = engine_get_info(task->engine);
    char id[17];
    server_make_id(server, id);
    task->writer = (struct classify_writer){
        .info = info,
        .model_name = server->model_name,
        .created = time(NULL),
        .inputs_count = input->inputs_count,
        .activation = input->activation == ACTIVATION_AUTO ? info->activation
                                                           : (enum activation)input->activation,
        .cut = input->cut,
    };
    snprintf(task->writer.id, sizeof task->writer.id, "cls-%s", id);
}

static void submit(struct exchange *exchange, struct classify_task *task) {
    const struct classify_call *input = &task->input;
    const struct call_spec spec = {
        .inputs = input->inputs,
        .inputs_count = input->inputs_count,
        .truncate = input->truncate,
        .side = (enum truncation_side)input->side,
        .window = input->window,
        .window_stride = input->window_stride,
        .task = ENGINE_TEXT_CLASSIFICATION,
        .classify = {.activation = (enum activation)input->activation,
                     .aggregate = (enum aggregate)input->aggregate},
        .client = exchange->client,
        .deadline_ns = exchange->received_ns + exchange->timeout_ms * NS_PER_MS,
        .done = wake,
        .context = exchange,
    };
    struct error error;
    prepare_writer(task);
    exchange->task.finish = finish_call;
    if (engine_submit(task->engine, &spec, &task->call, &error) != STATUS_OK) {
        exchange->task.finish = NULL;
        refuse_by_engine(exchange, task, &error);
    }
    classify_call_free(&task->input);
}

/* On the HTTP thread or the reader's. */
static void read_input(struct classify_task *task) {
    const struct server *server = task->exchange->server;
    const struct classify_rules rules = {server->model_name, engine_get_info(task->engine),
                                         server->options.call_inputs_max, server->options.truncate};
    task->readable = classify_read(task->exchange->body, &rules, &task->input, &task->read_error);
}

static void read_body(struct reading *reading) {
    struct classify_task *task = (struct classify_task *)reading;
    read_input(task);
    exchange_wake(task->exchange);
}

static void finish_reading(struct exchange *exchange, void *context) {
    struct classify_task *task = context;
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

void api_classify(struct exchange *exchange) {
    struct server *server = exchange->server;
    struct engine *engine = atomic_load(&server->engine);
    if (!engine) {
        exchange_refuse(exchange, API_LOADING, "the model is being loaded");
        return;
    }
    if (atomic_load(&server->phase) == PHASE_DRAINING) {
        exchange_refuse(exchange, API_DRAINING, "the server finishes what it has and stops");
        return;
    }
    struct classify_task *task = calloc(1, sizeof *task);
    if (!task) {
        exchange_refuse(exchange, API_INTERNAL, "%s", status_meaning(STATUS_NO_MEMORY));
        return;
    }
    task->reading.run = read_body;
    task->exchange = exchange;
    task->engine = engine;
    exchange->task = (struct task){finish_reading, task_cancel, task_free, task};
    if (exchange->body.bytes > LIMIT_BODY_INLINE_BYTES &&
        reader_push(server->reader, &task->reading))
        return;
    exchange->task.finish = NULL;
    read_input(task);
    finish_reading(exchange, task);
}
