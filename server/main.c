/* main.c: finds the command by its name and runs it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "server/commands.h"

static const struct command *const commands[] = {
    &command_serve, &command_classify, &command_fill_mask, &command_tokenize, &command_plan,
    &command_check, &command_bench,    &command_health,    &command_version,
};
enum { COMMANDS_COUNT = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
    fprintf(out, "usage: bertd COMMAND [OPTIONS] [ARGUMENTS]\n\n"
                 "An HTTP inference server for BERT-family encoders on CPUs.\n\ncommands:\n");
    for (size_t i = 0; i < COMMANDS_COUNT; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n`bertd COMMAND --help` lists the options of a command.\n");
}

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < COMMANDS_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int refuse_command(const char *name) {
    const char *names[COMMANDS_COUNT];
    for (size_t i = 0; i < COMMANDS_COUNT; i++)
        names[i] = commands[i]->name;
    const char *nearest = options_nearest(name, names, COMMANDS_COUNT);
    fprintf(stderr, "bertd: unknown %s '%.64s'%s%s; allowed: the commands of bertd --help\n",
            *name == '-' ? "option" : "command", name, nearest ? ", the nearest is " : "",
            nearest ? nearest : "");
    return EXIT_STATUS_USAGE;
}

/* A standard stream that the caller has closed would lend its number to the next file or client,
 * and log lines would go there. Opened the wrong way round, each still fails as a closed one. */
static void keep_standard_numbers(void) {
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++)
        if (fcntl(number, F_GETFD) < 0)
            (void)open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Large memory goes back to the system when it is freed. glibc would raise its threshold to what
 * was freed last, and then keep in its heap what loading a model needed for a moment, since freed
 * aligned memory seldom fits the next request of its size: half as much again as the weights. */
static void return_freed_memory(void) {
#ifdef __GLIBC__
    enum { LARGE = 1 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, 2 * LARGE);
#endif
}

int main(int argc, char **argv) {
    return_freed_memory();
    keep_standard_numbers();
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_help(stderr);
        return EXIT_STATUS_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return EXIT_STATUS_OK;
    }
    if (strcmp(name, "--version") == 0)
        name = "version";
    const struct command *command = find_command(name);
    if (!command)
        return refuse_command(name);
    int exit_status = command->run(argc - 2, argv + 2);
    /* An answer that could not be written is no success: a full disk, a closed pipe. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "bertd %s: standard output could not be written\n", name);
        return exit_status == EXIT_STATUS_OK ? EXIT_STATUS_FAILED : exit_status;
    }
    return exit_status;
}
