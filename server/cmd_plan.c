/* cmd_plan.c: `bertd plan`: the allocation table that `bertd serve` would have. */
#include <stdio.h>

#include "engine/base/cpus.h"
#include "engine/inspect.h"
#include "server/commands.h"
#include "server/engine_start.h"

struct settings {
    struct engine_settings engine;
    bool json;
};

/* Of an imagined machine; 0, which cannot be given, stands for what is here. */
#define OPTION_ROW_MACHINE(name_, kind_, field, max_, value_, help_)                               \
    {                                                                                              \
        .name = (name_), .kind = (kind_),                                                          \
        .offset = offsetof(struct settings, engine.machine.field), .min = 1, .max = (max_),        \
        .value_name = (value_), .help = (help_)                                                    \
    }

static const struct option options[] = {
    OPTION_ROW_MODEL(struct settings, engine),
    OPTION_ROW_JSON(struct settings, json),
    OPTION_ROW_DTYPE(struct settings, engine),
    OPTION_ROWS_PLAN(struct settings, engine),
    OPTION_ROW_AUTO(struct settings, engine.microbatch_tokens, "microbatch-tokens",
                    LIMIT_MICROBATCH_TOKENS, "token budget of a microbatch"),
    OPTION_ROW_MACHINE("cores", OPTION_COUNT, cores, CPUS_MAX, "N",
                       "plan for a machine with so many cores that need not be here"),
    OPTION_ROW_MACHINE("nodes", OPTION_COUNT, nodes, CPUS_MAX, "N", "its NUMA nodes (1)"),
    OPTION_ROW_MACHINE("smt", OPTION_COUNT, smt, 8, "N", "its CPUs a core (1)"),
    OPTION_ROW_MACHINE("l2", OPTION_BYTES, l2_bytes, 1ULL << 40, "BYTES",
                       "its L2 cache a core (as here)"),
    OPTION_ROW_MACHINE("l3", OPTION_BYTES, l3_bytes, 1ULL << 40, "BYTES",
                       "its L3 cache a NUMA node (as here)"),
};

static int run(int argc, char **argv);

const struct command command_plan = {
    .name = "plan",
    .summary = "Which part of the model runs in which stage, and what each weighs and costs.",
    OPTION_TABLE(struct settings, options),
    .run = run,
};

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    struct model_source source;
    struct engine_options engine_options;
    struct inspect_plan *plan;
    struct error err;
    int exit_status;
    if (!options_begin(&command_plan, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    if (!engine_start_find(&command_plan, &settings.engine, &source, &exit_status))
        return exit_status;
    engine_start_options(&settings.engine, &source, &engine_options);
    if (inspect_plan_open(source.dir, engine_options.dtype, &engine_options.plan,
                          engine_options.microbatch_tokens, &plan, &err) != STATUS_OK)
        return engine_start_fail(&command_plan, &err);
    const char *text = settings.json ? inspect_plan_json(plan) : inspect_plan_text(plan);
    size_t bytes = strlen(text);
    printf("%s%s", text, bytes > 0 && text[bytes - 1] == '\n' ? "" : "\n");
    inspect_plan_close(plan);
    return EXIT_STATUS_OK;
}
