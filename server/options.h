/* options.h: the command line as tables. Each command has one table of options; parsing, --help,
 * environment variables and error messages are all made from it.
 *
 * Precedence: command line, then environment (BERTD_MAX_BODY for --max-body), then the default.
 * `--name value` and `--name=value` are the same; `--` ends the options; options and arguments may
 * be mixed. Main thread only. */
#ifndef BERTD_OPTIONS_H
#define BERTD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"

enum option_kind {
    OPTION_STRING, /* const char *; not empty */
    OPTION_FLAG,   /* bool; alone it means true, also --name=true|false */
    OPTION_SWITCH, /* bool; needs a value, true or false */
    OPTION_COUNT,  /* uint64_t */
    OPTION_BYTES,  /* uint64_t; K, M and G are powers of 1024 */
    OPTION_TIME,   /* uint64_t in milliseconds; ms, s or m, a bare number is seconds */
    OPTION_NUMBER, /* double, finite; NAN when not given */
    OPTION_CHOICE  /* uint32_t index into `choices`; UINT32_MAX when not given */
};

struct option {
    const char *name; /* without the dashes */
    enum option_kind kind;
    size_t offset;             /* of the field in the command's settings */
    uint64_t min, max;         /* COUNT, BYTES, TIME (in milliseconds) */
    const char *fallback;      /* the default, as one would type it; NULL: zero, NULL, false */
    const char *choices;       /* CHOICE: "f32|auto", in the order of the enumerators */
    const char *word;          /* NUMBER: stands for INFINITY; COUNT, BYTES, TIME: for… */
    uint64_t word_value;       /* …this */
    const char *value_name;    /* for --help: "N", "DIR" */
    const char *help;          /* one line */
    bool environment;          /* may come from BERTD_NAME */
    const char *single_reason; /* not NULL: may be given once only, and this says why */
};

struct command {
    const char *name;
    const char *arguments; /* for --help: "[TEXT...]"; NULL: the command takes none */
    const char *summary;   /* one line */
    uint32_t arguments_max;
    size_t settings_bytes; /* of what the table fills; the rest of it is zeroed */
    const struct option *options;
    size_t options_count;
    const char *const *later_names;    /* NULL-terminated or NULL: options of the contract that this
                                          version has not; their variables are refused as unknown */
    int (*run)(int argc, char **argv); /* after the command's name; returns the exit status */
};

/* Exit statuses of every command. */
enum { EXIT_STATUS_OK = 0, EXIT_STATUS_FAILED = 1, EXIT_STATUS_USAGE = 2 };

/* A line about options; and a message of the engine with variables in place of them. */
enum { OPTIONS_ERROR_BYTES = 512, OPTIONS_NAMED_BYTES = 2 * ERROR_MESSAGE_BYTES };

enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD };

struct options_rest {
    char **arguments; /* the front of argv, reordered in place */
    uint32_t count;
    uint64_t from_environment; /* a bit for each option of the table whose value is a variable's */
};

/* Fills `settings` (whose layout the table describes) with defaults, environment and command line.
 * `environment` is an array as `environ`, NULL for none. Strings of the settings point into argv,
 * the environment or the table. On OPTIONS_BAD `message` is one line that names the option, what
 * was given and what is allowed. */
enum options_result options_parse(const struct command *command, int argc, char **argv,
                                  const char *const *environment, void *settings,
                                  struct options_rest *rest, char message[OPTIONS_ERROR_BYTES]);

/* options_parse() for a command's run function: prints the help or the error. False: the command
 * ends with *exit_status. */
bool options_begin(const struct command *command, int argc, char **argv, void *settings,
                   struct options_rest *rest, int *exit_status);

/* Copies a message about values of the command; options in it whose values came from the
 * environment are named as their variables ("--pin" as BERTD_PIN). After options_begin(). */
void options_name_sources(const struct command *command, const char *message,
                          char out[OPTIONS_NAMED_BYTES]);

/* Prints "bertd COMMAND: message" on standard error; returns EXIT_STATUS_USAGE. */
int options_refuse(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The known name with the fewest edits, or NULL when nothing is near. */
const char *options_nearest(const char *given, const char *const *names, size_t count);

/* Help of one command on standard output. */
void options_print_help(const struct command *command);

#endif
