/* http.c: the pool of loops. */
#include "server/http.h"

#include <stdlib.h>

#include "server/http_loop.h"
#include "server/state.h"

uint32_t http_busy(const struct http *http) {
    return atomic_load(&http->busy);
}

void http_stop(struct http *http) {
    if (!http)
        return;
    for (uint32_t i = 0; i < http->loops_count; i++)
        loop_stop(&http->loops[i]);
    free(http->loops);
    free(http);
}

enum status http_start(struct server *server, int listener, struct http **out, struct error *err) {
    enum status status = STATUS_OK;
    *out = NULL;
    struct http *http = calloc(1, sizeof *http);
    struct loop *loops = calloc(server->options.http_threads, sizeof *loops);
    if (!http || !loops) {
        free(http);
        free(loops);
        return error_set(err, STATUS_NO_MEMORY, "no memory for the HTTP threads");
    }
    http->server = server;
    http->loops = loops;
    while (status == STATUS_OK && http->loops_count < server->options.http_threads) {
        status = loop_start(&http->loops[http->loops_count], http, listener, err);
        http->loops_count += status == STATUS_OK;
    }
    if (status != STATUS_OK) {
        http_stop(http);
        return status;
    }
    *out = http;
    return STATUS_OK;
}
