/* thread.h: a worker thread with a name that shows in debuggers and in /proc. */
#ifndef BERTD_BASE_THREAD_H
#define BERTD_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"

enum { THREAD_NAME_BYTES = 16 }; /* the kernel's limit, NUL included */

struct thread {
    pthread_t handle;
    void (*run)(void *context);
    void *context;
    char name[THREAD_NAME_BYTES];
    bool started;
};

/* Runs run(context) on a new thread with all signals blocked, so that signals go to the program's
 * own threads. The name is cut to fit. `thread` must stay where it is until thread_join().
 * Errors: NO_MEMORY (the system gives no more threads). */
enum status thread_start(struct thread *thread, const char *name, void (*run)(void *context),
                         void *context, struct error *err);

/* Waits for the end of the thread. Nothing happens when it was never started. */
void thread_join(struct thread *thread);

/* Restricts the calling thread to these CPU numbers. Error: INVALID_VALUE (none is usable). */
enum status thread_pin(const uint16_t *cpus, uint32_t count);

#endif
