/* turns.h: a fair queue with its lock, between the threads that bring work and those that take it.
 *
 * The engine has two: inputs that wait for a tokenizer thread, requests that wait for a stage 0.
 * What is taken holds a reference of its call; what waits holds none, so the one who answers a
 * call must turns_remove() it. A call that is answered already is not let in. */
#ifndef BERTD_FLOW_TURNS_H
#define BERTD_FLOW_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/flow/call.h"

struct turns;

/* Room for `calls_max` calls, turns of `quantum` weight. Error: NO_MEMORY. */
enum status turns_open(uint32_t calls_max, uint32_t quantum, struct turns **out);
void turns_free(struct turns *turns);

/* Puts a flow of the call in; the caller holds a reference of it. Errors: QUEUE_FULL, CANCELLED
 * (the call is answered already). */
enum status turns_add(struct turns *turns, struct call *call, struct fair_flow *flow);

/* How much one take may bring. */
struct turns_share {
    uint32_t items_max;
    atomic_uint weight_max; /* but the first item always comes; may change at any time */
    uint32_t weight_min;    /* what waits is split in `parts`, but not below this weight */
    uint32_t parts;
};

/* Waits for work and takes it by fair turns: *first and what its `next` leads to. Returns their
 * number; 0 when the turns are closed. Never waits for more than the first item. */
uint32_t turns_take(struct turns *turns, const struct turns_share *share, struct fair_item **first);

/* Takes a flow out with all its items, when it is in. */
void turns_remove(struct turns *turns, struct fair_flow *flow);

/* Wakes everybody; turns_take() returns 0 from here on. */
void turns_close(struct turns *turns);

#endif
