/* load_run.h: a client that loads a server over HTTP/1.1 and takes the time: from `bertd bench
 * --budget` and from tests/bench/poisson.c.
 *
 * A fixed number of keep-alive connections, one request on each at a time, all on the calling
 * thread. With a rate, requests are due at the times of a Poisson process, whether or not earlier
 * ones are answered; one that is due while all connections are busy waits, and its latency counts
 * from when it was due (no coordinated omission). Without a rate each connection sends its next
 * request as soon as it has its answer (a closed loop), and latency counts from the sending. */
#ifndef BERTD_LOAD_RUN_H
#define BERTD_LOAD_RUN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/percentile.h"

enum { LOAD_CONNECTIONS_MAX = 1024 };

/* One whole HTTP request, head and body, ready to be sent. */
struct load_request {
    char *data;
    size_t bytes;
};

/* A POST of JSON. Error: NO_MEMORY. */
enum status load_request_make(const char *path, const char *body, size_t body_bytes,
                              struct load_request *out);
void load_request_free(struct load_request *request);

struct load_options {
    struct in_addr host;
    uint16_t port;
    const struct load_request *requests; /* sent in turn */
    uint32_t requests_count;
    uint32_t connections; /* 1..LOAD_CONNECTIONS_MAX */
    double rate;          /* requests a second; 0: a closed loop */
    uint64_t duration_ns; /* requests are due for so long */
    uint64_t patience_ns; /* and answers are awaited for so much longer */
    uint64_t seed;        /* of the Poisson process */
};

/* Every request that was due counts once: answered (with 200 or not), broken (the connection was
 * lost, or the answer was not one) or unanswered at the end. */
struct load_result {
    uint64_t due, ok, refused, broken, unanswered;
    double seconds;             /* from the start to the last answer */
    double cpu;                 /* of a core, that this client itself took */
    struct latencies latencies; /* sorted; of the answers with 200 */
};

/* Errors: IO (no connection), NO_MEMORY. On success *out is to be freed. */
enum status load_run(const struct load_options *options, struct load_result *out,
                     struct error *err);
void load_result_free(struct load_result *result);

/* When requests are due, in nanoseconds from the start, ascending: `*count` of them before
 * `duration_ns`. The caller frees. NULL: no memory. */
uint64_t *load_schedule_make(double rate, uint64_t duration_ns, uint64_t seed, uint64_t *count);

/* The head of an answer: 1 when it is whole and says how many bytes of body follow, 0 when more
 * must come, -1 when it is none (of HTTP/1, or without a Content-Length). */
int load_head_read(const char *text, size_t bytes, size_t *head_bytes, int *http_status,
                   uint64_t *body_bytes);

#endif
