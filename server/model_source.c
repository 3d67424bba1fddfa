/* model_source.c: finds the directory of a model before anything is opened. */
#include "server/model_source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char demo_name[] = "goemotions-minilm";

static bool is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool print_path(char out[MODEL_SOURCE_PATH_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* False when the path does not fit. */
static bool print_path(char out[MODEL_SOURCE_PATH_BYTES], const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out, MODEL_SOURCE_PATH_BYTES, format, args);
    va_end(args);
    return n >= 0 && n < MODEL_SOURCE_PATH_BYTES;
}

/* The directory of the running program, or "" when the system does not say. */
static void program_directory(char out[MODEL_SOURCE_PATH_BYTES]) {
    ssize_t n = readlink("/proc/self/exe", out, MODEL_SOURCE_PATH_BYTES - 1);
    out[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

static enum status find_demo(struct model_source *out, struct error *err) {
    char program[MODEL_SOURCE_PATH_BYTES];
    program_directory(program);
    if (print_path(out->dir, "models/%s", demo_name) && is_directory(out->dir))
        return STATUS_OK;
    if (*program && print_path(out->dir, "%s/../share/bertd/%s", program, demo_name) &&
        is_directory(out->dir))
        return STATUS_OK;
    if (*program && print_path(out->dir, "%s/../models/%s", program, demo_name) &&
        is_directory(out->dir))
        return STATUS_OK;
    return error_set(err, STATUS_IO,
                     "the demo model is neither in models/%s nor beside the program; "
                     "give a directory with --model",
                     demo_name);
}

/* Where huggingface_hub keeps its downloads; false when nothing says where. */
static bool cache_directory(char out[MODEL_SOURCE_PATH_BYTES]) {
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"HF_HUB_CACHE", ""},
        {"HUGGINGFACE_HUB_CACHE", ""},
        {"HF_HOME", "/hub"},
        {"XDG_CACHE_HOME", "/huggingface/hub"},
        {"HOME", "/.cache/huggingface/hub"},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *value = getenv(places[i].variable);
        if (value && *value)
            return print_path(out, "%s%s", value, places[i].below);
    }
    return false;
}

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

/* "name" or "org/name", as the Hub spells ids: no empty part, no dot in front. */
static bool is_hub_id(const char *text) {
    int slashes = 0;
    for (const char *c = text; *c; c++) {
        bool part_start = c == text || c[-1] == '/';
        if (part_start && (*c == '.' || *c == '/'))
            return false;
        if (*c == '/' ? ++slashes > 1 || !c[1] : !is_name_char(*c))
            return false;
    }
    return *text != '\0';
}

/* The commit that refs/main of a cached repository names. */
static enum status read_revision(const char *path, char out[65], struct error *err) {
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    size_t n = fread(out, 1, 64, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    out[n] = '\0';
    out[strcspn(out, " \r\n")] = '\0';
    if (failed || !*out || strspn(out, "0123456789abcdefABCDEF") != strlen(out))
        return error_set(err, STATUS_BAD_FILE, "%s: is not a commit", path);
    return STATUS_OK;
}

static enum status find_in_cache(const char *id, struct model_source *out, struct error *err) {
    char cache[MODEL_SOURCE_PATH_BYTES], path[MODEL_SOURCE_PATH_BYTES], revision[65];
    if (!cache_directory(cache))
        return error_set(err, STATUS_IO,
                         "'%s' is no directory, and no cache is known (HF_HOME is not set)", id);
    const char *slash = strchr(id, '/');
    int org_bytes = slash ? (int)(slash - id) : 0;
    bool fits = print_path(out->dir, "%s/models--%.*s%s%s", cache, org_bytes, id, slash ? "--" : "",
                           slash ? slash + 1 : id);
    if (!fits || !is_directory(out->dir))
        return error_set(err, STATUS_IO, "'%s' is no directory, and not in the cache %s", id,
                         cache);
    if (!print_path(path, "%s/refs/main", out->dir))
        return error_set(err, STATUS_IO, "the path of '%s' in the cache is too long", id);
    enum status status = read_revision(path, revision, err);
    if (status != STATUS_OK)
        return status;
    if (!print_path(path, "%s/snapshots/%s", out->dir, revision) || !is_directory(path))
        return error_set(err, STATUS_IO, "%s: no such snapshot in the cache", path);
    memcpy(out->dir, path, sizeof path);
    if (!*out->name)
        snprintf(out->name, sizeof out->name, "%s", id);
    return STATUS_OK;
}

enum status model_source_find(const char *given, struct model_source *out, struct error *err) {
    *out = (struct model_source){.dir = ""};
    if (!given)
        return find_demo(out, err);
    const char *path = given;
    size_t name_bytes = strcspn(given, "=/");
    if (given[name_bytes] == '=') {
        for (size_t i = 0; i < name_bytes; i++)
            if (!is_name_char(given[i]))
                return error_set(err, STATUS_INVALID_VALUE,
                                 "the name in '%.200s' may have letters, digits, '-', '_' and '.'",
                                 given);
        if (name_bytes == 0 || name_bytes >= sizeof out->name)
            return error_set(err, STATUS_INVALID_VALUE,
                             "the name in '%.200s' must have 1 to %zu bytes", given,
                             sizeof out->name - 1);
        memcpy(out->name, given, name_bytes);
        path = given + name_bytes + 1;
    }
    if (is_directory(path)) {
        if (!print_path(out->dir, "%s", path))
            return error_set(err, STATUS_INVALID_VALUE, "the path of the model is too long");
        return STATUS_OK;
    }
    if (is_hub_id(path))
        return find_in_cache(path, out, err);
    if (access(path, F_OK) == 0)
        return error_set(err, STATUS_IO, "'%.300s' is no directory", path);
    return error_set(err, STATUS_IO, "'%.300s': no such directory", path);
}
