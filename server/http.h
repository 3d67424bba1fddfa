/* http.h: the HTTP side as server.c sees it: a few loops on one listening socket. */
#ifndef BERTD_HTTP_H
#define BERTD_HTTP_H

#include <stdint.h>

#include "engine/base/status.h"

struct http;
struct server;

/* Starts the loops; server->options says how many and with which limits. The socket is the
 * caller's to close, after http_stop(). Errors: NO_MEMORY, IO. */
enum status http_start(struct server *server, int listener, struct http **out, struct error *err);

/* Exchanges that a route has and whose answer is not out yet. Any thread. */
uint32_t http_busy(const struct http *http);

/* Cancels what is left with 503 `draining`, sends the answers, closes all connections, joins the
 * threads and frees all. NULL is allowed. */
void http_stop(struct http *http);

#endif
