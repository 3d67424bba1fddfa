/* deadlines.c: a heap of calls by deadline, and the thread that waits for the first of them. */
#include "engine/flow/deadlines.h"

#include <pthread.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/thread.h"

struct deadlines {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the first deadline moved forward, or the end */
    bool closed;
    struct thread thread;
    uint32_t count, capacity;
    struct call *heap[];
};

static void heap_set(struct deadlines *deadlines, uint32_t index, struct call *call) {
    deadlines->heap[index] = call;
    call->heap_index = index;
}

/* Moves the call at `index` to where it belongs. */
static void heap_mend(struct deadlines *deadlines, uint32_t index) {
    struct call **heap = deadlines->heap, *call = heap[index];
    while (index > 0 && heap[(index - 1) / 2]->deadline_ns > call->deadline_ns) {
        heap_set(deadlines, index, heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    for (uint32_t child; (child = 2 * index + 1) < deadlines->count; index = child) {
        if (child + 1 < deadlines->count && heap[child + 1]->deadline_ns < heap[child]->deadline_ns)
            child++;
        if (heap[child]->deadline_ns >= call->deadline_ns)
            break;
        heap_set(deadlines, index, heap[child]);
    }
    heap_set(deadlines, index, call);
}

static void heap_take(struct deadlines *deadlines, uint32_t index) {
    deadlines->heap[index]->heap_index = CALL_UNLISTED;
    struct call *last = deadlines->heap[--deadlines->count];
    if (index == deadlines->count)
        return;
    heap_set(deadlines, index, last);
    heap_mend(deadlines, index);
}

/* Waits until the first deadline has passed or something changed. Needs the lock. */
static void deadlines_sleep(struct deadlines *deadlines) {
    uint64_t first = deadlines->count > 0 ? deadlines->heap[0]->deadline_ns : UINT64_MAX;
    if (first == UINT64_MAX) {
        pthread_cond_wait(&deadlines->changed, &deadlines->lock);
        return;
    }
    struct timespec until = {(time_t)(first / NS_PER_S), (long)(first % NS_PER_S)};
    pthread_cond_timedwait(&deadlines->changed, &deadlines->lock, &until);
}

static void deadlines_run(void *context) {
    struct deadlines *deadlines = context;
    struct error late;
    error_set(&late, STATUS_DEADLINE, "the deadline passed before the answer was ready");
    pthread_mutex_lock(&deadlines->lock);
    while (!deadlines->closed) {
        if (deadlines->count == 0 || deadlines->heap[0]->deadline_ns > clock_now_ns()) {
            deadlines_sleep(deadlines);
            continue;
        }
        struct call *call = deadlines->heap[0];
        call_retain(call);
        heap_take(deadlines, 0);
        pthread_mutex_unlock(&deadlines->lock);
        call_answer(call, &late);
        call_release(call);
        pthread_mutex_lock(&deadlines->lock);
    }
    pthread_mutex_unlock(&deadlines->lock);
}

enum status deadlines_open(uint32_t calls_max, struct deadlines **out, struct error *err) {
    struct deadlines *deadlines = calloc(1, sizeof *deadlines + calls_max * sizeof(struct call *));
    *out = NULL;
    if (!deadlines)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u deadlines", calls_max);
    deadlines->capacity = calls_max;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&deadlines->lock, NULL);
    pthread_cond_init(&deadlines->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    enum status status =
        thread_start(&deadlines->thread, "deadlines", deadlines_run, deadlines, err);
    if (status != STATUS_OK)
        deadlines_close(deadlines);
    else
        *out = deadlines;
    return status;
}

void deadlines_close(struct deadlines *deadlines) {
    if (!deadlines)
        return;
    pthread_mutex_lock(&deadlines->lock);
    deadlines->closed = true;
    pthread_cond_signal(&deadlines->changed);
    pthread_mutex_unlock(&deadlines->lock);
    thread_join(&deadlines->thread);
    pthread_cond_destroy(&deadlines->changed);
    pthread_mutex_destroy(&deadlines->lock);
    free(deadlines);
}

enum status deadlines_add(struct deadlines *deadlines, struct call *call) {
    enum status status = STATUS_OK;
    pthread_mutex_lock(&deadlines->lock);
    if (call_is_answered(call)) {
        status = STATUS_CANCELLED;
    } else if (deadlines->count == deadlines->capacity) {
        status = STATUS_QUEUE_FULL;
    } else {
        deadlines->heap[deadlines->count++] = call;
        heap_mend(deadlines, deadlines->count - 1);
        if (call->heap_index == 0)
            pthread_cond_signal(&deadlines->changed);
    }
    pthread_mutex_unlock(&deadlines->lock);
    return status;
}

void deadlines_remove(struct deadlines *deadlines, struct call *call) {
    pthread_mutex_lock(&deadlines->lock);
    if (call->heap_index != CALL_UNLISTED)
        heap_take(deadlines, call->heap_index);
    pthread_mutex_unlock(&deadlines->lock);
}

void deadlines_answer_if(struct deadlines *deadlines,
                         bool (*wanted)(const struct call *call, const void *context),
                         const void *context, const struct error *outcome) {
    pthread_mutex_lock(&deadlines->lock);
    for (uint32_t left = deadlines->count; left > 0;) {
        struct call *call = deadlines->heap[--left];
        if (wanted && !wanted(call, context))
            continue;
        call_retain(call);
        heap_take(deadlines, left);
        pthread_mutex_unlock(&deadlines->lock);
        call_answer(call, outcome);
        call_release(call);
        pthread_mutex_lock(&deadlines->lock);
        left = deadlines->count; /* the heap may be another one by now */
    }
    pthread_mutex_unlock(&deadlines->lock);
}

void deadlines_answer_all(struct deadlines *deadlines, const struct error *outcome) {
    deadlines_answer_if(deadlines, NULL, NULL, outcome);
}
