/* watchdog.h: notices a stage that makes no progress, says so, and ends the calls it holds up.
 *
 * A stage is stuck when it has been busy with one microbatch for the timeout without finishing one
 * part of the model. Its replica then takes nothing new, and every call that has a request in that
 * replica ends with STAGE_STUCK; other replicas go on. When all replicas are stuck, all calls end
 * so and admission refuses new ones. A stage that moves again is taken back.
 *
 * One thread; it looks several times in each timeout, and counts only time in which it ran itself,
 * so that a process that was stopped as a whole is not mistaken for a stuck stage. */
#ifndef BERTD_FLOW_WATCHDOG_H
#define BERTD_FLOW_WATCHDOG_H

#include <stdint.h>

#include "engine/base/status.h"
#include "engine/flow/admission.h"
#include "engine/flow/deadlines.h"
#include "engine/flow/pipeline.h"

struct watchdog;

/* Starts the thread. What is given must outlive the watchdog. Error: NO_MEMORY. */
enum status watchdog_open(struct pipeline *pipeline, struct deadlines *deadlines,
                          struct admission *admission, uint64_t timeout_ns, struct watchdog **out,
                          struct error *err);

/* Joins the thread. NULL is allowed. */
void watchdog_close(struct watchdog *watchdog);

/* A stage that is stuck now, "stage 1 of replica 0 makes no progress", or NULL. The text lives as
 * long as the watchdog. Any thread. */
const char *watchdog_get_stuck(const struct watchdog *watchdog);

#endif
