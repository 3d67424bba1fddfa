/* team_run.c: the rounds of a run. All state is in two words: the door and the turn. */
#include "engine/flow/team_run.h"

#include "engine/base/futex.h"

/* Looks before a sleep, 10 to 20 microseconds: shares of one round mostly end within that. */
enum { TEAM_SPINS = 400 };

#define TEAM_OPEN 0x80000000u

void team_run_open(struct team_run *run) {
    atomic_store_explicit(&run->turn, 0, memory_order_relaxed);
    atomic_store_explicit(&run->finished, 0, memory_order_relaxed);
    atomic_store_explicit(&run->door, TEAM_OPEN, memory_order_release);
}

void team_run_close(struct team_run *run) {
    uint32_t inside = atomic_fetch_and(&run->door, ~TEAM_OPEN) & ~TEAM_OPEN;
    for (uint32_t looks = 0; inside > 0; looks++) {
        if (looks < TEAM_SPINS)
            futex_pause();
        else
            futex_wait(&run->door, inside);
        inside = atomic_load(&run->door);
    }
}

bool team_run_join(struct team_run *run) {
    uint32_t door = atomic_load(&run->door);
    while ((door & TEAM_OPEN) && (door & ~TEAM_OPEN) + 1 < run->members)
        if (atomic_compare_exchange_weak(&run->door, &door, door + 1))
            return true;
    return false;
}

void team_run_leave(struct team_run *run) {
    if (atomic_fetch_sub(&run->door, 1) == 1) /* shut, and the last one is out */
        futex_wake(&run->door);
}

static void turn_wait(struct team_run *run, uint32_t turn) {
    atomic_fetch_add(&run->sleepers, 1);
    futex_wait(&run->turn, turn);
    atomic_fetch_sub(&run->sleepers, 1);
}

bool team_claim(struct team_seat *seat, uint32_t round, uint32_t shares, uint32_t *share) {
    struct team_run *run = seat->run;
    for (uint32_t looks = 0; !seat->left;) {
        uint32_t turn = atomic_load(&run->turn), claimed = turn % TEAM_SHARES_MAX;
        if (turn / TEAM_SHARES_MAX != round)
            return false;
        if (claimed == shares) {
            if (looks++ < TEAM_SPINS)
                futex_pause();
            else
                turn_wait(run, turn);
        } else if (seat->leaves && seat->leaves(seat->context)) {
            seat->left = true;
        } else if (atomic_compare_exchange_weak(&run->turn, &turn, turn + 1)) {
            *share = claimed;
            return true;
        }
    }
    return false;
}

void team_done(struct team_seat *seat, uint32_t round, uint32_t shares) {
    struct team_run *run = seat->run;
    if (atomic_fetch_add(&run->finished, 1) + 1 < shares)
        return;
    atomic_store(&run->finished, 0);
    atomic_store(&run->turn, (round + 1) * TEAM_SHARES_MAX);
    if (atomic_load(&run->sleepers) > 0)
        futex_wake(&run->turn);
}
