/* test_team_run.c: shares of a run's rounds: each is computed once, round after round, whoever
 * comes, leaves or stays away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "engine/flow/team_run.h"

enum { ROUNDS = 200, SHARES = 7, HELPERS = 3 };

/* The number of each share and round counts how often it was computed; a share reads what its
 * neighbour left in the round before. No atomics here: the rounds must order the threads. */
struct board {
    struct team_run run;
    atomic_uint came;
    uint32_t numbers[2][SHARES];
};

static void walk(struct board *board, struct team_seat *seat) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t shares = 1 + round % SHARES;
        uint32_t *to = board->numbers[round % 2];
        const uint32_t *from = board->numbers[(round + 1) % 2];
        for (uint32_t share; team_claim(seat, round, shares, &share);
             team_done(seat, round, shares)) {
            to[share] = from[share > 0 ? share - 1 : 0] + 1;
            if (share + 1 == shares) /* those that this round has no share of */
                for (uint32_t rest = shares; rest < SHARES; rest++)
                    to[rest] = from[rest] + 1;
        }
    }
}

struct helper {
    struct board *board;
    uint32_t asked, leaves_at; /* 0: stays to the end */
};

static bool helper_leaves(void *context) {
    struct helper *helper = context;
    return ++helper->asked == helper->leaves_at;
}

static void *helper_main(void *context) {
    struct helper *helper = context;
    struct team_run *run = &helper->board->run;
    if (team_run_join(run)) {
        atomic_fetch_add(&helper->board->came, 1);
        struct team_seat seat = {.run = run, .leaves = helper_leaves, .context = helper};
        walk(helper->board, &seat);
        team_run_leave(run);
    }
    return NULL;
}

static void board_check(struct board *board, uint32_t leaves_at) {
    pthread_t threads[HELPERS];
    struct helper helpers[HELPERS];
    memset(board->numbers, 0, sizeof board->numbers);
    atomic_store(&board->came, 0);
    team_run_open(&board->run);
    for (uint32_t h = 0; h < HELPERS; h++) {
        helpers[h] = (struct helper){.board = board, .leaves_at = leaves_at * (h + 1)};
        assert_int_equal(pthread_create(&threads[h], NULL, helper_main, &helpers[h]), 0);
    }
    while (atomic_load(&board->came) + 1 < board->run.members)
        sched_yield();
    struct team_seat seat = {.run = &board->run};
    walk(board, &seat);
    team_run_close(&board->run);
    for (uint32_t share = 0; share < SHARES; share++)
        assert_int_equal(board->numbers[(ROUNDS - 1) % 2][share], ROUNDS);
    for (int h = 0; h < HELPERS; h++)
        pthread_join(threads[h], NULL);
}

static void every_share_is_computed_once_and_rounds_do_not_overlap(void **state) {
    (void)state;
    for (uint32_t members = 1; members <= HELPERS + 1; members++)
        for (int i = 0; i < 10; i++) {
            struct board board = {.run.members = members};
            board_check(&board, 0);
        }
}

static void helpers_may_leave_between_two_shares(void **state) {
    (void)state;
    for (uint32_t leaves_at = 1; leaves_at < 30; leaves_at += 3) {
        struct board board = {.run.members = HELPERS + 1};
        board_check(&board, leaves_at);
    }
}

static void a_run_can_be_opened_again(void **state) {
    (void)state;
    struct board board = {.run.members = HELPERS + 1};
    for (int i = 0; i < 20; i++)
        board_check(&board, 0);
}

static void nobody_joins_a_run_that_is_shut_or_full(void **state) {
    (void)state;
    struct team_run run = {.members = 3};
    assert_false(team_run_join(&run));
    team_run_open(&run);
    assert_true(team_run_join(&run));
    assert_true(team_run_join(&run));
    assert_false(team_run_join(&run));
    team_run_leave(&run);
    assert_true(team_run_join(&run));
    team_run_leave(&run);
    team_run_leave(&run);
    team_run_close(&run);
    assert_false(team_run_join(&run));
}

static void a_helper_that_left_claims_nothing_more(void **state) {
    (void)state;
    struct team_run run = {.members = 2};
    struct helper helper = {.leaves_at = 1};
    uint32_t share;
    team_run_open(&run);
    assert_true(team_run_join(&run));
    struct team_seat seat = {.run = &run, .leaves = helper_leaves, .context = &helper};
    assert_false(team_claim(&seat, 0, 2, &share));
    assert_true(seat.left);
    assert_false(team_claim(&seat, 0, 2, &share));
    assert_int_equal(helper.asked, 1);
    team_run_leave(&run);
    team_run_close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_share_is_computed_once_and_rounds_do_not_overlap),
        cmocka_unit_test(helpers_may_leave_between_two_shares),
        cmocka_unit_test(a_run_can_be_opened_again),
        cmocka_unit_test(nobody_joins_a_run_that_is_shut_or_full),
        cmocka_unit_test(a_helper_that_left_claims_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
