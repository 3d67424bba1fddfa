/* turns.c: a monitor. The lock covers the fair queue and the flows that are in it. */
#include "engine/flow/turns.h"

#include <pthread.h>
#include <stdlib.h>

struct turns {
    pthread_mutex_t lock;
    pthread_cond_t has_item;
    bool closed;
    struct fair_queue *fair;
};

enum status turns_open(uint32_t calls_max, uint32_t quantum, struct turns **out) {
    struct turns *turns = calloc(1, sizeof *turns);
    *out = NULL;
    if (!turns)
        return STATUS_NO_MEMORY;
    if (fair_open(calls_max, quantum, &turns->fair) != STATUS_OK) {
        free(turns);
        return STATUS_NO_MEMORY;
    }
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->has_item, NULL);
    *out = turns;
    return STATUS_OK;
}

void turns_free(struct turns *turns) {
    if (!turns)
        return;
    pthread_cond_destroy(&turns->has_item);
    pthread_mutex_destroy(&turns->lock);
    fair_free(turns->fair);
    free(turns);
}

enum status turns_add(struct turns *turns, struct call *call, struct fair_flow *flow) {
    enum status status = STATUS_CANCELLED;
    pthread_mutex_lock(&turns->lock);
    /* Looked at under the lock: who answers later finds the flow and removes it. */
    if (!call_is_answered(call)) {
        bool many = flow->count > 1;
        status = fair_add(turns->fair, flow, call->client);
        if (status == STATUS_OK && many)
            pthread_cond_broadcast(&turns->has_item);
        else if (status == STATUS_OK)
            pthread_cond_signal(&turns->has_item);
    }
    pthread_mutex_unlock(&turns->lock);
    return status;
}

uint32_t turns_take(struct turns *turns, const struct turns_share *share,
                    struct fair_item **first) {
    uint32_t count = 0;
    *first = NULL;
    pthread_mutex_lock(&turns->lock);
    while (fair_count(turns->fair) == 0 && !turns->closed)
        pthread_cond_wait(&turns->has_item, &turns->lock);
    if (!turns->closed) {
        uint64_t room = (fair_weight(turns->fair) + share->parts - 1) / share->parts;
        uint32_t weight_max = atomic_load(&share->weight_max);
        room = room < share->weight_min ? share->weight_min : room;
        room = room > weight_max ? weight_max : room;
        struct fair_item **link = first, *item = fair_take(turns->fair, UINT64_MAX);
        while (item) {
            call_retain(item->owner);
            *link = item;
            link = &item->next;
            count++;
            room = room > item->weight ? room - item->weight : 0;
            item = count < share->items_max && room > 0 ? fair_take(turns->fair, room) : NULL;
        }
        *link = NULL;
        if (fair_count(turns->fair) > 0)
            pthread_cond_signal(&turns->has_item);
    }
    pthread_mutex_unlock(&turns->lock);
    return count;
}

void turns_remove(struct turns *turns, struct fair_flow *flow) {
    pthread_mutex_lock(&turns->lock);
    fair_remove(turns->fair, flow);
    pthread_mutex_unlock(&turns->lock);
}

void turns_close(struct turns *turns) {
    pthread_mutex_lock(&turns->lock);
    turns->closed = true;
    pthread_cond_broadcast(&turns->has_item);
    pthread_mutex_unlock(&turns->lock);
}
