/* listen.h: the listening socket and its address as a URL. */
#ifndef BERTD_LISTEN_H
#define BERTD_LISTEN_H

#include <stdint.h>

#include "engine/base/status.h"

/* Binds and listens, non-blocking. `host` is a name, an address or "unix:PATH"; a socket file that
 * nobody listens on is replaced. *url (malloc'ed) and *port say what is bound. Errors: IO,
 * INVALID_VALUE, NO_MEMORY, with the address in the message. */
enum status listen_open(const char *host, uint16_t port, int *descriptor, char **url,
                        uint16_t *bound_port, struct error *err);

/* Closes the socket; removes the file of "unix:PATH". */
void listen_close(int descriptor, const char *url);

#endif
