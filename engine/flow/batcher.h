/* batcher.h: fills microbatches from the requests that wait.
 *
 * Not a thread: stage 0 of each replica takes when it has nothing to do, and the microbatch closes
 * at that moment, with whatever waits by fair turns up to the token budget. Nobody waits on
 * purpose for more. What waits is split evenly over the threads that could work on it, though not
 * below BATCHER_TOKENS_MIN tokens, under which a microbatch costs more than it brings. */
#ifndef BERTD_FLOW_BATCHER_H
#define BERTD_FLOW_BATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/histogram.h"
#include "engine/base/status.h"
#include "engine/flow/admission.h"
#include "engine/flow/call.h"
#include "engine/flow/microbatch.h"
#include "engine/flow/turns.h"

enum { BATCHER_TOKENS_MIN = 64 };

struct batcher {
    struct turns *turns;
    struct admission *admission;
    struct turns_share share; /* its weight_max: the token budget */
    struct histogram microbatch_tokens, microbatch_inputs;
};

/* Fills microbatches of up to `rows_max` rows and `budget_tokens` tokens; `parts` threads could
 * share what waits. The admission must outlive the batcher. Error: NO_MEMORY. */
enum status batcher_init(struct batcher *batcher, struct admission *admission, uint32_t calls_max,
                         uint32_t rows_max, uint32_t budget_tokens, uint32_t parts);
void batcher_free(struct batcher *batcher);

/* From the next microbatch on. At most what a microbatch has room for. */
void batcher_set_budget(struct batcher *batcher, uint32_t budget_tokens);

/* Queues all requests of a call that are in its requests_flow; the caller holds a reference.
 * Errors: QUEUE_FULL, CANCELLED (answered already). */
enum status batcher_add(struct batcher *batcher, struct call *call);

/* Waits for a request and fills the microbatch. False when the batcher is closed. Every request in
 * the microbatch holds a reference of its call. */
bool batcher_take(struct batcher *batcher, struct microbatch *microbatch);

/* Takes out what waits of an answered call. */
void batcher_remove(struct batcher *batcher, struct call *call);

void batcher_close(struct batcher *batcher);

#endif
