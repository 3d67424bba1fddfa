/* team_run.h: one stage's run over one microbatch, shared out among several threads.
 *
 * The owner is the stage's thread; helpers may join at any time while the door is open and leave
 * between two shares. Everybody walks through the same rounds. Of each round, shares are claimed
 * one by one, and nobody enters the next round before all shares of this one are done: what a
 * round has written, the next may read. So an owner whom nobody joins does all shares itself, and
 * waits only for shares that a helper has begun.
 *
 * What is shared out (rows of a microbatch) and in how many shares is up to the function that runs
 * the parts; it must come to the same numbers on each thread. No allocation, no lock: waiting is a
 * short spin, then a sleep. */
#ifndef BERTD_FLOW_TEAM_RUN_H
#define BERTD_FLOW_TEAM_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/flow/microbatch.h"

enum { TEAM_ROUNDS_MAX = 1 << 16, TEAM_SHARES_MAX = 1 << 16 };

struct team_run {
    /* Set by the owner before the door opens, then only read. */
    uint32_t first_part, parts_count;
    uint32_t members; /* owner and helpers that may come; shares are made for so many */
    void *scratch;    /* the owner's: what all members share lies there */
    struct microbatch *microbatch;

    atomic_uint door;     /* TEAM_OPEN and the number of helpers inside */
    atomic_uint turn;     /* round * TEAM_SHARES_MAX + shares of it that are claimed */
    atomic_uint finished; /* shares of the round that are done */
    atomic_uint sleepers; /* members that sleep until the turn changes */
};

/* One member's place in a run. */
struct team_seat {
    struct team_run *run;
    /* Of a helper: whether it is wanted elsewhere. It is asked before each share. */
    bool (*leaves)(void *context);
    void *context;
    bool left;
};

/* Owner: opens the door. The fields above are set, and nobody is inside. */
void team_run_open(struct team_run *run);

/* Owner, after the last round: nobody comes in any more; waits until all helpers are out. */
void team_run_close(struct team_run *run);

/* Helper: false when the door is shut or all seats are taken. After true the helper must run the
 * parts, with its own scratch and a seat of this run, and then leave. */
bool team_run_join(struct team_run *run);
void team_run_leave(struct team_run *run);

/* Claims a share of a round that has 1..TEAM_SHARES_MAX-1 of them; true: compute it, then
 * team_done(). False: all shares of the round are done, or this helper has left. Rounds count from
 * 0 to TEAM_ROUNDS_MAX-1; each member takes them in order. */
bool team_claim(struct team_seat *seat, uint32_t round, uint32_t shares, uint32_t *share);
void team_done(struct team_seat *seat, uint32_t round, uint32_t shares);

#endif
