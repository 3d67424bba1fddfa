/* api_info.c: what the server is and how it is: /v1/models, /info, the health routes, /metrics. */
#include "engine/inspect.h"
#include "server/api.h"
#include "server/classify_read.h"
#include "server/state.h"
#include "server/version.h"

static void write_model_fields(const struct server *server, const struct engine_info *info,
                               struct json_writer *out) {
    json_put_key(out, "id");
    json_put_string(out, server->model_name);
    json_put_key(out, "object");
    json_put_string(out, "model");
    json_put_key(out, "created");
    json_put_integer(out, server->started);
    json_put_key(out, "owned_by");
    json_put_string(out, "bertd");
    json_put_key(out, "task");
    json_put_string(out, info->task);
    json_put_key(out, "family");
    json_put_string(out, info->family);
    json_put_key(out, "labels");
    json_put_begin_array(out);
    for (uint32_t i = 0; i < info->labels_count; i++)
        json_put_string(out, info->labels[i]);
    json_put_end_array(out);
    json_put_key(out, "max_tokens");
    json_put_unsigned(out, info->tokens_max);
    json_put_key(out, "dtype");
    json_put_string(out, info->dtype);
}

static void write_model_details(const struct engine *engine, const struct engine_info *info,
                                struct json_writer *out) {
    json_put_key(out, "revision");
    if (info->revision[0])
        json_put_string(out, info->revision);
    else
        json_put_null(out);
    json_put_key(out, "activation");
    if (info->labels_count)
        json_put_string(out, classify_activation_words[info->activation]);
    else
        json_put_null(out);
    json_put_key(out, "layers");
    json_put_unsigned(out, info->layers_count);
    json_put_key(out, "hidden_size");
    json_put_unsigned(out, info->hidden_size);
    json_put_key(out, "vocab_size");
    json_put_unsigned(out, info->vocab_size);
    json_put_key(out, "weights_bytes");
    json_put_unsigned(out, info->weights_bytes);
    json_put_key(out, "tokens_per_second");
    json_put_unsigned(out, (uint64_t)info->tokens_per_second);
    json_put_key(out, "plan");
    json_put_raw(out, engine_plan_json(engine));
}

/* How busy each stage was since the start, as shares of that time. */
static void write_stages(struct engine *engine, struct json_writer *out) {
    struct stage_statistics stage;
    json_put_key(out, "stages");
    json_put_begin_array(out);
    for (uint32_t i = 0; engine_get_stage(engine, i, &stage); i++) {
        const uint64_t all = stage.busy_ns + stage.starved_ns + stage.blocked_ns;
        const double scale = all > 0 ? 1.0 / (double)all : 0;
        json_put_begin_object(out);
        json_put_key(out, "name");
        json_put_string(out, stage.name);
        json_put_key(out, "replica");
        json_put_unsigned(out, stage.replica);
        json_put_key(out, "busy");
        json_put_float(out, (float)((double)stage.busy_ns * scale));
        json_put_key(out, "starved");
        json_put_float(out, (float)((double)stage.starved_ns * scale));
        json_put_key(out, "blocked");
        json_put_float(out, (float)((double)stage.blocked_ns * scale));
        json_put_key(out, "microbatches");
        json_put_unsigned(out, stage.microbatches);
        json_put_key(out, "tokens");
        json_put_unsigned(out, stage.tokens);
        json_put_end_object(out);
    }
    json_put_end_array(out);
}

static void put_limit(struct json_writer *out, const char *name, uint64_t value) {
    json_put_key(out, name);
    json_put_unsigned(out, value);
}

static void write_limits(const struct server *server, const struct engine_info *info,
                         struct json_writer *out) {
    const struct server_options *options = &server->options;
    json_put_key(out, "limits");
    json_put_begin_object(out);
    put_limit(out, "max_body", options->body_bytes_max);
    put_limit(out, "max_body_memory", options->body_memory_bytes_max);
    put_limit(out, "max_connections", options->connections_max);
    put_limit(out, "max_call_inputs", options->call_inputs_max);
    if (info) {
        put_limit(out, "max_call_tokens", info->call_tokens_max);
        put_limit(out, "max_queue_tokens", info->queue_tokens_max);
        put_limit(out, "microbatch_tokens", info->microbatch_tokens);
    }
    json_put_end_object(out);
    json_put_key(out, "timeouts_ms");
    json_put_begin_object(out);
    put_limit(out, "header", options->header_timeout_ms);
    put_limit(out, "body", options->body_timeout_ms);
    put_limit(out, "idle", options->idle_timeout_ms);
    put_limit(out, "call", options->call_timeout_ms);
    if (info)
        put_limit(out, "stage", info->stage_timeout_ms);
    put_limit(out, "drain_delay", options->drain_delay_ms);
    put_limit(out, "drain", options->drain_timeout_ms);
    json_put_end_object(out);
    json_put_key(out, "threads");
    json_put_begin_object(out);
    put_limit(out, "http", options->http_threads);
    if (info)
        put_limit(out, "tokenizer", info->tokenizer_threads);
    json_put_end_object(out);
    json_put_key(out, "truncate");
    json_put_bool(out, options->truncate);
}

void api_models(struct exchange *exchange) {
    struct server *server = exchange->server;
    struct engine *engine = atomic_load(&server->engine);
    struct json_writer *out = &exchange->answer.body;
    json_put_begin_object(out);
    json_put_key(out, "object");
    json_put_string(out, "list");
    json_put_key(out, "data");
    json_put_begin_array(out);
    if (engine) {
        json_put_begin_object(out);
        write_model_fields(server, engine_get_info(engine), out);
        json_put_end_object(out);
    }
    json_put_end_array(out);
    json_put_end_object(out);
    exchange_answer(exchange);
}

void api_info(struct exchange *exchange) {
    struct server *server = exchange->server;
    struct engine *engine = atomic_load(&server->engine);
    const struct engine_info *info = engine ? engine_get_info(engine) : NULL;
    struct json_writer *out = &exchange->answer.body;
    struct inspect_machine machine;
    inspect_machine_find(&machine);
    json_put_begin_object(out);
    json_put_key(out, "name");
    json_put_string(out, "bertd");
    json_put_key(out, "version");
    json_put_string(out, BERTD_VERSION);
    json_put_key(out, "library");
    json_put_string(out, machine.library);
    json_put_key(out, "cpu_features");
    json_put_string(out, machine.cpu_features);
    json_put_key(out, "models");
    json_put_begin_array(out);
    if (info) {
        json_put_begin_object(out);
        write_model_fields(server, info, out);
        write_model_details(engine, info, out);
        write_stages(engine, out);
        json_put_end_object(out);
    }
    json_put_end_array(out);
    write_limits(server, info, out);
    json_put_end_object(out);
    exchange_answer(exchange);
}

/* `code` is that of a 503, API_CODE_COUNT: 200. */
static void answer_health(struct exchange *exchange, enum api_code code, const char *reason) {
    struct json_writer *out = &exchange->answer.body;
    json_put_begin_object(out);
    json_put_key(out, "status");
    json_put_string(out, code == API_CODE_COUNT ? "ok" : api_code_name(code));
    json_put_key(out, "reason");
    if (reason)
        json_put_string(out, reason);
    else
        json_put_null(out);
    json_put_end_object(out);
    exchange_answer(exchange);
    if (code == API_CODE_COUNT || exchange->answer.code != API_CODE_COUNT)
        return;
    exchange->answer.http_status = 503;
    exchange->answer.code = code;
    exchange->answer.retry_after_s = server_retry_after(exchange->server, code);
}

void api_livez(struct exchange *exchange) {
    answer_health(exchange, API_CODE_COUNT, NULL);
}

void api_readyz(struct exchange *exchange) {
    const char *reason = NULL;
    enum api_code code = server_readiness(exchange->server, &reason);
    answer_health(exchange, code, code == API_CODE_COUNT ? NULL : reason);
}

void api_metrics(struct exchange *exchange) {
    metrics_write(exchange->server, &exchange->answer.body);
    exchange_answer(exchange);
    if (exchange->answer.http_status == 200)
        exchange->answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
}
