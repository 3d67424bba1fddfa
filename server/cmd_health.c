/* cmd_health.c: `bertd health`: status 0 when a server is ready; for container health checks in
 * images that have no other program. A plain socket and GET /readyz, within a time-out. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "server/commands.h"
#include "server/resolve.h"

enum { ADDRESS_BYTES = 256, REQUEST_BYTES = 512, ANSWER_BYTES = 64 };

struct settings {
    const char *host;
    uint64_t port, timeout_ms;
};

static const struct option options[] = {
    {.name = "host",
     .kind = OPTION_STRING,
     .offset = offsetof(struct settings, host),
     .fallback = "127.0.0.1",
     .environment = true,
     .help = "as the server has it, when no URL is given"},
    {.name = "port",
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, port),
     .min = 1,
     .max = 65535,
     .fallback = "8080",
     .environment = true,
     .help = "port as the server has it, when no URL is given"},
    {.name = "timeout",
     .kind = OPTION_TIME,
     .offset = offsetof(struct settings, timeout_ms),
     .min = 1,
     .max = 60000,
     .fallback = "2s",
     .help = "for the whole check"},
};

static int run(int argc, char **argv);

const struct command command_health = {
    .name = "health",
    .arguments = "[URL]",
    .arguments_max = 1,
    .summary = "Status 0 when the server there (default: this machine) is ready, else 1.",
    OPTION_TABLE(struct settings, options),
    .run = run,
};

/* Where to connect to. */
struct target {
    char host[ADDRESS_BYTES], port[8]; /* host may be the path of a socket */
    bool is_unix;
};

/* "http://HOST[:PORT][/...]", "http://[::1]:8080", "HOST:PORT" or "unix:PATH". */
static bool parse_url(const char *url, struct target *out) {
    out->is_unix = strncmp(url, "unix:", 5) == 0;
    if (out->is_unix)
        return snprintf(out->host, sizeof out->host, "%s", url + 5) < (int)sizeof out->host &&
               url[5];
    const char *host = strncmp(url, "http://", 7) == 0 ? url + 7 : url;
    size_t bytes = strcspn(host, "/");
    const char *port = "80", *end = host + bytes;
    size_t port_bytes = 2;
    if (*host == '[') {
        host++;
        bytes = strcspn(host, "]/");
        if (host[bytes] != ']')
            return false;
        if (host[bytes + 1] == ':')
            port = host + bytes + 2, port_bytes = (size_t)(end - port);
        else if (host + bytes + 1 != end)
            return false;
    } else if (memchr(host, ':', bytes)) {
        size_t colon = strcspn(host, ":");
        port = host + colon + 1, port_bytes = bytes - colon - 1;
        bytes = colon;
    }
    if (bytes == 0 || bytes >= sizeof out->host || port_bytes == 0 || port_bytes > 5 ||
        strspn(port, "0123456789") < port_bytes || strtoul(port, NULL, 10) > UINT16_MAX)
        return false;
    snprintf(out->host, sizeof out->host, "%.*s", (int)bytes, host);
    snprintf(out->port, sizeof out->port, "%.*s", (int)port_bytes, port);
    return true;
}

/* The server of this machine by its own options. One that listens on every address is asked on the
 * loopback one. */
static bool local_target(const struct settings *settings, struct target *out) {
    const char *host = settings->host;
    if (strncmp(host, "unix:", 5) == 0)
        return parse_url(host, out);
    if (strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    else if (strcmp(host, "::") == 0)
        host = "::1";
    out->is_unix = false;
    snprintf(out->port, sizeof out->port, "%u", (unsigned)settings->port & 0xFFFF);
    return snprintf(out->host, sizeof out->host, "%s", host) < (int)sizeof out->host;
}

/* Waits until the socket is ready. False at the deadline. */
static bool wait_for(int fd, short events, uint64_t deadline_ns) {
    struct pollfd poll_fd = {.fd = fd, .events = events};
    for (;;) {
        uint64_t now = clock_now_ns();
        if (now >= deadline_ns) {
            errno = ETIMEDOUT;
            return false;
        }
        int n = poll(&poll_fd, 1, (int)((deadline_ns - now) / NS_PER_MS) + 1);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

/* A connected socket that does not block, or -1 with errno. */
static int connect_to(int family, const struct sockaddr *address, socklen_t bytes,
                      uint64_t deadline_ns) {
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int error = connect(fd, address, bytes) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        socklen_t size = sizeof error;
        if (!wait_for(fd, POLLOUT, deadline_ns))
            error = errno;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
            error = errno;
    }
    if (error == 0)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

static int connect_unix(const char *path, uint64_t deadline_ns) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    return connect_to(AF_UNIX, (const struct sockaddr *)&address, sizeof address, deadline_ns);
}

/* A connected socket, or -1 with errno; when the name is unknown, with *resolved as
 * resolve_host() returned it. */
static int connect_target(const struct target *target, uint64_t deadline_ns, int *resolved) {
    *resolved = 0;
    if (target->is_unix)
        return connect_unix(target->host, deadline_ns);
    struct addrinfo *found = NULL;
    *resolved = resolve_host(target->host, target->port, &found);
    if (*resolved != 0)
        return -1;
    int fd = -1;
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
        fd = connect_to(a->ai_family, a->ai_addr, a->ai_addrlen, deadline_ns);
    freeaddrinfo(found);
    return fd;
}

/* Asks and reads the status line. 0 with errno when there is none. */
static int ask_status(int fd, const char *host, uint64_t deadline_ns) {
    char request[REQUEST_BYTES], answer[ANSWER_BYTES];
    int bytes = snprintf(request, sizeof request,
                         "GET /readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host);
    if (send(fd, request, (size_t)bytes, MSG_NOSIGNAL) != bytes)
        return 0;
    size_t got = 0;
    while (got < sizeof "HTTP/1.1 200") {
        if (!wait_for(fd, POLLIN, deadline_ns))
            return 0;
        ssize_t n = recv(fd, answer + got, sizeof answer - 1 - got, 0);
        if (n == 0)
            errno = ECONNRESET;
        if (n <= 0)
            return 0;
        got += (size_t)n;
    }
    answer[got] = '\0';
    int status = 0;
    if (strncmp(answer, "HTTP/1.", 7) != 0 || sscanf(answer + 8, " %3d", &status) != 1)
        errno = EPROTO;
    return status;
}

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    struct target target;
    int exit_status;
    if (!options_begin(&command_health, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    const char *given = rest.count ? rest.arguments[0] : settings.host;
    bool good = rest.count ? parse_url(given, &target) : local_target(&settings, &target);
    if (!good)
        return options_refuse(
            &command_health, "%s: got '%.200s', allowed: %s", rest.count ? "URL" : "--host", given,
            rest.count ? "http://HOST:PORT or unix:PATH" : "a name, an address or unix:PATH");
    uint64_t deadline_ns = clock_now_ns() + settings.timeout_ms * NS_PER_MS;
    int status = 0, resolved, fd = connect_target(&target, deadline_ns, &resolved);
    if (fd >= 0)
        status = ask_status(fd, target.is_unix ? "localhost" : target.host, deadline_ns);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (status == 200)
        return EXIT_STATUS_OK;
    if (status)
        fprintf(stderr, "bertd health: not ready (status %d)\n", status);
    else
        fprintf(stderr, "bertd health: no answer from %s%s%s: %s\n", target.host,
                target.is_unix ? "" : " port ", target.is_unix ? "" : target.port,
                resolved ? gai_strerror(resolved) : strerror(error));
    return EXIT_STATUS_FAILED;
}
