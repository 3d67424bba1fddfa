/* clock.h: monotonic time in nanoseconds; every deadline and duration is counted in it. Only what
 * work costs a core is counted in the time of the thread that does it. */
#ifndef BERTD_BASE_CLOCK_H
#define BERTD_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

static inline uint64_t clock_read_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void) {
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* For how long the calling thread has been on a core; others on the machine do not count. */
static inline uint64_t clock_thread_ns(void) {
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
