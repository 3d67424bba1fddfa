/* test_call.c: the block of a call, its one answer among many that want to give it, its deadline.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/thread.h"
#include "engine/flow/call.h"
#include "engine/flow/deadlines.h"

static atomic_int left, done, gone;

static void on_leave(struct call *call, void *owner) {
    (void)call;
    (void)owner;
    atomic_fetch_add(&left, 1);
}

static void on_leave_deadlines(struct call *call, void *owner) {
    deadlines_remove(owner, call);
    atomic_fetch_add(&left, 1);
}

static void on_done(struct call *call, void *context) {
    (void)call;
    (void)context;
    atomic_fetch_add(&done, 1);
}

static void on_gone(void *owner) {
    (void)owner;
    atomic_fetch_add(&gone, 1);
}

static struct call *call_make(void *owner, void (*leave)(struct call *, void *)) {
    const struct call_needs needs = {.inputs_count = 3,
                                     .requests_max = 5,
                                     .texts_bytes = 100,
                                     .tokens_room = 10,
                                     .outputs_width = 7,
                                     .given_ids = 4,
                                     .settings_bytes = 9};
    struct call *call;
    assert_int_equal(call_open(&needs, &call), STATUS_OK);
    call->leave = leave;
    call->gone = on_gone;
    call->done = on_done;
    call->owner = owner;
    return call;
}

static int counters_reset(void **state) {
    (void)state;
    atomic_store(&left, 0);
    atomic_store(&done, 0);
    atomic_store(&gone, 0);
    return 0;
}

static void the_pieces_of_the_block_do_not_overlap(void **state) {
    (void)state;
    struct call *call = call_make(NULL, on_leave);
    uint64_t offset;
    memset(call->texts, 1, 100);
    memset(call->settings, 2, 9);
    for (int i = 0; i < 4; i++)
        call->given_ids[i] = -1;
    for (int i = 0; i < 10; i++) {
        call->ids[i] = -2;
        call->type_ids[i] = 3;
    }
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 7; k++)
            call->requests[i].outputs[k] = (float)i;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 7; k++)
            call->inputs[i].scores[k] = (float)-i;
    for (int i = 0; i < 5; i++) {
        assert_ptr_equal(call->requests[i].call, call);
        assert_ptr_equal(call->requests[i].item.owner, call);
        assert_true(call->requests[i].outputs[0] == (float)i);
        assert_true(call->requests[i].outputs[6] == (float)i);
    }
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(call->inputs[i].call, call);
        assert_true(call->inputs[i].scores[0] == (float)-i);
    }
    assert_int_equal(call->given_ids[3], -1);
    assert_int_equal(call->ids[9], -2);
    assert_int_equal(call->texts[99], 1);
    assert_true(call_take_tokens(call, 4, &offset));
    assert_int_equal(offset, 0);
    assert_true(call_take_tokens(call, 6, &offset));
    assert_int_equal(offset, 4);
    assert_false(call_take_tokens(call, 1, &offset));
    call_release(call);
    call_release(call);
    call_release(NULL);
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    struct call *call;
    struct call_needs needs = {.inputs_count = 1, .requests_max = UINT64_MAX / 2};
    assert_int_equal(call_open(&needs, &call), STATUS_NO_MEMORY);
    assert_null(call);
    needs = (struct call_needs){
        .inputs_count = 1, .requests_max = 1ULL << 40, .outputs_width = UINT32_MAX};
    assert_int_equal(call_open(&needs, &call), STATUS_NO_MEMORY);
    needs = (struct call_needs){.inputs_count = 1, .texts_bytes = UINT64_MAX - 8};
    assert_int_equal(call_open(&needs, &call), STATUS_NO_MEMORY);
    needs = (struct call_needs){.inputs_count = 1, .tokens_room = 1ULL << 62};
    assert_int_equal(call_open(&needs, &call), STATUS_NO_MEMORY);
}

struct racer {
    struct thread thread;
    struct call **calls;
    enum status status;
    int answered; /* with its own status */
};
enum { RACERS = 4, RACES = 300 };

static void racer_run(void *context) {
    struct racer *racer = context;
    struct error err;
    error_set(&err, racer->status, "by %d", (int)racer->status);
    for (int i = 0; i < RACES; i++) {
        if (call_answer(racer->calls[i], racer->status == STATUS_OK ? NULL : &err) &&
            racer->calls[i]->outcome.status == racer->status)
            racer->answered++;
        call_release(racer->calls[i]);
    }
}

static void of_many_that_answer_one_does(void **state) {
    (void)state;
    static const enum status statuses[RACERS] = {STATUS_OK, STATUS_CANCELLED, STATUS_DEADLINE,
                                                 STATUS_DRAINING};
    struct call *calls[RACES];
    struct racer racers[RACERS];
    for (int i = 0; i < RACES; i++) {
        calls[i] = call_make(NULL, on_leave);
        for (int r = 0; r < RACERS; r++)
            call_retain(calls[i]);
    }
    for (int r = 0; r < RACERS; r++) {
        racers[r] = (struct racer){.calls = calls, .status = statuses[r]};
        assert_int_equal(thread_start(&racers[r].thread, "racer", racer_run, &racers[r], NULL),
                         STATUS_OK);
    }
    int answered = 0;
    for (int r = 0; r < RACERS; r++) {
        thread_join(&racers[r].thread);
        answered += racers[r].answered;
    }
    assert_int_equal(answered, RACES);
    assert_int_equal(left, RACES);
    assert_int_equal(done, RACES);
    assert_int_equal(gone, RACES);
    for (int i = 0; i < RACES; i++) {
        assert_true(call_is_answered(calls[i]));
        assert_int_equal(atomic_load(&calls[i]->references), 1);
        call_release(calls[i]);
    }
}

static void deadlines_fire_in_their_order_whatever_order_they_came_in(void **state) {
    (void)state;
    enum { CALLS = 8 };
    struct deadlines *deadlines;
    struct call *calls[CALLS];
    static const uint32_t after_ms[CALLS] = {70, 10, 50, 30, 0, 60, 20, 40};
    uint64_t start = clock_now_ns();
    assert_int_equal(deadlines_open(CALLS, &deadlines, NULL), STATUS_OK);
    for (int i = 0; i < CALLS; i++) {
        calls[i] = call_make(deadlines, on_leave_deadlines);
        calls[i]->deadline_ns = start + after_ms[i] * NS_PER_MS;
        if (after_ms[i] == 60)
            calls[i]->deadline_ns = UINT64_MAX;
        assert_int_equal(deadlines_add(deadlines, calls[i]), STATUS_OK);
    }
    /* One leaves early, one has no deadline. */
    assert_true(call_answer(calls[2], NULL));
    while (atomic_load(&done) < CALLS - 1)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (int i = 0; i < CALLS; i++) {
        if (i == 2 || i == 5)
            continue;
        assert_int_equal(calls[i]->outcome.status, STATUS_DEADLINE);
        assert_true(calls[i]->answered_ns >= calls[i]->deadline_ns);
        for (int k = 0; k < CALLS; k++)
            if (k != 2 && k != 5 && after_ms[k] < after_ms[i])
                assert_true(calls[k]->answered_ns <= calls[i]->answered_ns);
    }
    assert_false(call_is_answered(calls[5]));
    struct error draining;
    error_set(&draining, STATUS_DRAINING, "the end");
    deadlines_answer_all(deadlines, &draining);
    assert_int_equal(calls[5]->outcome.status, STATUS_DRAINING);
    assert_int_equal(deadlines_add(deadlines, calls[5]), STATUS_CANCELLED);
    deadlines_close(deadlines);
    for (int i = 0; i < CALLS; i++)
        call_release(calls[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_pieces_of_the_block_do_not_overlap, counters_reset),
        cmocka_unit_test_setup(sizes_that_overflow_are_refused, counters_reset),
        cmocka_unit_test_setup(of_many_that_answer_one_does, counters_reset),
        cmocka_unit_test_setup(deadlines_fire_in_their_order_whatever_order_they_came_in,
                               counters_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
