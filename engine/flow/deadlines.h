/* deadlines.h: all calls in flight, the one with the nearest deadline first, and the thread that
 * answers them on time, even while a stage is busy with them.
 *
 * A binary heap under one lock. A call that is in the heap is pending or about to leave; the one
 * who answers it takes it out. */
#ifndef BERTD_FLOW_DEADLINES_H
#define BERTD_FLOW_DEADLINES_H

#include <stdint.h>

#include "engine/base/status.h"
#include "engine/flow/call.h"

struct deadlines;

/* Room for `calls_max` calls; starts the thread. Errors: NO_MEMORY. */
enum status deadlines_open(uint32_t calls_max, struct deadlines **out, struct error *err);

/* Joins the thread. Calls that are left in it are not answered. NULL is allowed. */
void deadlines_close(struct deadlines *deadlines);

/* Errors: QUEUE_FULL, CANCELLED (the call is answered already). */
enum status deadlines_add(struct deadlines *deadlines, struct call *call);

/* Takes the call out when it is in. */
void deadlines_remove(struct deadlines *deadlines, struct call *call);

/* Answers every call that is in and for which `wanted` is true with `outcome`. `wanted` runs under
 * the lock. */
void deadlines_answer_if(struct deadlines *deadlines,
                         bool (*wanted)(const struct call *call, const void *context),
                         const void *context, const struct error *outcome);

/* Answers every call that is in with `outcome`. */
void deadlines_answer_all(struct deadlines *deadlines, const struct error *outcome);

#endif
