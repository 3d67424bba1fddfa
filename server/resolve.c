/* resolve.c: see resolve.h. An image without /etc/hosts has a localhost all the same. */
#include "server/resolve.h"

#include <stddef.h>
#include <strings.h>
#include <sys/socket.h>

int resolve_host(const char *host, const char *port, struct addrinfo **out) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    /* No host and no AI_PASSIVE: the loopback of each family. */
    return getaddrinfo(strcasecmp(host, "localhost") == 0 ? NULL : host, port, &hints, out);
}
