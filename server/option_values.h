/* option_values.h: one value of the command line: its grammar, how it is stored, and the words
 * that help and error messages use for it. Used by options.c only. */
#ifndef BERTD_OPTION_VALUES_H
#define BERTD_OPTION_VALUES_H

#include <stdbool.h>

#include "server/options.h"

enum { OPTION_QUOTED_BYTES = 96, OPTION_ALLOWED_BYTES = 160 };

/* Sets the option's field to zero, NULL, false, or NAN. */
void option_clear(const struct option *option, void *settings);

/* Parses `text` and writes the field. False, and nothing written, when it is not allowed. */
bool option_store(const struct option *option, const char *text, void *settings);

/* What is allowed: "a count from 1 to 64, or auto". */
void option_allowed(const struct option *option, char out[OPTION_ALLOWED_BYTES]);

/* What --help shows behind the name: "N", "f32|auto", "" for a flag. */
void option_value_name(const struct option *option, char out[OPTION_ALLOWED_BYTES]);

/* 'text' in quotes, cut to its room, with control characters as question marks. */
void option_quote(const char *text, char out[OPTION_QUOTED_BYTES]);

#endif
