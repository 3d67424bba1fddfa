/* asking.h: submits calls to an engine and waits for their answers. For the engine's tests. */
#ifndef BERTD_TESTS_ASKING_H
#define BERTD_TESTS_ASKING_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/engine.h"

#define DEMO_MODEL "models/goemotions-minilm"

/* Counts the answers that have come. */
struct asking {
    pthread_mutex_t lock;
    pthread_cond_t came;
    uint32_t answered;
};

#define ASKING_INIT                                                                                \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

static inline void asking_done(struct call *call, void *context) {
    struct asking *asking = context;
    (void)call;
    pthread_mutex_lock(&asking->lock);
    asking->answered++;
    pthread_cond_broadcast(&asking->came);
    pthread_mutex_unlock(&asking->lock);
}

static inline void asking_wait(struct asking *asking, uint32_t count) {
    pthread_mutex_lock(&asking->lock);
    while (asking->answered < count)
        pthread_cond_wait(&asking->came, &asking->lock);
    pthread_mutex_unlock(&asking->lock);
}

/* Submits and waits. The call is the caller's; NULL when it was refused. */
static inline struct call *ask(struct engine *engine, struct call_spec spec, struct error *err) {
    struct asking asking = ASKING_INIT;
    struct call *call;
    spec.done = asking_done;
    spec.context = &asking;
    if (engine_submit(engine, &spec, &call, err) != STATUS_OK)
        return NULL;
    asking_wait(&asking, 1);
    call_outcome(call, err);
    return call;
}

static inline struct engine *engine_make(struct plan_options plan, struct engine_options options) {
    struct engine *engine;
    struct error err;
    options.model_dir = DEMO_MODEL;
    options.plan = plan;
    if (engine_open(&options, &engine, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return engine;
}

#endif
