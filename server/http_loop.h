/* http_loop.h: one HTTP thread: its connections and their deadlines. For http*.c only.
 *
 * A loop is one thread with one libmicrohttpd daemon in external mode. Its epoll holds the
 * daemon's epoll, a wake-up descriptor, and each client's socket once more (edge-triggered), so
 * that first bytes and hang-ups are seen in every state, also while libmicrohttpd has the
 * connection suspended. All of a connection happens on its loop's thread; only exchange_wake()
 * comes from elsewhere. A socket is closed by libmicrohttpd inside http_mhd_run(), after which its
 * connection is gone; events are handled before that, so none can meet a reused descriptor. */
#ifndef BERTD_HTTP_LOOP_H
#define BERTD_HTTP_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/thread.h"
#include "server/exchange.h"
#include "server/http_headers.h"

struct MHD_Connection;
struct MHD_Daemon;

enum connection_phase {
    CONNECTION_IDLE,    /* between two exchanges: the idle time-out */
    CONNECTION_HEADER,  /* first byte seen: the header time-out */
    CONNECTION_BODY,    /* headers complete: the body time-out */
    CONNECTION_WAITING, /* suspended, the task has it: the call's deadline */
    CONNECTION_SENDING, /* answer queued: the send time-out since the last progress */
};

struct connection {
    struct loop *loop;
    struct MHD_Connection *handle;
    struct connection *previous, *next; /* the loop's list */
    struct exchange *exchange;          /* NULL between two */
    int socket;
    uint64_t number;
    enum connection_phase phase;
    uint64_t deadline_ns;      /* 0: none */
    uint64_t look_ns;          /* next look at bytes_seen while idle */
    uint64_t bytes_seen;       /* received on the socket when it became idle */
    struct http_target target; /* of the request whose headers are being read */
    bool gone;                 /* the client has hung up or sent its last byte */
    bool abandoned;            /* an answer went out past libmicrohttpd: only to be closed */
};

/* All loops together. */
struct http {
    struct server *server;
    struct loop *loops;
    uint32_t loops_count;
    _Atomic uint64_t body_bytes; /* memory of all bodies that are held */
    _Atomic uint64_t connections_made;
    _Atomic uint32_t busy;
};

struct loop {
    struct http *http;
    struct MHD_Daemon *daemon;
    struct connection *connections;
    uint32_t waiting, sending; /* connections in these phases */
    int epoll, wake;
    uint64_t tick_ns; /* next look at the deadlines */
    bool run_again;   /* a connection ended: one at the maximum listens again in the next run */
    _Atomic(struct exchange *) woken;
    _Atomic uint32_t wakers; /* threads inside exchange_wake() */
    _Atomic bool stopping;
    struct thread thread;
};

/* Opens and starts the loop. Errors: NO_MEMORY, IO. */
enum status loop_start(struct loop *loop, struct http *http, int listener, struct error *err);
void loop_stop(struct loop *loop);

/* What http_mhd.c reports. */
struct connection *loop_connect(struct loop *loop, struct MHD_Connection *handle, int socket);
void loop_disconnect(struct connection *connection);
void loop_enter(struct connection *connection, enum connection_phase phase);

/* Sends the exchange's answer (NULL: 408) by itself, on a connection whose request is not
 * complete, and ends the sending side. From then on the connection is abandoned. */
void loop_answer_early(struct connection *connection);

#endif
