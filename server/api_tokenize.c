/* api_tokenize.c: the tokenizer routes. Short bodies are answered on the HTTP thread, in less than
 * a millisecond or two; longer ones are read, tokenized and written on the reader's thread, so that
 * nobody else waits for them. No model is run, so nothing is admitted. */
#include <stdlib.h>

#include "engine/base/clock.h"
#include "server/api.h"
#include "server/reader.h"
#include "server/state.h"
#include "server/tokenize_run.h"

struct tokenize_task {
    struct reading reading; /* first, see run_reading() */
    struct exchange *exchange;
    struct engine *engine;
    tokenize_run *run;
    struct json_writer answer;
    struct api_error err;
    bool good;
};

static void task_cancel(void *context) {
    (void)context; /* the reader wakes the exchange soon by itself */
}

static void task_free(void *context) {
    struct tokenize_task *task = context;
    json_writer_free(&task->answer);
    free(task);
}

/* On the HTTP thread or the reader's. */
static void run_task(struct tokenize_task *task) {
    const struct server *server = task->exchange->server;
    const struct tokenize_rules rules = {server->model_name, server->options.call_inputs_max,
                                         engine_get_info(task->engine)->call_tokens_max,
                                         server->options.truncate};
    struct engine_tokenizer *tokenizer;
    struct error fault;
    if (engine_tokenizer_open(task->engine, &tokenizer, &fault) != STATUS_OK) {
        task->good = api_error_from_engine(&task->err, &fault, false);
        return;
    }
    task->good = task->run(task->exchange->body, &rules, tokenizer, &task->answer, &task->err);
    engine_tokenizer_close(tokenizer);
}

static void run_reading(struct reading *reading) {
    struct tokenize_task *task = (struct tokenize_task *)reading;
    run_task(task);
    exchange_wake(task->exchange);
}

static void finish(struct exchange *exchange, void *context) {
    struct tokenize_task *task = context;
    exchange_release_body(exchange);
    if (exchange->cancel_code == API_CLIENT_GONE)
        return;
    if (exchange->cancel_code != API_CODE_COUNT) {
        exchange_refuse(exchange, exchange->cancel_code, "the call was ended before its answer");
    } else if (!task->good) {
        exchange_fail(exchange, &task->err);
    } else {
        json_writer_free(&exchange->answer.body);
        exchange->answer.body = task->answer;
        json_writer_init(&task->answer, 0);
        exchange_answer(exchange);
    }
}

static void handle(struct exchange *exchange, tokenize_run *run) {
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
    struct tokenize_task *task = calloc(1, sizeof *task);
    if (!task) {
        exchange_refuse(exchange, API_INTERNAL, "%s", status_meaning(STATUS_NO_MEMORY));
        return;
    }
    *task = (struct tokenize_task){
        .reading.run = run_reading, .exchange = exchange, .engine = engine, .run = run};
    json_writer_init(&task->answer, LIMIT_ANSWER_BYTES);
    exchange->task = (struct task){finish, task_cancel, task_free, task};
    if (exchange->body.bytes > LIMIT_BODY_INLINE_BYTES &&
        reader_push(server->reader, &task->reading))
        return;
    exchange->task.finish = NULL;
    run_task(task);
    finish(exchange, task);
}

void api_tokenize(struct exchange *exchange) {
    handle(exchange, tokenize_run_native);
}

void api_detokenize(struct exchange *exchange) {
    handle(exchange, detokenize_run_native);
}

void api_tei_tokenize(struct exchange *exchange) {
    handle(exchange, tokenize_run_tei);
}

void api_tei_decode(struct exchange *exchange) {
    handle(exchange, detokenize_run_tei);
}
