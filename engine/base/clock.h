/* clock.h: monotonic time in nanoseconds; every deadline and duration is counted in it. */
#ifndef BERTD_BASE_CLOCK_H
#define BERTD_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

static inline uint64_t clock_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif
