/* bench_front.h: what HTTP and JSON cost, for `bertd bench --budget`: the real server in this
 * process, a client on the loopback interface, and the processor time of each kind of thread. */
#ifndef BERTD_BENCH_FRONT_H
#define BERTD_BENCH_FRONT_H

#include "engine/engine.h"
#include "server/bench_load.h"

/* Processor time in nanoseconds for one token, special tokens included, while one text goes in one
 * request and `clients` connections always have one under way. System calls count. */
struct bench_front_result {
    double tokens_per_second;
    double json_read_ns;  /* parsing and checking the body */
    double json_write_ns; /* writing the answer's body, by the clock */
    double http_ns;       /* the HTTP threads' rest: sockets, headers, routing, submitting */
    double tokenizer_ns;  /* tokenizer threads, their waking up and queueing included */
    double stages_ns;     /* stage threads, and those that help them */
};

/* A server in front of the engine. */
struct bench_front;

/* On a port of the loopback interface that the system chooses. Errors: IO, NO_MEMORY. */
enum status bench_front_open(struct engine *engine, struct bench_front **out, struct error *err);

/* The engine takes no calls afterwards. NULL is allowed. */
void bench_front_close(struct bench_front *front);

/* `clients` above LOAD_CONNECTIONS_MAX count as so many. Errors: IO, NO_MEMORY, INTERNAL (an
 * answer was not 200). */
enum status bench_front_measure(struct bench_front *front, const struct bench_load *load,
                                uint32_t clients, uint64_t duration_ns,
                                struct bench_front_result *out, struct error *err);

#endif
