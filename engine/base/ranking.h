/* ranking.h: the best of a stream of scored ids, in memory of the caller's.
 *
 * While they are collected, the kept ones are a heap whose root is the worst. Higher scores are
 * better; of equal ones the lower id is. The outcome does not depend on the order of the stream.
 * One thread at a time. */
#ifndef BERTD_BASE_RANKING_H
#define BERTD_BASE_RANKING_H

#include <stdint.h>

struct ranked {
    int32_t id;
    float score;
};

/* Which ids compete, and how many of them are kept. Plain data. */
struct ranking {
    const int32_t *ids; /* [ids_count] ascending, each once; NULL: all that there are */
    uint32_t ids_count;
    uint32_t kept; /* never more than compete */
};

/* Enters an id into best[], which has room for `kept` (1 or more) and holds *count. */
void ranking_push(struct ranked *best, uint32_t *count, uint32_t kept, struct ranked item);

/* The heap becomes a list, best first. */
void ranking_sort(struct ranked *best, uint32_t count);

#endif
