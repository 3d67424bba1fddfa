/* commands.h: the commands of the program, and the options that several of them share. Each
 * command has a file cmd_NAME.c with its table, its settings and its run function. */
#ifndef BERTD_COMMANDS_H
#define BERTD_COMMANDS_H

#include "engine/base/limits.h"
#include "engine/engine.h"
#include "server/options.h"

extern const struct command command_version;

/* Model and plan, as `serve` has them; what commands pass on to engine_open(). */
struct engine_settings {
    const char *model; /* as given, or NULL for the demo model; see model_source.h */
    uint32_t dtype;    /* index into DTYPE_CHOICES */
    uint64_t stages, replicas, max_in_flight, microbatch_tokens, tokenizer_threads; /* 0: auto */
    const char *layers_per_stage;
    bool no_pipelining;
};

#define DTYPE_CHOICES "f32|auto"

/* Rows of a command's table; `type` is its settings struct, `field` the engine_settings in it. */
#define OPTION_ROW_MODEL(type, field)                                                              \
    {                                                                                              \
        .name = "model", .kind = OPTION_STRING, .offset = offsetof(type, field.model),             \
        .value_name = "DIR", .environment = true, .single_reason = "this version has one model",   \
        .help = "directory or Hub id in the local cache, NAME= in front names it (the demo model)" \
    }

#define OPTION_ROW_DTYPE(type, field)                                                              \
    {                                                                                              \
        .name = "dtype", .kind = OPTION_CHOICE, .offset = offsetof(type, field.dtype),             \
        .choices = DTYPE_CHOICES, .fallback = "f32", .environment = true,                          \
        .help = "number format of the matrix products"                                             \
    }

#define OPTION_ROWS_PLAN(type, field)                                                              \
    {.name = "stages",                                                                             \
     .kind = OPTION_COUNT,                                                                         \
     .offset = offsetof(type, field.stages),                                                       \
     .min = 1,                                                                                     \
     .max = LIMIT_STAGES,                                                                          \
     .word = "auto",                                                                               \
     .fallback = "auto",                                                                           \
     .environment = true,                                                                          \
     .help = "encoder stages, one thread each"},                                                   \
        {.name = "layers-per-stage",                                                               \
         .kind = OPTION_STRING,                                                                    \
         .offset = offsetof(type, field.layers_per_stage),                                         \
         .value_name = "N,N,-1",                                                                   \
         .environment = true,                                                                      \
         .help = "layers of each stage; one -1 takes the rest"},                                   \
        {.name = "replicas",                                                                       \
         .kind = OPTION_COUNT,                                                                     \
         .offset = offsetof(type, field.replicas),                                                 \
         .min = 1,                                                                                 \
         .max = LIMIT_REPLICAS,                                                                    \
         .word = "auto",                                                                           \
         .fallback = "auto",                                                                       \
         .environment = true,                                                                      \
         .help = "pipelines over one set of weights"},                                             \
        {.name = "no-pipelining",                                                                  \
         .kind = OPTION_FLAG,                                                                      \
         .offset = offsetof(type, field.no_pipelining),                                            \
         .environment = true,                                                                      \
         .help = "the same split, one microbatch in flight"},                                      \
    {                                                                                              \
        .name = "max-in-flight", .kind = OPTION_COUNT,                                             \
        .offset = offsetof(type, field.max_in_flight), .min = 1,                                   \
        .max = LIMIT_MICROBATCHES_IN_FLIGHT, .word = "auto", .fallback = "auto",                   \
        .environment = true, .help = "microbatches in flight in each replica"                      \
    }

#define OPTION_ROWS_FLOW(type, field)                                                              \
    {.name = "microbatch-tokens",                                                                  \
     .kind = OPTION_COUNT,                                                                         \
     .offset = offsetof(type, field.microbatch_tokens),                                            \
     .min = 1,                                                                                     \
     .max = LIMIT_MICROBATCH_TOKENS,                                                               \
     .word = "auto",                                                                               \
     .fallback = "auto",                                                                           \
     .environment = true,                                                                          \
     .help = "token budget of a microbatch"},                                                      \
    {                                                                                              \
        .name = "tokenizer-threads", .kind = OPTION_COUNT,                                         \
        .offset = offsetof(type, field.tokenizer_threads), .min = 1,                               \
        .max = LIMIT_TOKENIZER_THREADS, .word = "auto", .fallback = "auto", .environment = true,   \
        .help = "threads that turn texts into token ids"                                           \
    }

#define OPTION_ROW_JSON(type, field)                                                               \
    {                                                                                              \
        .name = "json", .kind = OPTION_FLAG, .offset = offsetof(type, field),                      \
        .help = "JSON for programs"                                                                \
    }

#define OPTION_TABLE(rows) .options = (rows), .options_count = sizeof(rows) / sizeof(rows)[0]

#endif
