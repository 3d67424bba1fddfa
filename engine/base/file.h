/* file.h: reading a whole small file, such as a configuration, into memory. */
#ifndef BERTD_BASE_FILE_H
#define BERTD_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/status.h"

/* Reads the file into *data, which the caller frees with free(); a NUL that is not counted follows
 * the bytes. Errors: IO (the message names the path and the reason), BAD_FILE (it is longer than
 * bytes_max), NO_MEMORY. */
enum status file_read(const char *path, size_t bytes_max, char **data, size_t *bytes,
                      struct error *err);

/* Whether something is at the path, readable or not. */
bool file_exists(const char *path);

#endif
