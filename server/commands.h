/* commands.h: the commands of the program, and the options that several of them share. Each
 * command has a file cmd_NAME.c with its table, its settings and its run function. */
#ifndef BERTD_COMMANDS_H
#define BERTD_COMMANDS_H

#include "engine/base/limits.h"
#include "engine/engine.h"
#include "server/options.h"

extern const struct command command_serve;
extern const struct command command_classify;
extern const struct command command_fill_mask;
extern const struct command command_tokenize;
extern const struct command command_plan;
extern const struct command command_bench;
extern const struct command command_check;
extern const struct command command_health;
extern const struct command command_version;

/* A machine to plan for that is not here. */
struct engine_settings_machine {
    uint64_t cores, nodes, smt, l2_bytes, l3_bytes; /* 0: as here */
};

/* Model and plan, as `serve` has them; what commands pass on to engine_open(). */
struct engine_settings {
    const char *model; /* as given, or NULL for the demo model; see model_source.h */
    uint32_t dtype;    /* index into DTYPE_CHOICES */
    uint64_t stages, replicas, max_in_flight, microbatch_tokens, tokenizer_threads; /* 0: auto */
    uint64_t stage_threads, stage_timeout_ms, decoder_chunks;
    const char *trace;
    const char *layers_per_stage, *virtual_graphs, *pin;
    bool no_pipelining, no_joining;
    bool all_rows;                          /* `bertd bench` only */
    struct engine_settings_machine machine; /* `bertd plan` only */
};

#define DTYPE_CHOICES "f32|bf16|int8|auto"

/* Rows of a command's table; `type` is its settings struct, `field` the engine_settings in it. */
/* clang-format off */
#define OPTION_ROW_MODEL(type, field)                                                              \
    {.name = "model", .kind = OPTION_STRING, .offset = offsetof(type, field.model),                \
     .value_name = "DIR", .environment = true,                                                     \
     .single_reason = "this version has one model",                                                \
     .help = "directory or Hub id in the local cache, NAME= in front names it (the demo model)"}

#define OPTION_ROW_DTYPE(type, field)                                                              \
    {.name = "dtype", .kind = OPTION_CHOICE, .offset = offsetof(type, field.dtype),                \
     .choices = DTYPE_CHOICES, .fallback = "f32", .environment = true,                             \
     .help = "number format of the matrix products"}

/* A count that is chosen by the program unless given. */
#define OPTION_ROW_AUTO(type, field, name_, max_, help_)                                           \
    {.name = (name_), .kind = OPTION_COUNT, .offset = offsetof(type, field),                       \
     .min = 1, .max = (max_), .word = "auto", .fallback = "auto", .environment = true,             \
     .help = (help_)}

#define OPTION_ROWS_PLAN(type, field)                                                              \
    OPTION_ROW_AUTO(type, field.stages, "stages", LIMIT_STAGES,                                    \
                    "encoder stages, one thread each"),                                            \
    {.name = "layers-per-stage", .kind = OPTION_STRING,                                            \
     .offset = offsetof(type, field.layers_per_stage), .value_name = "N,N,-1",                     \
     .environment = true, .help = "layers of each stage; one -1 takes the rest"},                  \
    {.name = "virtual-graphs", .kind = OPTION_STRING,                                              \
     .offset = offsetof(type, field.virtual_graphs), .value_name = "N,N,N",                        \
     .environment = true, .help = "virtual graph of each encoder stage and of the head"},          \
    {.name = "pin", .kind = OPTION_STRING, .offset = offsetof(type, field.pin),                    \
     .value_name = "SET;SET", .environment = true,                                                 \
     .help = "CPU set, such as 0-3, of each virtual graph or of each in each replica"},            \
    OPTION_ROW_AUTO(type, field.stage_threads, "stage-threads", LIMIT_STAGE_THREADS,               \
                    "threads of each stage, which split its products"),                            \
    OPTION_ROW_AUTO(type, field.replicas, "replicas", LIMIT_REPLICAS,                              \
                    "pipelines over one set of weights"),                                          \
    {.name = "no-pipelining", .kind = OPTION_FLAG, .offset = offsetof(type, field.no_pipelining),  \
     .environment = true, .help = "the same split, one microbatch in flight"},                     \
    {.name = "no-joining", .kind = OPTION_FLAG, .offset = offsetof(type, field.no_joining),        \
     .environment = true, .help = "idle cores do not help with a single microbatch"},              \
    OPTION_ROW_AUTO(type, field.max_in_flight, "max-in-flight", LIMIT_MICROBATCHES_IN_FLIGHT,      \
                    "microbatches in flight in each replica"),                                     \
    OPTION_ROW_AUTO(type, field.decoder_chunks, "decoder-chunks", LIMIT_DECODER_CHUNKS,            \
                    "slices of the vocabulary in a masked-language head")

#define OPTION_ROWS_FLOW(type, field)                                                              \
    OPTION_ROW_AUTO(type, field.microbatch_tokens, "microbatch-tokens", LIMIT_MICROBATCH_TOKENS,   \
                    "token budget of a microbatch"),                                               \
    OPTION_ROW_AUTO(type, field.tokenizer_threads, "tokenizer-threads", LIMIT_TOKENIZER_THREADS,   \
                    "threads that turn texts into token ids")

/* Of commands that run long enough to be watched. */
#define OPTION_ROWS_WATCH(type, field)                                                             \
    {.name = "stage-timeout", .kind = OPTION_TIME,                                                 \
     .offset = offsetof(type, field.stage_timeout_ms),                                             \
     .min = 10, .max = 24 * 3600 * 1000, .fallback = "30s", .environment = true,                   \
     .help = "a stage that finishes no part of the model for so long is stuck"},                   \
    {.name = "trace", .kind = OPTION_STRING, .offset = offsetof(type, field.trace),                \
     .value_name = "FILE", .environment = true,                                                    \
     .help = "write what each stage did at the end, for Perfetto"}

#define OPTION_ROW_TRUNCATE(type, field)                                                           \
    {.name = "truncate", .kind = OPTION_SWITCH, .offset = offsetof(type, field),                   \
     .fallback = "true", .environment = true, .help = "cut inputs over the model's limit"}

#define OPTION_ROW_JSON(type, field)                                                               \
    {.name = "json", .kind = OPTION_FLAG, .offset = offsetof(type, field),                         \
     .help = "JSON for programs"}

#define OPTION_ROW_JSONL(type, field)                                                              \
    {.name = "jsonl", .kind = OPTION_FLAG, .offset = offsetof(type, field),                        \
     .help = "inputs are JSON: a string or {\"text\",\"text_pair\"}, one a line"}

/* Of commands that take token ids too. */
#define OPTION_ROW_JSONL_IDS(type, field)                                                          \
    {.name = "jsonl", .kind = OPTION_FLAG, .offset = offsetof(type, field),                        \
     .help = "inputs are JSON: a string, {\"text\",\"text_pair\"} or token ids, one a line"}

#define OPTION_TABLE(type, rows)                                                                   \
    .settings_bytes = sizeof(type), .options = (rows),                                             \
    .options_count = sizeof(rows) / sizeof(rows)[0]
/* clang-format on */

#endif
