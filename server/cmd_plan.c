/* cmd_plan.c: `bertd plan`: the allocation table that `bertd serve` would have. */
#include <stdio.h>

#include "engine/inspect.h"
#include "server/commands.h"
#include "server/engine_start.h"

struct settings {
    struct engine_settings engine;
    bool json;
};

static const struct option options[] = {
    OPTION_ROW_MODEL(struct settings, engine),
    OPTION_ROW_JSON(struct settings, json),
    OPTION_ROW_DTYPE(struct settings, engine),
    OPTION_ROWS_PLAN(struct settings, engine),
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
    if (inspect_plan_open(source.dir, engine_options.dtype, &engine_options.plan, &plan, &err) !=
        STATUS_OK)
        return engine_start_fail(&command_plan, &err);
    const char *text = settings.json ? inspect_plan_json(plan) : inspect_plan_text(plan);
    size_t bytes = strlen(text);
    printf("%s%s", text, bytes > 0 && text[bytes - 1] == '\n' ? "" : "\n");
    inspect_plan_close(plan);
    return EXIT_STATUS_OK;
}
