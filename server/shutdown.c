/* shutdown.c: one thread that waits for signals, so that no code runs in a signal handler. It
 * lives until the process ends. */
#include "server/shutdown.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t requested_changed = PTHREAD_COND_INITIALIZER;
static bool requested; /* under the lock */

/* A shell's way to say that a signal ended the program. */
enum { EXIT_STATUS_SIGNAL = 128 };

static void *receive(void *context) {
    sigset_t *signals = context;
    int number;
    while (sigwait(signals, &number) != 0)
        ;
    pthread_mutex_lock(&lock);
    requested = true;
    pthread_cond_broadcast(&requested_changed);
    pthread_mutex_unlock(&lock);
    while (sigwait(signals, &number) != 0)
        ;
    _exit(EXIT_STATUS_SIGNAL + number);
}

enum status shutdown_start(struct error *err) {
    static sigset_t signals;
    pthread_t thread;
    pthread_attr_t attributes;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool started = pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0 &&
                   pthread_create(&thread, &attributes, receive, &signals) == 0;
    pthread_attr_destroy(&attributes);
    if (!started)
        return error_set(err, STATUS_INTERNAL, "the signal thread could not be started");
    return STATUS_OK;
}

void shutdown_wait(void) {
    pthread_mutex_lock(&lock);
    while (!requested)
        pthread_cond_wait(&requested_changed, &lock);
    pthread_mutex_unlock(&lock);
}

bool shutdown_requested(void) {
    pthread_mutex_lock(&lock);
    bool is_requested = requested;
    pthread_mutex_unlock(&lock);
    return is_requested;
}
