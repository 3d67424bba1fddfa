/* options.c: reads a command line and the environment by the command's table. First defaults, then
 * the environment, then the arguments, each through the same value parser (option_values.c). */
#include "server/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/option_values.h"

enum { NAME_BYTES_MAX = 64, NEAREST_NAMES_MAX = 64 };

extern char **environ;

/* Of the process's own command line; written once, by options_begin(). */
static uint64_t from_environment;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap of neighbours) between two names of at most NAME_BYTES_MAX
 * bytes. */
static size_t edit_distance(const char *a, const char *b) {
    size_t na = strlen(a), nb = strlen(b), rows[3][NAME_BYTES_MAX + 1];
    if (na > NAME_BYTES_MAX || nb > NAME_BYTES_MAX)
        return NAME_BYTES_MAX;
    for (size_t i = 0; i <= na; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *over = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            if (i == 0) {
                row[j] = j;
                continue;
            }
            size_t replace = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller(replace, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], over[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

/* Whether one of the two is the start of the other, and long enough to mean it. */
static bool is_start(const char *a, const char *b) {
    size_t bytes = smaller(strlen(a), strlen(b));
    return bytes > 1 && strncmp(a, b, bytes) == 0;
}

const char *options_nearest(const char *given, const char *const *names, size_t count) {
    const char *best = NULL;
    /* In half edits. More than a third wrong is no likeness; a start is less than one edit. */
    size_t best_distance = 2 * (strlen(given) / 3 + 1);
    if (best_distance < 4)
        best_distance = 4;
    for (size_t i = 0; i < count; i++) {
        size_t distance = 2 * edit_distance(given, names[i]);
        if (distance > 3 && is_start(given, names[i]))
            distance = 3;
        if (distance < best_distance) {
            best_distance = distance;
            best = names[i];
        }
    }
    return best;
}

static const struct option *find_option(const struct command *command, const char *name,
                                        size_t bytes) {
    for (size_t i = 0; i < command->options_count; i++) {
        const struct option *option = &command->options[i];
        if (strlen(option->name) == bytes && memcmp(option->name, name, bytes) == 0)
            return option;
    }
    return NULL;
}

static enum options_result refuse(char message[OPTIONS_ERROR_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum options_result refuse(char message[OPTIONS_ERROR_BYTES], const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(message, OPTIONS_ERROR_BYTES, format, args);
    va_end(args);
    return OPTIONS_BAD;
}

static enum options_result refuse_value(const struct option *option, const char *source,
                                        const char *given, char message[OPTIONS_ERROR_BYTES]) {
    char quoted[OPTION_QUOTED_BYTES], allowed[OPTION_ALLOWED_BYTES];
    option_quote(given, quoted);
    option_allowed(option, allowed);
    return refuse(message, "%s: got %s, allowed: %s", source, quoted, allowed);
}

static enum options_result refuse_unknown(const struct command *command, const char *given,
                                          char message[OPTIONS_ERROR_BYTES]) {
    const char *names[NEAREST_NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < command->options_count && count < NEAREST_NAMES_MAX; i++)
        names[count++] = command->options[i].name;
    char name[NAME_BYTES_MAX + 1], quoted[OPTION_QUOTED_BYTES];
    snprintf(name, sizeof name, "%s", given + strspn(given, "-"));
    name[strcspn(name, "=")] = '\0';
    option_quote(given, quoted);
    const char *nearest = options_nearest(name, names, count);
    return refuse(message, "unknown option %s%s%s; allowed: the options of bertd %s --help", quoted,
                  nearest ? ", the nearest is --" : "", nearest ? nearest : "", command->name);
}

/* "max-body" to "BERTD_MAX_BODY". */
static void variable_name(const char *option, char out[NAME_BYTES_MAX + 8]) {
    int n = snprintf(out, NAME_BYTES_MAX + 8, "BERTD_%.*s", NAME_BYTES_MAX, option);
    for (int i = 0; i < n; i++) {
        if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
        else if (out[i] == '-')
            out[i] = '_';
    }
}

static const char *find_variable(const char *const *environment, const char *name) {
    size_t bytes = strlen(name);
    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, bytes) == 0 && (*environment)[bytes] == '=')
            return *environment + bytes + 1;
    return NULL;
}

static enum options_result read_defaults(const struct command *command, void *settings,
                                         char message[OPTIONS_ERROR_BYTES]) {
    for (size_t i = 0; i < command->options_count; i++) {
        const struct option *option = &command->options[i];
        option_clear(option, settings);
        if (option->fallback && !option_store(option, option->fallback, settings))
            return refuse_value(option, option->name, option->fallback, message);
    }
    return OPTIONS_OK;
}

/* Kubernetes sets BERTD_PORT=tcp://ADDRESS:PORT for a service that is named bertd; that is no
 * setting of ours. An empty variable counts as absent. */
static bool variable_counts(const char *value) {
    return value && *value && strncmp(value, "tcp://", 6) != 0 && strncmp(value, "udp://", 6) != 0;
}

static enum options_result read_environment(const struct command *command,
                                            const char *const *environment, void *settings,
                                            uint64_t *found, char message[OPTIONS_ERROR_BYTES]) {
    char name[NAME_BYTES_MAX + 8];
    for (size_t i = 0; i < command->options_count; i++) {
        const struct option *option = &command->options[i];
        if (!option->environment)
            continue;
        variable_name(option->name, name);
        const char *value = find_variable(environment, name);
        if (!variable_counts(value))
            continue;
        if (!option_store(option, value, settings))
            return refuse_value(option, name, value, message);
        *found |= 1ULL << i;
    }
    for (const char *const *later = command->later_names; later && *later; later++) {
        variable_name(*later, name);
        if (variable_counts(find_variable(environment, name)))
            return refuse(message,
                          "unknown variable %s (--%s is not an option of this version); "
                          "allowed: variables of the options of bertd %s --help",
                          name, *later, command->name);
    }
    return OPTIONS_OK;
}

/* Reads argv[*index], an option, and its value, which may be the next argument. */
static enum options_result read_option(const struct command *command, int argc, char **argv,
                                       int *index, uint64_t *given, void *settings,
                                       char message[OPTIONS_ERROR_BYTES]) {
    const char *text = argv[*index];
    if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)
        return OPTIONS_HELP;
    size_t bytes = strncmp(text, "--", 2) == 0 ? strcspn(text + 2, "=") : 0;
    const struct option *option = bytes ? find_option(command, text + 2, bytes) : NULL;
    if (!option)
        return refuse_unknown(command, text, message);
    uint64_t bit = 1ULL << (option - command->options);
    if (option->single_reason && (*given & bit))
        return refuse(message, "--%s: given twice, allowed: once; %s", option->name,
                      option->single_reason);
    *given |= bit;

    char source[NAME_BYTES_MAX + 3];
    snprintf(source, sizeof source, "--%s", option->name);
    const char *value = text[2 + bytes] == '=' ? text + 3 + bytes : NULL;
    if (!value && option->kind == OPTION_FLAG)
        value = "true";
    if (!value) {
        char allowed[OPTION_ALLOWED_BYTES];
        option_allowed(option, allowed);
        if (*index + 1 >= argc)
            return refuse(message, "%s: got no value, allowed: %s", source, allowed);
        value = argv[++*index];
    }
    return option_store(option, value, settings) ? OPTIONS_OK
                                                 : refuse_value(option, source, value, message);
}

enum options_result options_parse(const struct command *command, int argc, char **argv,
                                  const char *const *environment, void *settings,
                                  struct options_rest *rest, char message[OPTIONS_ERROR_BYTES]) {
    *rest = (struct options_rest){.arguments = argv};
    memset(settings, 0, command->settings_bytes);
    enum options_result result = read_defaults(command, settings, message);
    uint64_t given = 0; /* one bit an option; tables are far below 64 */
    bool options_ended = false;

    /* --help helps even where the environment or the rest of the line is wrong. */
    for (int i = 0; result == OPTIONS_OK && i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            break;
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return OPTIONS_HELP;
    if (result == OPTIONS_OK)
        result = read_environment(command, environment, settings, &rest->from_environment, message);
    for (int i = 0; result == OPTIONS_OK && i < argc; i++) {
        if (!options_ended && strcmp(argv[i], "--") == 0)
            options_ended = true;
        else if (!options_ended && argv[i][0] == '-' && argv[i][1])
            result = read_option(command, argc, argv, &i, &given, settings, message);
        else
            argv[rest->count++] = argv[i];
    }
    rest->from_environment &= ~given;
    if (result == OPTIONS_OK && rest->count > command->arguments_max) {
        char quoted[OPTION_QUOTED_BYTES];
        option_quote(argv[command->arguments_max], quoted);
        if (command->arguments_max == 0)
            return refuse(message, "got the argument %s, allowed: options only", quoted);
        return refuse(message, "got one argument too many, %s, allowed: %u", quoted,
                      command->arguments_max);
    }
    return result;
}

bool options_begin(const struct command *command, int argc, char **argv, void *settings,
                   struct options_rest *rest, int *exit_status) {
    char message[OPTIONS_ERROR_BYTES];
    switch (
        options_parse(command, argc, argv, (const char *const *)environ, settings, rest, message)) {
    case OPTIONS_OK:
        from_environment = rest->from_environment;
        return true;
    case OPTIONS_HELP:
        options_print_help(command);
        *exit_status = EXIT_STATUS_OK;
        return false;
    case OPTIONS_BAD:
        break;
    }
    *exit_status = options_refuse(command, "%s", message);
    return false;
}

void options_name_sources(const struct command *command, const char *message,
                          char out[OPTIONS_NAMED_BYTES]) {
    size_t n = 0;
    while (*message && n + NAME_BYTES_MAX + 8 < OPTIONS_NAMED_BYTES) {
        const char *name = message + 2;
        const size_t bytes = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
        const struct option *option =
            strncmp(message, "--", 2) == 0 ? find_option(command, name, bytes) : NULL;
        if (option && (from_environment >> (option - command->options) & 1)) {
            variable_name(option->name, out + n);
            n += strlen(out + n);
            message = name + bytes;
        } else {
            out[n++] = *message++;
        }
    }
    out[n] = '\0';
}

int options_refuse(const struct command *command, const char *format, ...) {
    char message[OPTIONS_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fprintf(stderr, "bertd %s: %s\n", command->name, message);
    return EXIT_STATUS_USAGE;
}

/* How variables and units are written, as far as the command has them. */
static void print_help_end(const char *variable, bool has_bytes, bool has_times) {
    char name[NAME_BYTES_MAX + 8];
    if (variable) {
        variable_name(variable, name);
        printf(
            "\nOptions that bertd serve has may also be set in the environment: --%s is\n%s. The "
            "command line wins.\n",
            variable, name);
    }
    if (has_bytes)
        printf("Bytes take K, M, G (1024); a bare number is bytes.\n");
    if (has_times)
        printf("Times take ms, s, m; a bare number is seconds.\n");
}

void options_print_help(const struct command *command) {
    printf("usage: bertd %s%s%s%s\n\n%s\n", command->name,
           command->options_count ? " [OPTIONS]" : "", command->arguments ? " " : "",
           command->arguments ? command->arguments : "", command->summary);
    const char *variable = NULL;
    bool has_bytes = false, has_times = false;
    printf("\noptions:\n");
    for (size_t i = 0; i < command->options_count; i++) {
        const struct option *option = &command->options[i];
        char left[NAME_BYTES_MAX + OPTION_ALLOWED_BYTES], allowed[OPTION_ALLOWED_BYTES];
        option_value_name(option, allowed);
        snprintf(left, sizeof left, "--%s%s%s", option->name, *allowed ? " " : "", allowed);
        printf("  %-32s %s", left, option->help);
        if (option->fallback)
            printf(" (%s)", option->fallback);
        printf("\n");
        if (option->environment)
            variable = option->name;
        has_bytes |= option->kind == OPTION_BYTES;
        has_times |= option->kind == OPTION_TIME;
    }
    printf("  %-32s %s\n", "--help", "this page");
    print_help_end(variable, has_bytes, has_times);
}
