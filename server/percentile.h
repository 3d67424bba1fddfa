/* percentile.h: a growing list of latencies, and what share of them is at most how long. */
#ifndef BERTD_PERCENTILE_H
#define BERTD_PERCENTILE_H

#include <stdint.h>

#include "engine/base/status.h"

/* In milliseconds. {0} is an empty list. */
struct latencies {
    float *ms;
    uint64_t count, capacity;
};

/* Error: NO_MEMORY. */
enum status latencies_add(struct latencies *latencies, uint64_t ns);
void latencies_free(struct latencies *latencies);

/* To be called once before latencies_percentile(). */
void latencies_sort(struct latencies *latencies);

/* The smallest of the sorted latencies that `share`, 0..1, of them do not exceed; 0 of none. */
double latencies_percentile(const struct latencies *latencies, double share);

#endif
