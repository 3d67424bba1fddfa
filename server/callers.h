/* callers.h: a bounded set of calls in flight, for commands that push many texts through the
 * engine: `classify` and `check` (answers in the order of the inputs), `bench` (whichever is done
 * first).
 *
 * One thread submits, one takes; they may be the same if it never submits more than there is room
 * for. A call that fails, be it before or after admission, is taken like any other. */
#ifndef BERTD_CALLERS_H
#define BERTD_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

struct callers;

enum callers_order { CALLERS_IN_ORDER, CALLERS_AS_DONE };

/* At most `count` calls in flight. Error: NO_MEMORY. */
enum status callers_open(struct engine *engine, uint32_t count, enum callers_order order,
                         struct callers **out);

/* Nothing may be in flight. NULL is allowed. */
void callers_close(struct callers *callers);

/* Waits for room and returns a slot, 0..count-1, that is in flight from here on; callers_submit()
 * or callers_put_error() with it must follow. What the caller keeps by slot number is its own until
 * callers_give_back(). */
uint32_t callers_begin(struct callers *callers);

/* Submits a call; `done` and `context` of the spec are ours to fill, the rest is free for reuse
 * afterwards. Waits while the engine's queue is full of our other calls, which another thread must
 * take meanwhile. */
void callers_submit(struct callers *callers, uint32_t slot, struct call_spec *spec);

/* In place of a call, for an input that failed before it could be submitted. */
void callers_put_error(struct callers *callers, uint32_t slot, const struct error *err);

/* Nothing will be submitted any more. */
void callers_end(struct callers *callers);

/* A call that is done; lives until callers_give_back(). */
struct caller_result {
    struct call *call; /* NULL: it failed before it was admitted */
    enum status outcome;
    struct error error; /* when the outcome is not OK */
    uint64_t submitted_ns, done_ns;
    uint32_t slot;
};

/* Would callers_take() return at once? */
bool callers_ready(struct callers *callers);

/* Waits for the next one. False when all are taken and callers_end() was called. */
bool callers_take(struct callers *callers, struct caller_result *out);
void callers_give_back(struct callers *callers, const struct caller_result *result);

#endif
