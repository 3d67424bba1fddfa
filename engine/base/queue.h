/* queue.h: a bounded first-in first-out queue of pointers between threads.
 *
 * A ring with one mutex and two conditions. Pushing gives the item away; popping makes the caller
 * its owner. queue_close() wakes everybody: pushes fail from then on, pops still hand out what is
 * left. Any number of threads on both ends. */
#ifndef BERTD_BASE_QUEUE_H
#define BERTD_BASE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"

struct queue;

/* Room for `capacity` items, 1 or more. Error: NO_MEMORY. */
enum status queue_open(uint32_t capacity, struct queue **out);

/* No thread may be inside. Items that are left are not freed. NULL is allowed. */
void queue_free(struct queue *queue);

/* Waits for room. False when the queue is closed: the item is still the caller's. */
bool queue_push(struct queue *queue, void *item);

/* As queue_push(), but false instead of waiting. */
bool queue_try_push(struct queue *queue, void *item);

/* Waits for an item. NULL when the queue is closed and empty. */
void *queue_pop(struct queue *queue);

/* As queue_pop(), but NULL instead of waiting. */
void *queue_try_pop(struct queue *queue);

/* May be called more than once. */
void queue_close(struct queue *queue);

/* Items that wait now. */
uint32_t queue_depth(struct queue *queue);

#endif
