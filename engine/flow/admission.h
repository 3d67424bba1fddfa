/* admission.h: which calls are let in, and what is inside.
 *
 * A call is admitted as a whole while the tokens that wait are below the limit, so one call may
 * overshoot it. It reserves what it can come to at most; what it does not need is given back when
 * its texts are tokenized, and the rest as stage 0 takes its requests. Lock-free but for the end
 * of a call; any thread. */
#ifndef BERTD_FLOW_ADMISSION_H
#define BERTD_FLOW_ADMISSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"

struct admission {
    _Atomic uint64_t queue_tokens; /* reserved and not yet taken by stage 0 */
    uint64_t queue_tokens_max;
    atomic_uint calls_in_flight; /* admitted and not yet answered */
    uint32_t calls_max;
    atomic_bool draining;
    atomic_bool stuck; /* no replica makes progress: the watchdog's word */

    /* Calls whose `done` has not returned: until then the engine must stay. */
    pthread_mutex_t lock;
    pthread_cond_t all_gone;
    uint32_t calls_open;
};

void admission_init(struct admission *admission, uint64_t queue_tokens_max, uint32_t calls_max);
void admission_free(struct admission *admission);

/* Lets a call in with `tokens`, which are then *reserved. Errors: QUEUE_FULL, DRAINING,
 * STAGE_STUCK. */
enum status admission_enter(struct admission *admission, uint64_t tokens,
                            _Atomic uint64_t *reserved);

/* Gives back up to `tokens` of what a call has reserved. */
void admission_give_back(struct admission *admission, _Atomic uint64_t *reserved, uint64_t tokens);

/* The call is answered: gives back all it has reserved, and it is in flight no more. */
void admission_leave(struct admission *admission, _Atomic uint64_t *reserved);

/* The last step of a call. The admission may be gone right after. */
void admission_gone(struct admission *admission);

/* Lets nobody in from here on. */
void admission_drain(struct admission *admission);

/* Waits until every call that was let in is gone. */
void admission_wait(struct admission *admission);

#endif
