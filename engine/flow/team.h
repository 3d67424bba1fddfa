/* team.h: the threads that help stages: teams and joiners.
 *
 * With --stage-threads N each stage has N - 1 helpers of its own, which share out every run of it.
 * Besides, while a microbatch is alone in the engine, with nobody waiting, the cores of the stages
 * that are idle join in: for each core a stage may run on there is a joiner, a thread that sleeps
 * until such a run begins. A joiner goes back to sleep at the end of the share in its hands as soon
 * as a second microbatch is there; the stages themselves are never held up, they only share a core
 * with that share till then. So an idle machine answers a single request sooner, and a busy one
 * works as if there were no joiners.
 *
 * Helpers are pinned like the stage they belong to or stand in for, and join only stages that read
 * the memory of the same NUMA node. Nobody joins without pipelining, where parts are to run one
 * after the other. Sleeping is by futex; nothing is allocated after the start. */
#ifndef BERTD_FLOW_TEAM_H
#define BERTD_FLOW_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/flow/microbatch.h"

/* Measured: a run of fewer rows is not shared out, the wake-up would eat what it brings; and a
 * member with fewer rows than that brings little. */
enum { TEAM_ROWS_MIN = 8, TEAM_MEMBER_ROWS_MIN = 4 };

struct pipeline_options;
struct team;

/* Starts the helpers that the plan wants; returns when they sleep. `options` must outlive the
 * team. Errors: NO_MEMORY, or what scratch_open() says. */
enum status team_open(const struct pipeline_options *options, struct team **out, struct error *err);

/* No stage may run. NULL is allowed. */
void team_close(struct team *team);

/* A microbatch with requests enters or leaves the pipeline. */
void team_count_in(struct team *team);
void team_count_out(struct team *team);

/* Runs the stage's parts on the microbatch, with whoever helps. On the stage's thread. */
void team_run_stage(struct team *team, uint32_t replica, uint32_t stage, void *scratch,
                    struct microbatch *microbatch);

struct team_times {
    uint64_t joined;    /* runs that a joiner took part in */
    uint64_t helped_ns; /* what helpers of both kinds spent in runs, summed */
};
void team_get_times(struct team *team, struct team_times *out);

#endif
