/* router.h: the table of routes, and the life of an exchange outside of HTTP: begin, handle,
 * completed. Called by http.c on the HTTP thread. */
#ifndef BERTD_ROUTER_H
#define BERTD_ROUTER_H

#include "server/exchange.h"
#include "server/http_headers.h"

/* The headers are there: finds the route for `url` (a path, or the absolute form) and refuses what
 * can be refused before the body. After a refusal exchange->answer is set and the body is of no
 * use. */
void router_begin(struct exchange *exchange, const char *url, const struct http_headers *headers);

/* The body is there: runs the route. Afterwards there is an answer, or a task. */
void router_handle(struct exchange *exchange);

/* The answer is out (`sent`), or the connection is gone without it. Counts and logs. */
void router_completed(struct exchange *exchange, bool sent);

#endif
