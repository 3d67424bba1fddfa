/* cmd_version.c: `bertd version`: what this program is and what it finds on this machine. */
#include <stdio.h>

#include "engine/inspect.h"
#include "server/commands.h"
#include "server/version.h"

static int run(int argc, char **argv);

const struct command command_version = {
    .name = "version",
    .summary = "Versions, CPU features found, and the dtype that `auto` takes here.",
    .run = run,
};

static int run(int argc, char **argv) {
    struct options_rest rest;
    int exit_status;
    char nothing;
    if (!options_begin(&command_version, argc, argv, &nothing, &rest, &exit_status))
        return exit_status;
    printf("bertd %s\n", BERTD_VERSION);
    struct inspect_machine machine;
    inspect_machine_find(&machine);
    printf("%s\nCPU features: %s\ndtype auto: %s\n", machine.library, machine.cpu_features,
           machine.auto_dtype);
    return EXIT_STATUS_OK;
}
