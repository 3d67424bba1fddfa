/* text_run.h: the commands that answer texts (`classify`, `fill-mask`): inputs are submitted as
 * they are read, a call each, and their answers printed in the order of the inputs, so that a line
 * that is typed is answered at once and a million lines need no more memory than the calls in
 * flight. */
#ifndef BERTD_TEXT_RUN_H
#define BERTD_TEXT_RUN_H

#include <stdbool.h>

#include "engine/engine.h"
#include "server/commands.h"
#include "server/json_write.h"

/* One answered input. */
struct text_answer {
    const struct call *call;
    const struct call_answer *answer;
    uint64_t index;
    const char *shown; /* the start of the text, printable; only for tables */
};

struct text_run {
    const struct command *command;
    const struct options_rest *arguments;
    bool json, jsonl;
    struct engine *engine;
    struct call_spec spec; /* of each call, but for its input and what callers.h fills */
    void *context;         /* the command's own; used by the printing thread only */
    void (*write_json)(void *context, const struct text_answer *answer, struct json_writer *json);
    void (*print_table)(void *context, const struct text_answer *answer);
};

/* Runs until all inputs are answered. False when anything failed, which was then printed. */
bool text_run_all(const struct text_run *run);

/* Opens the engine for a command of that task, or returns NULL after a line about why not. */
struct engine *text_run_start(const struct command *command, enum engine_task task,
                              const struct engine_settings *settings, int *exit_status);

#endif
