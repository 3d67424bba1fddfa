/* engine_start.h: from a command's settings to a running engine, with the error lines that every
 * command prints alike. */
#ifndef BERTD_ENGINE_START_H
#define BERTD_ENGINE_START_H

#include <stdbool.h>

#include "engine/engine.h"
#include "server/commands.h"
#include "server/model_source.h"

/* Prints "bertd COMMAND: message" on standard error; returns the exit status: USAGE when an
 * option's value is the fault, which only the model can tell, else FAILED. */
int engine_start_fail(const struct command *command, const struct error *err);

/* The settings as the engine takes them; strings point into the settings and the source. */
void engine_start_options(const struct engine_settings *settings, const struct model_source *source,
                          struct engine_options *out);

/* Finds the model and opens the engine. NULL after printing the error, with *exit_status set.
 * `queue_tokens_max` as in engine_options. */
struct engine *engine_start(const struct command *command, const struct engine_settings *settings,
                            uint64_t queue_tokens_max, int *exit_status);

/* model_source_find() that prints its error and sets *exit_status. */
bool engine_start_find(const struct command *command, const struct engine_settings *settings,
                       struct model_source *out, int *exit_status);

#endif
