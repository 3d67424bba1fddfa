/* histogram.h: counts of observations in fixed buckets, in the form that Prometheus reads.
 * Observing and reading are lock-free and may happen on any thread at the same time. */
#ifndef BERTD_BASE_HISTOGRAM_H
#define BERTD_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { HISTOGRAM_BUCKETS_MAX = 24 };

struct histogram {
    const double *bounds; /* ascending upper bounds, inclusive; static memory */
    uint32_t bounds_count;
    _Atomic uint64_t counts[HISTOGRAM_BUCKETS_MAX + 1]; /* the last is +Inf */
    _Atomic uint64_t sum_micro;                         /* sum of values in millionths */
};

/* `bounds_count` at most HISTOGRAM_BUCKETS_MAX. Call before other threads see it. */
void histogram_init(struct histogram *histogram, const double *bounds, uint32_t bounds_count);

/* Counts one value of 0 or more. */
void histogram_observe(struct histogram *histogram, double value);

/* Sum of all buckets, and of all values. */
uint64_t histogram_count(const struct histogram *histogram);
double histogram_sum(const struct histogram *histogram);

#endif
