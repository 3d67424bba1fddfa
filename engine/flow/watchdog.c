/* watchdog.c: looks at all stages several times in each timeout. */
#include "engine/flow/watchdog.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/thread.h"

enum { LOOKS_PER_TIMEOUT = 8, STUCK_TEXT_BYTES = 80 };

/* What is known of one stage. */
struct watch {
    uint64_t progress; /* as it was at the last look */
    uint64_t busy_ns;  /* busy for so long without progress */
    bool stuck;
    char text[STUCK_TEXT_BYTES];
};

struct watchdog {
    struct pipeline *pipeline;
    struct deadlines *deadlines;
    struct admission *admission;
    uint64_t timeout_ns, interval_ns;
    struct thread thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the end */
    bool closed;
    const char *_Atomic stuck; /* text of a stage that is stuck, or NULL */
    struct watch watches[];    /* one for each stage */
};

/* Updates what is known of a stage after `elapsed_ns`; logs when it changes. */
static void watch_look(const struct watchdog *watchdog, struct watch *watch, struct stage *stage,
                       uint64_t elapsed_ns) {
    uint64_t progress;
    bool busy = stage_get_progress(stage, &progress);
    if (busy && progress == watch->progress)
        watch->busy_ns += elapsed_ns;
    else
        watch->busy_ns = 0;
    watch->progress = progress;
    bool stuck = watch->busy_ns >= watchdog->timeout_ns;
    if (stuck && !watch->stuck)
        log_write(LOG_ERROR, "%s for %llu ms: its calls end with stage_stuck", watch->text,
                  (unsigned long long)(watch->busy_ns / NS_PER_MS));
    else if (!stuck && watch->stuck)
        log_write(LOG_WARN, "%s of replica %u makes progress again", stage->name, stage->replica);
    watch->stuck = stuck;
}

/* Looks at all stages of a replica. The text of one that is stuck, or NULL. */
static const char *replica_look(struct watchdog *watchdog, uint32_t replica, uint64_t elapsed_ns) {
    struct pipeline *pipeline = watchdog->pipeline;
    const char *stuck = NULL;
    for (uint32_t i = 0; i < pipeline->stages_count; i++) {
        uint32_t at = replica * pipeline->stages_count + i;
        watch_look(watchdog, &watchdog->watches[at], &pipeline->stages[at], elapsed_ns);
        if (watchdog->watches[at].stuck)
            stuck = watchdog->watches[at].text;
    }
    pipeline_set_stuck(pipeline, replica, stuck != NULL);
    return stuck;
}

/* Whether a request of the call is in the hands of that replica. */
static bool call_is_in(const struct call *call, const void *replica) {
    for (uint64_t i = 0; i < call->requests_max; i++)
        if (atomic_load(&call->requests[i].replica) == *(const uint32_t *)replica)
            return true;
    return false;
}

static void look(struct watchdog *watchdog, uint64_t elapsed_ns) {
    const char *last = NULL;
    uint32_t replicas = watchdog->pipeline->replicas_count, stuck_count = 0;
    for (uint32_t replica = 0; replica < replicas; replica++) {
        const char *stuck = replica_look(watchdog, replica, elapsed_ns);
        if (!stuck)
            continue;
        struct error err;
        uint32_t number = REQUEST_IN_REPLICA(replica);
        error_set(&err, STATUS_STAGE_STUCK, "%s", stuck);
        deadlines_answer_if(watchdog->deadlines, call_is_in, &number, &err);
        stuck_count++;
        last = stuck;
    }
    atomic_store(&watchdog->stuck, last);
    atomic_store(&watchdog->admission->stuck, stuck_count == replicas);
    if (stuck_count < replicas)
        return;
    struct error err;
    error_set(&err, STATUS_STAGE_STUCK, "%s, and there is no other replica", last);
    deadlines_answer_all(watchdog->deadlines, &err);
}

/* Sleeps until the next look; false at the end. */
static bool watchdog_sleep(struct watchdog *watchdog) {
    uint64_t until_ns = clock_now_ns() + watchdog->interval_ns;
    const struct timespec until = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->closed && clock_now_ns() < until_ns)
        pthread_cond_timedwait(&watchdog->changed, &watchdog->lock, &until);
    bool go_on = !watchdog->closed;
    pthread_mutex_unlock(&watchdog->lock);
    return go_on;
}

static void watchdog_run(void *context) {
    struct watchdog *watchdog = context;
    uint64_t before = clock_now_ns();
    while (watchdog_sleep(watchdog)) {
        uint64_t now = clock_now_ns(), elapsed = now - before;
        before = now;
        look(watchdog, elapsed < 2 * watchdog->interval_ns ? elapsed : watchdog->interval_ns);
    }
}

enum status watchdog_open(struct pipeline *pipeline, struct deadlines *deadlines,
                          struct admission *admission, uint64_t timeout_ns, struct watchdog **out,
                          struct error *err) {
    uint32_t stages = pipeline->replicas_count * pipeline->stages_count;
    struct watchdog *watchdog = calloc(1, sizeof *watchdog + stages * sizeof(struct watch));
    *out = NULL;
    if (!watchdog)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the watchdog");
    watchdog->pipeline = pipeline;
    watchdog->deadlines = deadlines;
    watchdog->admission = admission;
    watchdog->timeout_ns = timeout_ns;
    watchdog->interval_ns = timeout_ns / LOOKS_PER_TIMEOUT + 1;
    for (uint32_t i = 0; i < stages; i++)
        snprintf(watchdog->watches[i].text, STUCK_TEXT_BYTES, "%s of replica %u makes no progress",
                 pipeline->stages[i].name, pipeline->stages[i].replica);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&watchdog->lock, NULL);
    pthread_cond_init(&watchdog->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    enum status status = thread_start(&watchdog->thread, "watchdog", watchdog_run, watchdog, err);
    if (status != STATUS_OK)
        watchdog_close(watchdog);
    else
        *out = watchdog;
    return status;
}

void watchdog_close(struct watchdog *watchdog) {
    if (!watchdog)
        return;
    pthread_mutex_lock(&watchdog->lock);
    watchdog->closed = true;
    pthread_cond_signal(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->lock);
    thread_join(&watchdog->thread);
    for (uint32_t replica = 0; replica < watchdog->pipeline->replicas_count; replica++)
        pipeline_set_stuck(watchdog->pipeline, replica, false);
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->lock);
    free(watchdog);
}

const char *watchdog_get_stuck(const struct watchdog *watchdog) {
    return atomic_load(&watchdog->stuck);
}
