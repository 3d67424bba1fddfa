/* listen.c: IPv4, IPv6 and Unix sockets. */
#include "server/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/resolve.h"

enum { BACKLOG = 4096 };
static const char UNIX_PREFIX[] = "unix:";
enum { UNIX_PREFIX_BYTES = sizeof UNIX_PREFIX - 1 };

/* A socket file is left behind by a server that was killed: nobody answers there. */
static void remove_stale(const struct sockaddr_un *address) {
    struct stat file;
    if (stat(address->sun_path, &file) != 0 || !S_ISSOCK(file.st_mode))
        return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return;
    if (connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 &&
        errno == ECONNREFUSED)
        unlink(address->sun_path);
    close(probe);
}

static enum status open_unix(const char *path, int *descriptor, struct error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = strlen(path);
    if (bytes == 0 || bytes >= sizeof address.sun_path)
        return error_set(err, STATUS_INVALID_VALUE, "unix:%s: the path must have 1 to %zu bytes",
                         path, sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, bytes);
    remove_stale(&address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, BACKLOG) != 0) {
        enum status status =
            error_set(err, STATUS_IO, "cannot listen on unix:%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    *descriptor = fd;
    return STATUS_OK;
}

static int open_address(const struct addrinfo *address) {
    const int on = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static uint16_t read_port(int fd) {
    struct sockaddr_storage address;
    socklen_t bytes = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&address)->sin6_port
                                               : ((const struct sockaddr_in *)&address)->sin_port);
}

static enum status open_network(const char *host, uint16_t port, int *descriptor,
                                struct error *err) {
    struct addrinfo *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    int failure = resolve_host(host, service, &found);
    if (failure != 0)
        return error_set(err, STATUS_INVALID_VALUE, "host '%s': %s", host, gai_strerror(failure));
    int fd = -1;
    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
        fd = open_address(a);
    int saved = errno;
    freeaddrinfo(found);
    if (fd < 0)
        return error_set(err, STATUS_IO, "cannot listen on %s port %u: %s", host, port,
                         strerror(saved));
    *descriptor = fd;
    return STATUS_OK;
}

enum status listen_open(const char *host, uint16_t port, int *descriptor, char **url,
                        uint16_t *bound_port, struct error *err) {
    char text[512];
    bool is_unix = strncmp(host, UNIX_PREFIX, UNIX_PREFIX_BYTES) == 0;
    enum status status = is_unix ? open_unix(host + UNIX_PREFIX_BYTES, descriptor, err)
                                 : open_network(host, port, descriptor, err);
    if (status != STATUS_OK)
        return status;
    *bound_port = is_unix ? 0 : read_port(*descriptor);
    if (is_unix)
        snprintf(text, sizeof text, "%s", host);
    else
        snprintf(text, sizeof text, strchr(host, ':') ? "http://[%s]:%u" : "http://%s:%u", host,
                 *bound_port);
    *url = strdup(text);
    if (*url)
        return STATUS_OK;
    close(*descriptor);
    return error_set(err, STATUS_NO_MEMORY, "no memory for the address");
}

void listen_close(int descriptor, const char *url) {
    if (descriptor < 0)
        return;
    close(descriptor);
    if (url && strncmp(url, UNIX_PREFIX, UNIX_PREFIX_BYTES) == 0)
        unlink(url + UNIX_PREFIX_BYTES);
}
