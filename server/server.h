/* server.h: the HTTP front end as `bertd serve` sees it: start, give it the engine, stop.
 *
 * Threads: server_start() starts the HTTP thread(s) and one watcher thread. All functions below
 * are called from one thread, the command's. */
#ifndef BERTD_SERVER_H
#define BERTD_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"

struct engine;
struct server;

/* The options of `serve` that the front end obeys. The strings are copied by server_start(). */
struct server_options {
    const char *host;               /* a name, an IPv4 or IPv6 address, or "unix:PATH" */
    uint16_t port;                  /* 0: the system picks one; unused with "unix:PATH" */
    uint64_t body_bytes_max;        /* --max-body */
    uint64_t body_memory_bytes_max; /* --max-body-memory: all bodies being held together */
    uint32_t connections_max;       /* --max-connections */
    uint32_t header_timeout_ms;     /* --header-timeout: first byte to end of headers */
    uint32_t body_timeout_ms;       /* --body-timeout: end of headers to end of body */
    uint32_t idle_timeout_ms;       /* --idle-timeout: between two exchanges */
    uint32_t call_timeout_ms;       /* --timeout: a call's deadline, counted from its body */
    uint32_t call_inputs_max;       /* --max-call-inputs */
    bool truncate;                  /* --truncate: when the body does not say */
    uint32_t http_threads;          /* --http-threads */
    uint32_t drain_delay_ms;        /* --drain-delay: not ready, but still taking calls */
    uint32_t drain_timeout_ms;      /* --drain-timeout: for the calls in flight */
    bool access_log;                /* --access-log: one line an exchange */
};

/* The defaults of api.md §1, with host 127.0.0.1 and port 8080. */
void server_options_init(struct server_options *options);

/* Binds, and answers /livez from here on; readiness and work get 503 `loading` until
 * server_set_engine(). On failure *out is NULL and `err` is one line that names the address.
 * Raises the limit of open files towards what connections_max needs. Errors: IO, INVALID_VALUE,
 * NO_MEMORY. */
enum status server_start(const struct server_options *options, struct server **out,
                         struct error *err);

/* The engine has run its forward pass: ready from here on. `name` is the model's name in answers
 * (copied); NULL: the engine's own. Once per server. The engine must outlive server_stop().
 * Error: NO_MEMORY. */
enum status server_set_engine(struct server *server, struct engine *engine, const char *name);

/* Drains and stops: readiness false, goes on for drain_delay_ms, refuses new calls with
 * 503 `draining`, lets the calls in flight finish for drain_timeout_ms, cancels and answers what is
 * left, closes the connections, joins the threads and frees the server. NULL is allowed. */
void server_stop(struct server *server);

/* The port that is bound; 0 with "unix:PATH". */
uint16_t server_port(const struct server *server);

/* What the ready line says after "listening on ": "http://127.0.0.1:8080", "http://[::1]:8080" or
 * "unix:PATH". Lives as long as the server. */
const char *server_url(const struct server *server);

#endif
