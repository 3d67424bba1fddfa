/* model_name.c: takes a directory's path apart from its end. */
#include "engine/model/model_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Takes the last part off *path, without slashes; empty at the root. */
static struct view part_pop(struct view *path) {
    while (path->bytes > 0 && path->data[path->bytes - 1] == '/')
        path->bytes--;
    size_t start = path->bytes;
    while (start > 0 && path->data[start - 1] != '/')
        start--;
    struct view part = {path->data + start, path->bytes - start};
    path->bytes = start;
    return part;
}

/* ORG/NAME out of "models--ORG--NAME": every "--" becomes a slash. */
static char *repository_name(struct arena *arena, struct view text) {
    char *name = arena_copy(arena, text);
    if (name == NULL)
        return NULL;
    char *to = name;
    for (const char *from = name; *from != '\0';) {
        if (from[0] == '-' && from[1] == '-') {
            *to++ = '/';
            from += 2;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return name;
}

enum status model_name_find(const char *dir, struct arena *arena, const char **name,
                            const char **revision, struct error *err) {
    static const char models[] = "models--";
    const size_t models_bytes = sizeof models - 1;
    char *resolved = NULL;
    struct view path = view_of(dir);
    struct view last = part_pop(&path);
    if (last.bytes == 0 || view_equals_c(last, ".") || view_equals_c(last, "..")) {
        resolved = realpath(dir, NULL);
        if (resolved == NULL)
            return error_set(err, STATUS_IO, "%s: %s", dir, strerror(errno));
        path = view_of(resolved);
        last = part_pop(&path);
    }
    struct view parent = part_pop(&path), repository = part_pop(&path);
    if (view_equals_c(parent, "snapshots") && repository.bytes > models_bytes &&
        memcmp(repository.data, models, models_bytes) == 0) {
        repository.data += models_bytes;
        repository.bytes -= models_bytes;
        *name = repository_name(arena, repository);
        *revision = arena_copy(arena, last);
    } else {
        *name = arena_copy(arena, last);
        *revision = "";
    }
    free(resolved);
    if (*name == NULL || *revision == NULL)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory for the model's name", dir);
    return STATUS_OK;
}
