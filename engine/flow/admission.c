/* admission.c: counts of tokens and calls. */
#include "engine/flow/admission.h"

void admission_init(struct admission *admission, uint64_t queue_tokens_max, uint32_t calls_max) {
    *admission = (struct admission){.queue_tokens_max = queue_tokens_max, .calls_max = calls_max};
    pthread_mutex_init(&admission->lock, NULL);
    pthread_cond_init(&admission->all_gone, NULL);
}

void admission_free(struct admission *admission) {
    pthread_cond_destroy(&admission->all_gone);
    pthread_mutex_destroy(&admission->lock);
}

/* Counts the call as open, unless there are too many or the door is shut. The flag is read under
 * the lock that admission_wait() takes, so none slips in behind its back. */
static enum status call_count(struct admission *admission) {
    enum status status = STATUS_OK;
    pthread_mutex_lock(&admission->lock);
    if (atomic_load(&admission->draining))
        status = STATUS_DRAINING;
    else if (atomic_load(&admission->stuck))
        status = STATUS_STAGE_STUCK;
    else if (admission->calls_open >= admission->calls_max)
        status = STATUS_QUEUE_FULL;
    else
        admission->calls_open++;
    pthread_mutex_unlock(&admission->lock);
    return status;
}

enum status admission_enter(struct admission *admission, uint64_t tokens,
                            _Atomic uint64_t *reserved) {
    enum status status = call_count(admission);
    if (status != STATUS_OK)
        return status;
    uint64_t now = atomic_load(&admission->queue_tokens);
    do {
        if (now >= admission->queue_tokens_max) {
            admission_gone(admission);
            return STATUS_QUEUE_FULL;
        }
    } while (!atomic_compare_exchange_weak(&admission->queue_tokens, &now, now + tokens));
    atomic_store(reserved, tokens);
    atomic_fetch_add(&admission->calls_in_flight, 1);
    return STATUS_OK;
}

void admission_give_back(struct admission *admission, _Atomic uint64_t *reserved, uint64_t tokens) {
    uint64_t have = atomic_load(reserved), given;
    do
        given = tokens < have ? tokens : have;
    while (!atomic_compare_exchange_weak(reserved, &have, have - given));
    atomic_fetch_sub(&admission->queue_tokens, given);
}

void admission_leave(struct admission *admission, _Atomic uint64_t *reserved) {
    admission_give_back(admission, reserved, UINT64_MAX);
    atomic_fetch_sub(&admission->calls_in_flight, 1);
}

void admission_gone(struct admission *admission) {
    pthread_mutex_lock(&admission->lock);
    if (--admission->calls_open == 0)
        pthread_cond_broadcast(&admission->all_gone);
    pthread_mutex_unlock(&admission->lock);
}

void admission_drain(struct admission *admission) {
    pthread_mutex_lock(&admission->lock);
    atomic_store(&admission->draining, true);
    pthread_mutex_unlock(&admission->lock);
}

void admission_wait(struct admission *admission) {
    pthread_mutex_lock(&admission->lock);
    while (admission->calls_open > 0)
        pthread_cond_wait(&admission->all_gone, &admission->lock);
    pthread_mutex_unlock(&admission->lock);
}
