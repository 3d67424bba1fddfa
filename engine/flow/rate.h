/* rate.h: how many tokens a second the pipeline gets done while work waits for it. What it does
 * when nobody asks says nothing about that, so idle time does not count. Any thread. */
#ifndef BERTD_FLOW_RATE_H
#define BERTD_FLOW_RATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct rate {
    pthread_mutex_t lock;
    double tokens_per_second;
    uint64_t last_ns; /* the last observation; 0: none that counts */
    uint64_t busy_ns; /* since the last change of the rate */
    uint64_t tokens;
};

/* `tokens_per_second`: what is believed until there is something better. */
void rate_init(struct rate *rate, double tokens_per_second);
void rate_free(struct rate *rate);

/* `tokens` were done by `now_ns`. `backlog`: more are waiting, so the time from here to the next
 * observation counts. */
void rate_observe(struct rate *rate, uint64_t now_ns, uint32_t tokens, bool backlog);

/* Tokens per second as far as is known by now. */
double rate_get(struct rate *rate);

#endif
