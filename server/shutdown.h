/* shutdown.h: SIGTERM, SIGINT and SIGQUIT as a request that the main thread can wait for. The first
 * one asks for an orderly end, the second one ends the process at once. */
#ifndef BERTD_SHUTDOWN_H
#define BERTD_SHUTDOWN_H

#include <stdbool.h>

#include "engine/base/status.h"

/* What SIGHUP does: ends like the others, or is logged and has nothing to reread. */
enum shutdown_hangup { SHUTDOWN_HANGUP_ENDS, SHUTDOWN_HANGUP_IGNORED };

/* A shell's way to say that a signal ended the program: this and the signal's number. */
enum { EXIT_STATUS_SIGNAL = 128 };

/* Blocks the signals in the calling thread and all that it starts later, and starts a thread
 * that receives them. SIGPIPE is ignored from here on. Call before any other thread starts; once
 * in a process. Error: INTERNAL. */
enum status shutdown_start(enum shutdown_hangup hangup, struct error *err);

/* Waits for the first signal. Any thread. */
void shutdown_wait(void);

/* Has the first signal come? */
bool shutdown_requested(void);

/* Its number; 0 before it. */
int shutdown_signal(void);

#endif
