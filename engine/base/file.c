/* file.c: reading a regular file with a limit, also one that grows or has no size of its own. */
#include "engine/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES_FIRST = 1 << 16 };

bool file_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

/* Reads to the end; one byte of room is always kept for the NUL. */
static enum status read_all(int fd, const char *path, size_t bytes_max, char **data, size_t *bytes,
                            struct error *err) {
    struct stat info;
    size_t capacity = READ_BYTES_FIRST;
    if (fstat(fd, &info) == 0 && info.st_size > 0 && (size_t)info.st_size <= bytes_max)
        capacity = (size_t)info.st_size + 2; /* room to see the end of the file, and the NUL */
    for (;;) {
        if (*data == NULL || *bytes + 1 >= capacity) {
            capacity = *data == NULL ? capacity : capacity * 2;
            char *grown = realloc(*data, capacity);
            if (grown == NULL)
                return error_set(err, STATUS_NO_MEMORY, "%s: no memory for the file", path);
            *data = grown;
        }
        ssize_t got = read(fd, *data + *bytes, capacity - 1 - *bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
        if (got == 0)
            break;
        *bytes += (size_t)got;
        if (*bytes > bytes_max)
            return error_set(err, STATUS_BAD_FILE, "%s: larger than %zu bytes", path, bytes_max);
    }
    (*data)[*bytes] = '\0';
    return STATUS_OK;
}

enum status file_read(const char *path, size_t bytes_max, char **data, size_t *bytes,
                      struct error *err) {
    *data = NULL;
    *bytes = 0;
    struct stat info;
    /* A FIFO would keep open() and read() waiting for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    enum status status;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        status = read_all(fd, path, bytes_max, data, bytes, err);
    else
        status = error_set(err, STATUS_IO, "%s: not a regular file", path);
    close(fd);
    if (status != STATUS_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}
