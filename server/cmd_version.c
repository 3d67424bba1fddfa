/* cmd_version.c: `bertd version`: what this program is and what it finds on this machine. */
#include <stdio.h>

#include "server/commands.h"
#include "server/version.h"

static int run(int argc, char **argv);

const struct command command_version = {
    .name = "version",
    .summary = "Versions, CPU features found, and the dtype that `auto` takes here.",
    .run = run,
};

/* The features that decide which matrix product code oneDNN picks. */
static void print_cpu_features(void) {
    printf("CPU features:");
#if defined(__x86_64__)
    __builtin_cpu_init();
#define PRINT_FEATURE(name)                                                                        \
    if (__builtin_cpu_supports(name))                                                              \
        printf(" %s", name);
    PRINT_FEATURE("sse4.1")
    PRINT_FEATURE("avx")
    PRINT_FEATURE("avx2")
    PRINT_FEATURE("fma")
    PRINT_FEATURE("avx512f")
    PRINT_FEATURE("avx512bw")
    PRINT_FEATURE("avx512vnni")
    PRINT_FEATURE("avx512bf16")
#undef PRINT_FEATURE
#elif defined(__aarch64__)
    printf(" asimd");
#endif
    printf("\n");
}

static int run(int argc, char **argv) {
    struct options_rest rest;
    int exit_status;
    char nothing;
    if (!options_begin(&command_version, argc, argv, &nothing, &rest, &exit_status))
        return exit_status;
    printf("bertd %s\n", BERTD_VERSION);
    print_cpu_features();
    printf("dtype auto: f32\n");
    return EXIT_STATUS_OK;
}
