/* percentile.c: see percentile.h. */
#include "server/percentile.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/clock.h"

enum status latencies_add(struct latencies *latencies, uint64_t ns) {
    if (latencies->count == latencies->capacity) {
        uint64_t capacity = latencies->capacity ? 2 * latencies->capacity : 4096;
        float *grown = realloc(latencies->ms, capacity * sizeof *grown);
        if (!grown)
            return STATUS_NO_MEMORY;
        latencies->ms = grown;
        latencies->capacity = capacity;
    }
    latencies->ms[latencies->count++] = (float)((double)ns / (double)NS_PER_MS);
    return STATUS_OK;
}

void latencies_free(struct latencies *latencies) {
    free(latencies->ms);
    *latencies = (struct latencies){0};
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void latencies_sort(struct latencies *latencies) {
    if (latencies->count > 0)
        qsort(latencies->ms, latencies->count, sizeof *latencies->ms, compare_floats);
}

double latencies_percentile(const struct latencies *latencies, double share) {
    const uint64_t count = latencies->count;
    if (count == 0)
        return 0.0;
    /* Of 1000 values the 990th is the one that 99 % do not exceed; 0.99 itself is a bit more. */
    double rank = ceil(share * (double)count - 1e-6);
    uint64_t index = rank < 1 ? 0 : (uint64_t)rank - 1;
    return (double)latencies->ms[index < count ? index : count - 1];
}
