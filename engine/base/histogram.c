/* histogram.c: one atomic counter a bucket. */
#include "engine/base/histogram.h"

#include <assert.h>

void histogram_init(struct histogram *histogram, const double *bounds, uint32_t bounds_count) {
    assert(bounds_count <= HISTOGRAM_BUCKETS_MAX);
    histogram->bounds = bounds;
    histogram->bounds_count = bounds_count;
    for (uint32_t i = 0; i <= HISTOGRAM_BUCKETS_MAX; i++)
        atomic_init(&histogram->counts[i], 0);
    atomic_init(&histogram->sum_micro, 0);
}

void histogram_observe(struct histogram *histogram, double value) {
    uint32_t bucket = 0;
    while (bucket < histogram->bounds_count && value > histogram->bounds[bucket])
        bucket++;
    atomic_fetch_add_explicit(&histogram->counts[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_micro, (uint64_t)(value * 1e6 + 0.5),
                              memory_order_relaxed);
}

uint64_t histogram_count(const struct histogram *histogram) {
    uint64_t count = 0;
    for (uint32_t i = 0; i <= histogram->bounds_count; i++)
        count += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
    return count;
}

double histogram_sum(const struct histogram *histogram) {
    return (double)atomic_load_explicit(&histogram->sum_micro, memory_order_relaxed) / 1e6;
}
