/* exchange.h: one HTTP request with its response, as the routes see it.
 *
 * http.c makes it when the headers are there, collects the body, and calls the router. A route
 * either answers at once, or starts a call and sets `task`; then the connection sleeps until
 * exchange_wake(), and the task's finish() fills the answer on the same HTTP thread. All of it
 * happens on the connection's HTTP thread except exchange_wake(). */
#ifndef BERTD_EXCHANGE_H
#define BERTD_EXCHANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/limits.h"
#include "engine/base/view.h"
#include "server/api_error.h"
#include "server/json_write.h"

struct connection;
struct exchange;
struct route;
struct server;

enum method { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_OTHER };

/* Work that outlasts the handler. `finish` runs once, after exchange_wake(); it leaves an answer,
 * or sets another `finish` for the next exchange_wake(), or does neither: then the connection is
 * closed. `free` runs at the end of the exchange. */
struct task {
    void (*finish)(struct exchange *exchange, void *context);
    void (*cancel)(void *context); /* asks for an early exchange_wake(); may be called again */
    void (*free)(void *context);
    void *context;
};

/* What goes back. Filled by exchange_answer(), exchange_fail() or by hand. */
struct answer {
    unsigned http_status; /* 0: none yet */
    enum api_code code;   /* API_CODE_COUNT: no error */
    const char *content_type;
    struct json_writer body;
    unsigned retry_after_s;  /* 0: no such header */
    const char *allow;       /* NULL: no such header */
    char server_timing[128]; /* empty: no such header */
    /* An answer in slices: appends the next slice to the writer; false when the last is out.
     * `render_context` goes to `render_free` when the connection has no more use for it. */
    bool (*render)(void *render_context, struct json_writer *out);
    void (*render_free)(void *render_context);
    void *render_context;
    uint64_t write_ns; /* time spent on writing the body so far; 0: not a measured one */
};

struct exchange {
    struct server *server;
    struct connection *connection;
    const struct route *route; /* NULL: no such path */
    enum api_dialect dialect;  /* of errors */
    enum method method;
    char method_name[16]; /* cleaned, for the access log */
    char path[256];       /* decoded and cleaned, for the access log */
    char request_id[LIMIT_REQUEST_ID_BYTES + 1];
    uint64_t client;      /* number of the connection: whose turn it is */
    uint64_t started_ns;  /* headers received */
    uint64_t received_ns; /* body received */
    uint32_t timeout_ms;  /* X-Request-Timeout-Ms, else the server's */
    struct view body;

    struct task task; /* finish NULL: none */
    /* Why the task was cancelled; API_CODE_COUNT: it was not. Set before task.cancel(). */
    enum api_code cancel_code;
    struct answer answer;
    uint64_t answer_bytes; /* given to the HTTP library so far */

    struct exchange *next_woken; /* the loop's list */
};

/* Answers 200 with a JSON body that is in exchange->answer.body. */
void exchange_answer(struct exchange *exchange);

/* Answers with the error; adds Retry-After where api.md wants it; logs 500s. */
void exchange_fail(struct exchange *exchange, const struct api_error *err);

/* The error without a param, in one call. */
void exchange_refuse(struct exchange *exchange, enum api_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The body is read; its memory goes. */
void exchange_release_body(struct exchange *exchange);

/* The task is done: its finish() will run on the HTTP thread. Any thread, once for each task; the
 * exchange may be gone when this returns. */
void exchange_wake(struct exchange *exchange);

/* Frees what the exchange owns: the answer's body or renderer, the task. */
void exchange_clear(struct exchange *exchange);

#endif
