/* resolve.h: a host's name and a port become socket addresses, for listening and for asking. */
#ifndef BERTD_RESOLVE_H
#define BERTD_RESOLVE_H

#include <netdb.h>

/* Stream addresses of `host` (a name or a numeric address), to be freed with freeaddrinfo().
 * "localhost" is the loopback whatever the files and name servers of this machine say, and needs
 * neither (RFC 6761, section 6.3). Returns 0, or an error for gai_strerror(). */
int resolve_host(const char *host, const char *port, struct addrinfo **out);

#endif
