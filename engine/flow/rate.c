/* rate.c: a moving average over pieces of busy time. */
#include "engine/flow/rate.h"

#include "engine/base/clock.h"

/* Each piece of so much busy time moves the rate half way. */
static const uint64_t piece_ns = 250 * NS_PER_MS;

void rate_init(struct rate *rate, double tokens_per_second) {
    *rate = (struct rate){.tokens_per_second = tokens_per_second};
    pthread_mutex_init(&rate->lock, NULL);
}

void rate_free(struct rate *rate) {
    pthread_mutex_destroy(&rate->lock);
}

void rate_observe(struct rate *rate, uint64_t now_ns, uint32_t tokens, bool backlog) {
    pthread_mutex_lock(&rate->lock);
    if (rate->last_ns != 0 && now_ns > rate->last_ns) {
        rate->busy_ns += now_ns - rate->last_ns;
        rate->tokens += tokens;
    }
    if (rate->busy_ns >= piece_ns) {
        double now = (double)rate->tokens * (double)NS_PER_S / (double)rate->busy_ns;
        rate->tokens_per_second = (rate->tokens_per_second + now) / 2;
        rate->busy_ns = rate->tokens = 0;
    }
    rate->last_ns = backlog ? now_ns : 0;
    pthread_mutex_unlock(&rate->lock);
}

double rate_get(struct rate *rate) {
    pthread_mutex_lock(&rate->lock);
    double now = rate->tokens_per_second;
    pthread_mutex_unlock(&rate->lock);
    return now;
}
