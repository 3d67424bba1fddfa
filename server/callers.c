/* callers.c: slots of calls and one queue of slot numbers. IN_ORDER a slot enters the queue before
 * it is submitted, and the taker waits until the front is done; AS_DONE it enters when it is done.
 *
 * One lock covers everything but the inside of a slot that is in flight; it is never held while
 * the engine is called. `changed` is signalled when a slot is done, `room` when one is given back.
 */
#include "server/callers.h"

#include <pthread.h>
#include <stdlib.h>

#include "engine/base/clock.h"

struct slot {
    struct callers *callers;
    struct call *call;
    struct error error;
    uint64_t submitted_ns, done_ns;
    uint32_t pending; /* the submission and the completion; done at zero */
};

struct callers {
    struct engine *engine;
    enum callers_order order;
    uint32_t count, in_flight; /* in flight: begun and not yet given back */
    struct slot *slots;        /* [count] */
    uint32_t *unused;          /* [count] stack of the slots that are not in flight */
    uint32_t *queue;           /* [count] ring */
    uint32_t queue_start, queue_count;
    uint64_t given_back; /* running count */
    bool ended;
    pthread_mutex_t lock;
    pthread_cond_t changed, room;
};

enum status callers_open(struct engine *engine, uint32_t count, enum callers_order order,
                         struct callers **out) {
    *out = NULL;
    struct callers *callers = calloc(1, sizeof *callers);
    if (!callers)
        return STATUS_NO_MEMORY;
    callers->engine = engine;
    callers->order = order;
    callers->count = count;
    callers->slots = calloc(count, sizeof *callers->slots);
    callers->unused = calloc(count, sizeof *callers->unused);
    callers->queue = calloc(count, sizeof *callers->queue);
    pthread_mutex_init(&callers->lock, NULL);
    pthread_cond_init(&callers->changed, NULL);
    pthread_cond_init(&callers->room, NULL);
    if (!callers->slots || !callers->unused || !callers->queue) {
        callers_close(callers);
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        callers->slots[i].callers = callers;
        callers->unused[i] = i;
    }
    *out = callers;
    return STATUS_OK;
}

void callers_close(struct callers *callers) {
    if (!callers)
        return;
    pthread_cond_destroy(&callers->room);
    pthread_cond_destroy(&callers->changed);
    pthread_mutex_destroy(&callers->lock);
    free(callers->queue);
    free(callers->unused);
    free(callers->slots);
    free(callers);
}

/* With the lock held. */
static void push(struct callers *callers, const struct slot *slot) {
    callers->queue[(callers->queue_start + callers->queue_count++) % callers->count] =
        (uint32_t)(slot - callers->slots);
}

uint32_t callers_begin(struct callers *callers) {
    pthread_mutex_lock(&callers->lock);
    while (callers->in_flight == callers->count)
        pthread_cond_wait(&callers->room, &callers->lock);
    callers->in_flight++;
    uint32_t index = callers->unused[callers->count - callers->in_flight];
    struct slot *slot = &callers->slots[index];
    slot->call = NULL;
    slot->error.status = STATUS_OK;
    slot->submitted_ns = clock_now_ns();
    slot->pending = 2;
    if (callers->order == CALLERS_IN_ORDER)
        push(callers, slot);
    pthread_mutex_unlock(&callers->lock);
    return index;
}

/* One of the two things that a slot waits for has happened. */
static void finish_half(struct slot *slot, uint32_t halves) {
    struct callers *callers = slot->callers;
    pthread_mutex_lock(&callers->lock);
    slot->pending -= halves;
    if (slot->pending == 0) {
        if (callers->order == CALLERS_AS_DONE)
            push(callers, slot);
        pthread_cond_signal(&callers->changed);
    }
    pthread_mutex_unlock(&callers->lock);
}

static void on_done(struct call *call, void *context) {
    (void)call;
    struct slot *slot = context;
    slot->done_ns = clock_now_ns();
    finish_half(slot, 1);
}

/* Waits until something is given back since `seen`. False when nothing else is in flight, so that
 * nothing ever will be. */
static bool wait_for_less(struct callers *callers, uint64_t seen) {
    pthread_mutex_lock(&callers->lock);
    while (callers->given_back == seen && callers->in_flight > 1)
        pthread_cond_wait(&callers->room, &callers->lock);
    bool less = callers->given_back != seen;
    pthread_mutex_unlock(&callers->lock);
    return less;
}

static uint64_t count_given_back(struct callers *callers) {
    pthread_mutex_lock(&callers->lock);
    uint64_t count = callers->given_back;
    pthread_mutex_unlock(&callers->lock);
    return count;
}

void callers_submit(struct callers *callers, uint32_t index, struct call_spec *spec) {
    struct slot *slot = &callers->slots[index];
    spec->done = on_done;
    spec->context = slot;
    enum status status;
    uint64_t seen;
    do {
        seen = count_given_back(callers);
        status = engine_submit(callers->engine, spec, &slot->call, &slot->error);
    } while (status == STATUS_QUEUE_FULL && wait_for_less(callers, seen));
    if (status != STATUS_OK) {
        slot->call = NULL;
        slot->error.status = status;
        slot->done_ns = clock_now_ns();
    }
    finish_half(slot, status == STATUS_OK ? 1 : 2);
}

void callers_put_error(struct callers *callers, uint32_t index, const struct error *err) {
    struct slot *slot = &callers->slots[index];
    slot->error = *err;
    slot->done_ns = slot->submitted_ns;
    finish_half(slot, 2);
}

void callers_end(struct callers *callers) {
    pthread_mutex_lock(&callers->lock);
    callers->ended = true;
    pthread_cond_signal(&callers->changed);
    pthread_mutex_unlock(&callers->lock);
}

static bool front_is_done(const struct callers *callers) {
    return callers->queue_count > 0 &&
           callers->slots[callers->queue[callers->queue_start]].pending == 0;
}

bool callers_ready(struct callers *callers) {
    pthread_mutex_lock(&callers->lock);
    bool ready = front_is_done(callers);
    pthread_mutex_unlock(&callers->lock);
    return ready;
}

bool callers_take(struct callers *callers, struct caller_result *out) {
    pthread_mutex_lock(&callers->lock);
    while (!front_is_done(callers) && !(callers->ended && callers->in_flight == 0))
        pthread_cond_wait(&callers->changed, &callers->lock);
    bool taken = front_is_done(callers);
    if (taken) {
        out->slot = callers->queue[callers->queue_start];
        callers->queue_start = (callers->queue_start + 1) % callers->count;
        callers->queue_count--;
    }
    pthread_mutex_unlock(&callers->lock);
    if (!taken)
        return false;
    const struct slot *slot = &callers->slots[out->slot];
    out->call = slot->call;
    out->error = slot->error;
    out->submitted_ns = slot->submitted_ns;
    out->done_ns = slot->done_ns;
    out->outcome = slot->call ? call_outcome(slot->call, &out->error) : slot->error.status;
    return true;
}

void callers_give_back(struct callers *callers, const struct caller_result *result) {
    call_release(result->call);
    pthread_mutex_lock(&callers->lock);
    callers->in_flight--;
    callers->unused[callers->count - 1 - callers->in_flight] = result->slot;
    callers->given_back++;
    pthread_cond_signal(&callers->room);
    pthread_mutex_unlock(&callers->lock);
}
