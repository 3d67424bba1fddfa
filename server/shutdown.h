/* shutdown.h: SIGTERM and SIGINT as a request that the main thread can wait for. The first one
 * asks for an orderly end, the second one ends the process at once. */
#ifndef BERTD_SHUTDOWN_H
#define BERTD_SHUTDOWN_H

#include <stdbool.h>

#include "engine/base/status.h"

/* Blocks the two signals in the calling thread and all that it starts later, and starts a thread
 * that receives them. SIGPIPE is ignored from here on. Call before any other thread starts; once
 * in a process. Error: INTERNAL. */
enum status shutdown_start(struct error *err);

/* Waits for the first signal. Any thread. */
void shutdown_wait(void);

/* Has the first signal come? */
bool shutdown_requested(void);

#endif
