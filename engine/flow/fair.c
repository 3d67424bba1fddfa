/* fair.c: one ring of clients; each client has a ring of flows; a hash table finds the client. */
#include "engine/flow/fair.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct fair_client {
    struct fair_turn turn; /* first member: a turn of the clients' ring is its client */
    struct fair_turn *flows;
    uint64_t id;
    struct fair_client *chain; /* next of its bucket, or of the free list */
};

struct fair_queue {
    uint32_t quantum, buckets_mask;
    struct fair_turn *clients; /* whose turn it is; NULL: empty */
    uint64_t weight;
    uint32_t count;
    struct fair_client *pool, *unused; /* never used ones are not in the list of unused ones */
    uint32_t pool_used, pool_room;
    struct fair_client **buckets;
};

/* A turn that joins comes last, so just before the one that has the turn. */
static void ring_join(struct fair_turn **ring, struct fair_turn *turn, uint32_t quantum) {
    turn->credit = 0;
    if (!*ring) {
        turn->next = turn->prev = turn;
        turn->credit = quantum;
        *ring = turn;
        return;
    }
    turn->next = *ring;
    turn->prev = (*ring)->prev;
    turn->prev->next = turn;
    turn->next->prev = turn;
}

static void ring_pass(struct fair_turn **ring, uint32_t quantum) {
    *ring = (*ring)->next;
    (*ring)->credit += quantum;
}

static void ring_leave(struct fair_turn **ring, struct fair_turn *turn, uint32_t quantum) {
    if (turn->next == turn) {
        *ring = NULL;
        return;
    }
    if (*ring == turn)
        ring_pass(ring, quantum);
    turn->prev->next = turn->next;
    turn->next->prev = turn->prev;
}

/* What is alone in its ring need not save up, and must not pile up debts for later either. */
static bool turn_affords(const struct fair_turn *turn, uint64_t weight) {
    return turn->next == turn || turn->credit >= weight;
}

static void turn_spend(struct fair_turn *turn, uint64_t weight) {
    turn->credit = turn->credit > weight ? turn->credit - weight : 0;
}

enum status fair_open(uint32_t flows_max, uint32_t quantum, struct fair_queue **out) {
    uint32_t buckets = 16;
    while (buckets < flows_max && buckets < 1u << 30)
        buckets *= 2;
    struct fair_queue *queue = calloc(1, sizeof *queue);
    *out = queue;
    if (!queue)
        return STATUS_NO_MEMORY;
    queue->quantum = quantum;
    queue->buckets_mask = buckets - 1;
    queue->pool = calloc(flows_max, sizeof *queue->pool);
    queue->buckets = calloc(buckets, sizeof(struct fair_client *));
    if (!queue->pool || !queue->buckets) {
        fair_free(queue);
        *out = NULL;
        return STATUS_NO_MEMORY;
    }
    queue->pool_room = flows_max;
    return STATUS_OK;
}

void fair_free(struct fair_queue *queue) {
    if (!queue)
        return;
    free(queue->buckets);
    free(queue->pool);
    free(queue);
}

void fair_flow_append(struct fair_flow *flow, struct fair_item *item) {
    item->next = NULL;
    if (flow->last)
        flow->last->next = item;
    else
        flow->first = item;
    flow->last = item;
    flow->weight += item->weight;
    flow->count++;
}

/* The bucket of a client: the finalizer of SplitMix64 spreads neighbouring numbers. */
static struct fair_client **bucket_of(struct fair_queue *queue, uint64_t id) {
    id = (id ^ (id >> 30)) * 0xBF58476D1CE4E5B9ULL;
    id = (id ^ (id >> 27)) * 0x94D049BB133111EBULL;
    return &queue->buckets[(id ^ (id >> 31)) & queue->buckets_mask];
}

static struct fair_client *client_find(struct fair_queue *queue, uint64_t id) {
    struct fair_client **bucket = bucket_of(queue, id), *client = *bucket;
    while (client && client->id != id)
        client = client->chain;
    if (client)
        return client;
    client = queue->unused;
    if (client)
        queue->unused = client->chain;
    else if (queue->pool_used < queue->pool_room)
        client = &queue->pool[queue->pool_used++];
    else
        return NULL;
    *client = (struct fair_client){.id = id, .chain = *bucket};
    *bucket = client;
    ring_join(&queue->clients, &client->turn, queue->quantum);
    return client;
}

static void client_leave(struct fair_queue *queue, struct fair_client *client) {
    struct fair_client **link = bucket_of(queue, client->id);
    while (*link != client)
        link = &(*link)->chain;
    *link = client->chain;
    ring_leave(&queue->clients, &client->turn, queue->quantum);
    client->chain = queue->unused;
    queue->unused = client;
}

enum status fair_add(struct fair_queue *queue, struct fair_flow *flow, uint64_t client_id) {
    struct fair_client *client = client_find(queue, client_id);
    if (!client)
        return STATUS_QUEUE_FULL;
    ring_join(&client->flows, &flow->turn, queue->quantum);
    flow->client = client;
    queue->weight += flow->weight;
    queue->count += flow->count;
    return STATUS_OK;
}

void fair_remove(struct fair_queue *queue, struct fair_flow *flow) {
    struct fair_client *client = flow->client;
    if (!client)
        return;
    queue->weight -= flow->weight;
    queue->count -= flow->count;
    ring_leave(&client->flows, &flow->turn, queue->quantum);
    flow->client = NULL;
    if (!client->flows)
        client_leave(queue, client);
}

/* The flow whose turn it is, with credit for its next item on both levels. */
static struct fair_flow *flow_next(struct fair_queue *queue) {
    for (;;) {
        struct fair_client *client = (struct fair_client *)queue->clients;
        struct fair_flow *flow = (struct fair_flow *)client->flows;
        while (!turn_affords(&flow->turn, flow->first->weight)) {
            ring_pass(&client->flows, queue->quantum);
            flow = (struct fair_flow *)client->flows;
        }
        if (turn_affords(&client->turn, flow->first->weight))
            return flow;
        ring_pass(&queue->clients, queue->quantum);
    }
}

struct fair_item *fair_take(struct fair_queue *queue, uint64_t weight_max) {
    if (!queue->clients)
        return NULL;
    struct fair_flow *flow = flow_next(queue);
    struct fair_item *item = flow->first;
    if (item->weight > weight_max)
        return NULL;
    turn_spend(&flow->turn, item->weight);
    turn_spend(&flow->client->turn, item->weight);
    flow->first = item->next;
    flow->weight -= item->weight;
    flow->count--;
    queue->weight -= item->weight;
    queue->count--;
    if (!flow->first) {
        flow->last = NULL;
        fair_remove(queue, flow);
    }
    return item;
}

uint64_t fair_weight(const struct fair_queue *queue) {
    return queue->weight;
}

uint32_t fair_count(const struct fair_queue *queue) {
    return queue->count;
}
