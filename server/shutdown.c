/* shutdown.c: one thread that waits for signals, so that no code runs in a signal handler. It
 * lives until the process ends. */
#include "server/shutdown.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "engine/base/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t requested_changed = PTHREAD_COND_INITIALIZER;
static int requested; /* the signal; under the lock */
static enum shutdown_hangup at_hangup;

/* The next signal that asks for the end. */
static int wait_for_end(const sigset_t *signals) {
    for (;;) {
        int number;
        if (sigwait(signals, &number) != 0)
            continue;
        if (number != SIGHUP || at_hangup == SHUTDOWN_HANGUP_ENDS)
            return number;
        log_write(LOG_INFO, "SIGHUP is ignored: there is nothing to read again");
    }
}

static void *receive(void *context) {
    const int number = wait_for_end(context);
    pthread_mutex_lock(&lock);
    requested = number;
    pthread_cond_broadcast(&requested_changed);
    pthread_mutex_unlock(&lock);
    _exit(EXIT_STATUS_SIGNAL + wait_for_end(context));
}

enum status shutdown_start(enum shutdown_hangup hangup, struct error *err) {
    static sigset_t signals;
    pthread_t thread;
    pthread_attr_t attributes;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGQUIT);
    sigaddset(&signals, SIGHUP);
    at_hangup = hangup;
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
    return shutdown_signal() != 0;
}

int shutdown_signal(void) {
    pthread_mutex_lock(&lock);
    const int number = requested;
    pthread_mutex_unlock(&lock);
    return number;
}
