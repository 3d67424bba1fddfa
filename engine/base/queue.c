/* queue.c: a ring of pointers. The lock covers the ring and the closed flag and nothing else. */
#include "engine/base/queue.h"

#include <pthread.h>
#include <stdlib.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t has_item, has_room;
    bool closed;
    uint32_t capacity, first, count;
    void *items[];
};

enum status queue_open(uint32_t capacity, struct queue **out) {
    *out = NULL;
    if (capacity == 0)
        return STATUS_INVALID_VALUE;
    struct queue *queue = calloc(1, sizeof *queue + capacity * sizeof(void *));
    if (!queue)
        return STATUS_NO_MEMORY;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->has_item, NULL);
    pthread_cond_init(&queue->has_room, NULL);
    queue->capacity = capacity;
    *out = queue;
    return STATUS_OK;
}

void queue_free(struct queue *queue) {
    if (!queue)
        return;
    pthread_cond_destroy(&queue->has_room);
    pthread_cond_destroy(&queue->has_item);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

/* Both need the lock, and room or an item. */
static void ring_put(struct queue *queue, void *item) {
    queue->items[(queue->first + queue->count) % queue->capacity] = item;
    queue->count++;
    pthread_cond_signal(&queue->has_item);
}

static void *ring_take(struct queue *queue) {
    void *item = queue->items[queue->first];
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
    pthread_cond_signal(&queue->has_room);
    return item;
}

bool queue_push(struct queue *queue, void *item) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == queue->capacity && !queue->closed)
        pthread_cond_wait(&queue->has_room, &queue->lock);
    bool open = !queue->closed;
    if (open)
        ring_put(queue, item);
    pthread_mutex_unlock(&queue->lock);
    return open;
}

bool queue_try_push(struct queue *queue, void *item) {
    pthread_mutex_lock(&queue->lock);
    bool room = queue->count < queue->capacity && !queue->closed;
    if (room)
        ring_put(queue, item);
    pthread_mutex_unlock(&queue->lock);
    return room;
}

void *queue_pop(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->closed)
        pthread_cond_wait(&queue->has_item, &queue->lock);
    void *item = queue->count > 0 ? ring_take(queue) : NULL;
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void *queue_try_pop(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    void *item = queue->count > 0 ? ring_take(queue) : NULL;
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void queue_close(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->has_item);
    pthread_cond_broadcast(&queue->has_room);
    pthread_mutex_unlock(&queue->lock);
}

uint32_t queue_depth(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    uint32_t count = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return count;
}
