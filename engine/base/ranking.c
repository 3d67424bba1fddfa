/* ranking.c: a binary heap with the worst at its root, and heap sort (Williams 1964). */
#include "engine/base/ranking.h"

#include <stdbool.h>

static bool is_worse(struct ranked a, struct ranked b) {
    return a.score < b.score || (a.score == b.score && a.id > b.id);
}

static void swap(struct ranked *a, struct ranked *b) {
    const struct ranked kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_down(struct ranked *best, uint32_t count) {
    uint64_t at = 0;
    for (uint64_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_worse(best[child + 1], best[child]))
            child++;
        if (!is_worse(best[child], best[at]))
            return;
        swap(&best[child], &best[at]);
        at = child;
    }
}

void ranking_push(struct ranked *best, uint32_t *count, uint32_t kept, struct ranked item) {
    if (*count == kept) {
        if (!is_worse(best[0], item))
            return;
        best[0] = item;
        sift_down(best, kept);
        return;
    }
    uint32_t at = (*count)++;
    best[at] = item;
    while (at > 0 && is_worse(best[at], best[(at - 1) / 2])) {
        swap(&best[at], &best[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

void ranking_sort(struct ranked *best, uint32_t count) {
    while (count > 1) {
        swap(&best[0], &best[--count]);
        sift_down(best, count);
    }
}
