/* fair.h: whose turn is it? A queue that takes token-weighted turns between clients, and within a
 * client between its calls, so that a flood from one never starves another.
 *
 * Deficit round robin (Shreedhar and Varghese, 1995) in two levels. Whenever the turn comes to a
 * client it gets `quantum` more credit, and its items are handed out as long as its credit covers
 * their weight. An item of weight w thus waits for at most ceil(w / quantum) rounds, and in each
 * round every other client spends at most its quantum plus one item. One step costs a constant
 * time for each quantum of weight; nothing is allocated after fair_open().
 *
 * Not thread-safe: the lock of the owner (turns.h) covers it. */
#ifndef BERTD_FLOW_FAIR_H
#define BERTD_FLOW_FAIR_H

#include <stdint.h>

#include "engine/base/status.h"

struct fair_queue;

/* A thing that waits, embedded in an input or a request. Weight: what its work costs, 1 or more. */
struct fair_item {
    struct fair_item *next;
    void *owner; /* the call it belongs to */
    uint32_t weight;
};

/* A place in one of the two rings. */
struct fair_turn {
    struct fair_turn *next, *prev;
    uint64_t credit;
};

/* The items of one call in one fair queue, first in first out. Zeroed at first. Owned by the call;
 * it must not be freed or changed while it is in a queue. */
struct fair_flow {
    struct fair_turn turn; /* among the flows of its client */
    struct fair_client *client;
    struct fair_item *first, *last;
    uint64_t weight; /* of all its items */
    uint32_t count;
};

/* Room for `flows_max` flows at a time. Error: NO_MEMORY. */
enum status fair_open(uint32_t flows_max, uint32_t quantum, struct fair_queue **out);
void fair_free(struct fair_queue *queue);

/* Adds an item to a flow that is not in a queue. */
void fair_flow_append(struct fair_flow *flow, struct fair_item *item);

/* Puts a flow with at least one item in, at the end of its client's turns. Error: QUEUE_FULL. */
enum status fair_add(struct fair_queue *queue, struct fair_flow *flow, uint64_t client);

/* Takes the item whose turn it is. NULL when there is none, or when it is heavier than
 * `weight_max`: then it stays the next. A flow leaves the queue with its last item. */
struct fair_item *fair_take(struct fair_queue *queue, uint64_t weight_max);

/* Takes a flow out with all its items. Nothing happens when it is not in. */
void fair_remove(struct fair_queue *queue, struct fair_flow *flow);

/* Weight of all items, and their count. */
uint64_t fair_weight(const struct fair_queue *queue);
uint32_t fair_count(const struct fair_queue *queue);

#endif
