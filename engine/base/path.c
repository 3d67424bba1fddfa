/* path.c: joining with a check of the length. */
#include "engine/base/path.h"

#include <stdio.h>

enum status path_join(const char *dir, const char *name, char path[PATH_MAX], struct error *err) {
    int bytes = snprintf(path, PATH_MAX, "%s/%s", dir, name);
    if (bytes < 0 || bytes >= PATH_MAX)
        return error_set(err, STATUS_IO, "%.100s...: the path is too long", dir);
    return STATUS_OK;
}
