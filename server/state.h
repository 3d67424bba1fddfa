/* state.h: the front end's state that all exchanges share; for the files of server/ only. */
#ifndef BERTD_STATE_H
#define BERTD_STATE_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "engine/engine.h"
#include "server/api_error.h"
#include "server/metrics.h"
#include "server/server.h"

enum phase {
    PHASE_SERVING,  /* loading as long as there is no engine */
    PHASE_LEAVING,  /* drain delay: not ready, calls are still taken */
    PHASE_DRAINING, /* calls are refused */
};

struct http;
struct reader;

struct server {
    struct server_options options; /* its host is `host` */
    char *host;
    int listener;
    char *url;
    uint16_t port;
    char *model_name;                /* written before `engine` */
    _Atomic(struct engine *) engine; /* NULL: loading */
    _Atomic int phase;
    time_t started;      /* wall clock, `created` of the model */
    uint64_t run_number; /* random: makes ids differ between two runs */
    _Atomic uint64_t next_id;
    struct metrics metrics;
    struct reader *reader;
    struct http *http;
};

/* Why the server is not ready, as the code of its 503; API_CODE_COUNT: it is ready. `reason`
 * becomes one sentence in static memory, or the name of the stuck stage. */
enum api_code server_readiness(struct server *server, const char **reason);

/* Whole seconds until a refused call may come again, from the measured drain rate: 1 to 60. */
unsigned server_retry_after(struct server *server, enum api_code code);

/* 16 hexadecimal digits that no other call of this server gets. */
void server_make_id(struct server *server, char out[17]);

#endif
