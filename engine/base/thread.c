/* thread.c: a thin layer over pthreads. */
#include "engine/base/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void *thread_main(void *context) {
    struct thread *thread = context;
    pthread_setname_np(pthread_self(), thread->name);
    thread->run(thread->context);
    return NULL;
}

enum status thread_start(struct thread *thread, const char *name, void (*run)(void *context),
                         void *context, struct error *err) {
    *thread = (struct thread){.run = run, .context = context};
    snprintf(thread->name, sizeof thread->name, "%s", name);
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&thread->handle, NULL, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed)
        return error_set(err, STATUS_NO_MEMORY, "thread %s could not be started: %s", name,
                         strerror(failed));
    thread->started = true;
    return STATUS_OK;
}

void thread_join(struct thread *thread) {
    if (!thread->started)
        return;
    pthread_join(thread->handle, NULL);
    thread->started = false;
}

enum status thread_pin(const uint16_t *cpus, uint32_t count) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < count; i++)
        if (cpus[i] < CPU_SETSIZE)
            CPU_SET(cpus[i], &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? STATUS_OK : STATUS_INVALID_VALUE;
}
