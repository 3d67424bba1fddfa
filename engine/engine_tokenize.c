/* engine_tokenize.c: the threads that turn inputs into requests.
 *
 * A thread takes one input by fair turns, encodes it and writes the sequences into the call. The
 * thread that finishes the last input of a call hands all its requests to the batcher, so that
 * nothing of a call is computed before all of it is known to be right. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/engine_internal.h"

/* A text of more bytes than this leaves no working memory behind. */
enum { KEPT_TEXT_BYTES = 1 << 18 };

static enum status tokens_refuse(const struct engine *engine, struct error *err) {
    return error_set(err, STATUS_CALL_TOO_LARGE,
                     "the call has more than the %u tokens that are allowed",
                     engine->info.call_tokens_max);
}

enum status engine_check_types(const struct engine *engine, const uint8_t *type_ids,
                               uint32_t tokens, struct error *err) {
    const uint32_t types = model_get_config(engine->model)->types_count;
    for (uint32_t i = 0; i < tokens; i++) {
        if (type_ids[i] >= types)
            return error_set(err, STATUS_INVALID_VALUE,
                             "the input has tokens of type %u, the model has only %u token types",
                             type_ids[i], types);
    }
    return STATUS_OK;
}

/* Appends a request with copies of the ids and types (NULL: all zero). */
static enum status request_add(const struct engine *engine, struct input *input, uint32_t tokens,
                               const int32_t *ids, const uint8_t *type_ids, struct error *err) {
    struct call *call = input->call;
    uint64_t offset;
    if (type_ids && engine_check_types(engine, type_ids, tokens, err) != STATUS_OK)
        return err->status;
    if (input->requests_count == input->requests_max || !call_take_tokens(call, tokens, &offset))
        return tokens_refuse(engine, err);
    struct request *request = &input->requests[input->requests_count++];
    request->ids = call->ids + offset;
    request->type_ids = call->type_ids + offset;
    request->tokens = request->item.weight = tokens;
    input->tokens += tokens;
    memcpy(call->ids + offset, ids, tokens * sizeof *ids);
    if (type_ids)
        memcpy(call->type_ids + offset, type_ids, tokens);
    else
        memset(call->type_ids + offset, 0, tokens);
    return engine->steps->read ? engine->steps->read(engine, input, request, err) : STATUS_OK;
}

static enum status ids_take(const struct engine *engine, struct input *input, struct error *err) {
    const struct call_settings *settings = input->call->settings;
    uint32_t tokens = input->ids_count, most = engine->info.tokens_max;
    input->truncated = tokens > most;
    if (input->truncated)
        tokens = most;
    const bool from_end = settings->side == TRUNCATION_LEFT;
    const int32_t *ids = input->ids + (from_end ? input->ids_count - tokens : 0);
    return request_add(engine, input, tokens, ids, NULL, err);
}

enum status engine_encode(const struct engine *engine, struct tokenizer_scratch *scratch,
                          struct view text, const struct view *pair, enum truncation_side side,
                          struct encoding *out, struct error *err) {
    const struct tokenizer_options options = {
        .add_special_tokens = true,
        .tokens_max = engine->info.tokens_max,
        .side = side == TRUNCATION_LEFT ? TOKENIZER_LEFT : TOKENIZER_RIGHT,
        .strategy = TOKENIZER_LONGEST_FIRST,
    };
    return tokenizer_encode(engine->tokenizer, scratch, text, pair, &options, out, err);
}

static enum status text_encode(struct tokenizer_worker *worker, struct input *input,
                               struct error *err) {
    const struct engine *engine = worker->engine;
    const struct call_settings *settings = input->call->settings;
    const struct encoding *encoding = &worker->encoding;
    enum status status = engine_encode(engine, worker->scratch, input->text,
                                       input->text_pair.data ? &input->text_pair : NULL,
                                       settings->side, &worker->encoding, err);
    if (status != STATUS_OK)
        return status;
    if (encoding->truncated && !settings->truncate)
        return error_set(err, STATUS_INPUT_TOO_LONG,
                         "the input has %u tokens, the model takes at most %u",
                         encoding->count_whole, engine->info.tokens_max);
    input->truncated = encoding->truncated;
    return request_add(engine, input, encoding->count, encoding->ids, encoding->type_ids, err);
}

static enum status windows_encode(struct tokenizer_worker *worker, struct input *input,
                                  struct error *err) {
    const struct engine *engine = worker->engine;
    const struct call_settings *settings = input->call->settings;
    const struct encoding *content = &worker->encoding;
    const struct tokenizer_options options = {.add_special_tokens = false};
    uint32_t most = engine->info.tokens_max, stride = settings->window_stride;
    enum status status = tokenizer_encode(engine->tokenizer, worker->scratch, input->text, NULL,
                                          &options, &worker->encoding, err);
    if (status != STATUS_OK)
        return status;
    uint32_t windows = tokenizer_windows_count(engine->tokenizer, content->count, most, stride);
    if (windows > input->requests_max)
        return tokens_refuse(engine, err);
    for (uint32_t i = 0; i < windows; i++) {
        uint32_t tokens =
            tokenizer_window_write(engine->tokenizer, content->ids, content->count, most, stride, i,
                                   worker->window_ids, worker->window_type_ids);
        status =
            request_add(engine, input, tokens, worker->window_ids, worker->window_type_ids, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* All inputs are tokenized: gives back what was reserved too much and queues the requests. */
static void call_queue(struct engine *engine, struct call *call) {
    uint64_t tokens = 0;
    uint32_t requests = 0;
    for (uint32_t i = 0; i < call->inputs_count; i++) {
        struct input *input = &call->inputs[i];
        for (uint32_t r = 0; r < input->requests_count; r++)
            fair_flow_append(&call->requests_flow, &input->requests[r].item);
        tokens += input->tokens;
        requests += input->requests_count;
    }
    atomic_store(&call->requests_left, requests);
    atomic_store(&call->tokenized_ns, clock_now_ns());
    uint64_t reserved = atomic_load(&call->reserved);
    if (reserved > tokens)
        admission_give_back(&engine->admission, &call->reserved, reserved - tokens);
    batcher_add(&engine->batcher, call);
}

static void input_tokenize(struct tokenizer_worker *worker, struct input *input) {
    struct engine *engine = worker->engine;
    struct call *call = input->call;
    const struct call_settings *settings = call->settings;
    struct error err = {.status = STATUS_OK, .input = -1};
    enum status status;
    if (input->ids)
        status = ids_take(engine, input, &err);
    else if (settings->window)
        status = windows_encode(worker, input, &err);
    else
        status = text_encode(worker, input, &err);
    if (status != STATUS_OK) {
        if (status != STATUS_CALL_TOO_LARGE)
            err.input = (int)(input - call->inputs);
        call_answer(call, &err);
    } else if (atomic_fetch_sub(&call->inputs_left, 1) == 1) {
        status = engine->steps->prepare ? engine->steps->prepare(worker, call, &err) : STATUS_OK;
        if (status == STATUS_OK)
            call_queue(engine, call);
        else
            call_answer(call, &err);
    }
}

/* Frees working memory that an unusually long text has left behind. */
static void worker_trim(struct tokenizer_worker *worker, const struct input *input) {
    if (input->text.bytes + input->text_pair.bytes <= KEPT_TEXT_BYTES)
        return;
    encoding_free(&worker->encoding);
    tokenizer_scratch_close(worker->scratch);
    worker->scratch = NULL;
}

static void worker_run(void *context) {
    struct tokenizer_worker *worker = context;
    const struct turns_share one = {.items_max = 1, .weight_max = UINT32_MAX, .parts = 1};
    struct fair_item *item;
    while (turns_take(worker->texts, &one, &item) > 0) {
        struct input *input = (struct input *)item; /* its first member */
        struct call *call = input->call;
        struct error err;
        if (!worker->scratch &&
            tokenizer_scratch_open(worker->engine->tokenizer, &worker->scratch) != STATUS_OK) {
            error_set(&err, STATUS_NO_MEMORY, "no memory for tokenizing");
            call_answer(call, &err);
        } else if (!call_is_answered(call)) {
            input_tokenize(worker, input);
            worker_trim(worker, input);
        }
        call_release(call);
    }
}

enum status engine_tokenizers_start(struct engine *engine, uint32_t threads, struct error *err) {
    enum status status = STATUS_OK;
    threads++; /* the last one is for long texts */
    engine->workers = calloc(threads, sizeof *engine->workers);
    if (!engine->workers)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u tokenizer threads", threads);
    while (status == STATUS_OK && engine->workers_count < threads) {
        struct tokenizer_worker *worker = &engine->workers[engine->workers_count++];
        worker->engine = engine;
        worker->texts = engine->workers_count < threads ? engine->texts : engine->long_texts;
        encoding_init(&worker->encoding);
        worker->window_ids = calloc(engine->info.tokens_max, sizeof *worker->window_ids);
        worker->window_type_ids = calloc(engine->info.tokens_max, 1);
        if (!worker->window_ids || !worker->window_type_ids ||
            tokenizer_scratch_open(engine->tokenizer, &worker->scratch) != STATUS_OK)
            status = error_set(err, STATUS_NO_MEMORY, "no memory for a tokenizer thread");
        else
            status = thread_start(&worker->thread, "tokenizer", worker_run, worker, err);
    }
    return status;
}

void engine_tokenizers_stop(struct engine *engine) {
    if (engine->texts)
        turns_close(engine->texts);
    if (engine->long_texts)
        turns_close(engine->long_texts);
    for (uint32_t i = 0; i < engine->workers_count; i++) {
        struct tokenizer_worker *worker = &engine->workers[i];
        thread_join(&worker->thread);
        tokenizer_scratch_close(worker->scratch);
        encoding_free(&worker->encoding);
        free(worker->window_type_ids);
        free(worker->window_ids);
    }
    free(engine->workers);
    engine->workers = NULL;
    engine->workers_count = 0;
}
