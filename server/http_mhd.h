/* http_mhd.h: libmicrohttpd as the loops use it. */
#ifndef BERTD_HTTP_MHD_H
#define BERTD_HTTP_MHD_H

#include "server/http_loop.h"

/* A daemon on its own copy of the listening socket, in external mode. Errors: NO_MEMORY, IO. */
enum status http_mhd_open(struct loop *loop, int listener, struct error *err);

/* Closes all connections. None may be suspended. */
void http_mhd_close(struct loop *loop);

/* The descriptor that is readable when http_mhd_run() has something to do, and whether it has
 * even without that. */
int http_mhd_descriptor(const struct loop *loop);
bool http_mhd_pending(const struct loop *loop);
void http_mhd_run(struct loop *loop);

/* The task of a waiting connection is finished: lets libmicrohttpd go on with it. */
void http_mhd_resume(struct connection *connection);

/* The words that go with a status in the first line of an answer. */
const char *http_mhd_reason(unsigned http_status);

#endif
