/* metrics.h: counts of exchanges, and the Prometheus text of /metrics (api.md §6).
 *
 * Label sets are fixed: routes and outcomes come from tables, the rest from the model. Counting is
 * lock-free, on any HTTP thread. */
#ifndef BERTD_METRICS_H
#define BERTD_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/base/histogram.h"
#include "server/api_error.h"
#include "server/json_write.h"

struct server;

/* The `route` label. The last stands for every path that has no route. */
#define METRIC_ROUTE_TABLE(X)                                                                      \
    X(CLASSIFY, "/v1/classify")                                                                    \
    X(FILL_MASK, "/v1/fill_mask")                                                                  \
    X(TOKENIZE, "/v1/tokenize")                                                                    \
    X(DETOKENIZE, "/v1/detokenize")                                                                \
    X(TEI_TOKENIZE, "/tokenize")                                                                   \
    X(TEI_DECODE, "/decode")                                                                       \
    X(MODELS, "/v1/models")                                                                        \
    X(INFO, "/info")                                                                               \
    X(LIVEZ, "/livez")                                                                             \
    X(READYZ, "/readyz")                                                                           \
    X(HEALTH, "/health")                                                                           \
    X(METRICS, "/metrics")                                                                         \
    X(OTHER, "other")

enum metric_route {
#define METRIC_ROUTE_ENUM(name, label) METRIC_ROUTE_##name,
    METRIC_ROUTE_TABLE(METRIC_ROUTE_ENUM)
#undef METRIC_ROUTE_ENUM
        METRIC_ROUTE_COUNT
};

/* The `outcome` label: every exchange has exactly one. */
#define METRIC_OUTCOME_TABLE(X)                                                                    \
    X(OK, "ok")                   /* 2xx */                                                        \
    X(INVALID, "invalid")         /* other faults of the client */                                 \
    X(TOO_LARGE, "too_large")     /* over a limit: body, headers, inputs, tokens */                \
    X(QUEUE_FULL, "queue_full")   /* 429 */                                                        \
    X(UNAVAILABLE, "unavailable") /* 503 */                                                        \
    X(DEADLINE, "deadline")       /* 408, 504 */                                                   \
    X(CANCELLED, "cancelled")     /* the client left before its answer */                          \
    X(ERROR, "error")             /* other 5xx */

enum metric_outcome {
#define METRIC_OUTCOME_ENUM(name, label) METRIC_OUTCOME_##name,
    METRIC_OUTCOME_TABLE(METRIC_OUTCOME_ENUM)
#undef METRIC_OUTCOME_ENUM
        METRIC_OUTCOME_COUNT
};

enum metric_phase {
    METRIC_PHASE_TOKENIZE,
    METRIC_PHASE_QUEUE,
    METRIC_PHASE_COMPUTE,
    METRIC_PHASE_WRITE,
    METRIC_PHASE_COUNT
};

struct metrics {
    _Atomic uint64_t requests[METRIC_ROUTE_COUNT][METRIC_OUTCOME_COUNT];
    struct histogram durations[METRIC_ROUTE_COUNT]; /* seconds */
    struct histogram phases[METRIC_PHASE_COUNT];    /* seconds */
};

void metrics_init(struct metrics *metrics);

/* The outcome that an error code stands for, whatever status its dialect gives it;
 * API_CODE_COUNT: no error. */
enum metric_outcome metrics_outcome(enum api_code code);

/* Counts a finished exchange, and the time of one phase of a call. Any thread. */
void metrics_count(struct metrics *metrics, enum metric_route route, enum metric_outcome outcome,
                   uint64_t duration_ns);
void metrics_observe_phase(struct metrics *metrics, enum metric_phase phase, uint64_t duration_ns);

/* The whole text exposition. */
void metrics_write(struct server *server, struct json_writer *out);

#endif
