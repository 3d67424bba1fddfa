/* test_pipeline.c: calls through batcher, stages and completion, over many plans, with parts that
 * take random times, and with deadlines, cancels and the end at random moments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/clock.h"
#include "tests/unit/flow/fake_flow.h"

static const struct plan_wishes plans[] = {
    {.stages = 1, .replicas = 1},
    {.stages = 2, .replicas = 1},
    {.stages = 3, .replicas = 1},
    {.stages = 4, .replicas = 1},
    {.stages = 1, .replicas = 3},
    {.stages = 2, .replicas = 2},
    {.stages = 2, .replicas = 1, .no_pipelining = true},
    {.stages = 4, .replicas = 2, .no_pipelining = true},
    {.layers_per_stage = "1,-1", .replicas = 1, .max_in_flight = 1},
    {.layers_per_stage = "1,1,2", .replicas = 1, .max_in_flight = 9},
    {.layers_per_stage = "0.3,2.6,-1", .replicas = 1},
    {.stages = 1, .replicas = 1, .stage_threads = 3},
    {.stages = 2, .replicas = 2, .stage_threads = 2},
};
enum { PLANS = sizeof plans / sizeof plans[0], CALLS = 150 };

static void assert_idle(struct fake_flow *flow) {
    assert_int_equal(atomic_load(&flow->wrong), 0);
    assert_int_equal(atomic_load(&flow->admission.calls_in_flight), 0);
    assert_int_equal(atomic_load(&flow->admission.queue_tokens), 0);
}

static void every_answer_belongs_to_its_request_under_every_plan(void **state) {
    (void)state;
    atomic_store(&fake_delay_us, 100);
    for (size_t p = 0; p < PLANS; p++) {
        struct fake_flow flow;
        struct call *calls[CALLS];
        fake_flow_open(&flow, &plans[p], UINT64_MAX);
        for (uint32_t i = 0; i < CALLS; i++)
            assert_int_equal(fake_flow_submit(&flow, i % 7, 1 + i % 5, i, 0, &calls[i]), STATUS_OK);
        fake_flow_wait(&flow, CALLS);
        assert_int_equal(atomic_load(&flow.outcomes[STATUS_OK]), CALLS);
        for (uint32_t i = 0; i < CALLS; i++)
            call_release(calls[i]);
        fake_flow_close(&flow);
        assert_idle(&flow);
    }
}

/* One call at a time, over replicas and over stages, until joiners have taken part in many runs. */
static void idle_cores_join_a_single_microbatch_and_change_no_answer(void **state) {
    (void)state;
    static const struct plan_wishes joining[] = {{.stages = 1, .replicas = 2},
                                                 {.stages = 2, .replicas = 1}};
    enum { JOINED = 50 };
    atomic_store(&fake_delay_us, 30);
    for (size_t p = 0; p < 2; p++) {
        struct fake_flow flow;
        struct team_times times = {0};
        int calls = 0;
        fake_flow_open(&flow, &joining[p], UINT64_MAX);
        for (; times.joined < JOINED && calls < 20 * JOINED; calls++) {
            struct call *call;
            const uint32_t seed = (uint32_t)calls;
            assert_int_equal(fake_flow_submit(&flow, 1, 1 + seed % 3, seed, 0, &call), STATUS_OK);
            fake_flow_wait(&flow, calls + 1);
            call_release(call);
            team_get_times(flow.pipeline->team, &times);
        }
        assert_true(times.joined >= JOINED && times.helped_ns > 0);
        assert_int_equal(atomic_load(&flow.outcomes[STATUS_OK]), calls);
        fake_flow_close(&flow);
        assert_idle(&flow);
    }
}

static void nobody_joins_without_pipelining_nor_into_a_lonely_stage(void **state) {
    (void)state;
    static const struct plan_wishes alone[] = {{.stages = 1, .replicas = 1},
                                               {.stages = 2, .replicas = 1, .no_pipelining = true}};
    atomic_store(&fake_delay_us, 30);
    for (size_t p = 0; p < 2; p++) {
        struct fake_flow flow;
        struct team_times times;
        fake_flow_open(&flow, &alone[p], UINT64_MAX);
        for (int i = 0; i < 20; i++) {
            struct call *call;
            assert_int_equal(fake_flow_submit(&flow, 1, 3, (uint32_t)i, 0, &call), STATUS_OK);
            fake_flow_wait(&flow, i + 1);
            call_release(call);
        }
        team_get_times(flow.pipeline->team, &times);
        assert_int_equal(times.joined + times.helped_ns, 0);
        fake_flow_close(&flow);
        assert_idle(&flow);
    }
}

static void cancels_and_deadlines_at_random_moments_lose_nothing(void **state) {
    (void)state;
    atomic_store(&fake_delay_us, 300);
    for (size_t p = 0; p < PLANS; p++) {
        struct fake_flow flow;
        struct call *calls[CALLS];
        uint32_t seed = (uint32_t)p + 1;
        fake_flow_open(&flow, &plans[p], UINT64_MAX);
        for (uint32_t i = 0; i < CALLS; i++) {
            seed = seed * 1103515245u + 12345u;
            uint64_t deadline =
                seed >> 30 == 0 ? clock_now_ns() + (seed >> 8) % (20 * NS_PER_MS) : 0;
            assert_int_equal(fake_flow_submit(&flow, i % 7, 1 + i % 5, i, deadline, &calls[i]),
                             STATUS_OK);
            struct error gone;
            error_set(&gone, STATUS_CANCELLED, "left");
            if (i > 10 && seed % 3 == 0) {
                nanosleep(&(struct timespec){.tv_nsec = (long)(seed >> 16)}, NULL);
                call_answer(calls[i - seed % 10], &gone);
            }
        }
        fake_flow_wait(&flow, CALLS);
        assert_int_equal(atomic_load(&flow.done), CALLS);
        /* The flow is whole afterwards. */
        struct call *after;
        assert_int_equal(fake_flow_submit(&flow, 1, 5, 9, 0, &after), STATUS_OK);
        fake_flow_wait(&flow, CALLS + 1);
        assert_int_equal(after->outcome.status, STATUS_OK);
        call_release(after);
        for (uint32_t i = 0; i < CALLS; i++)
            call_release(calls[i]);
        fake_flow_close(&flow);
        assert_int_equal(atomic_load(&flow.done), CALLS + 1);
        assert_idle(&flow);
    }
}

static void closing_in_mid_flight_answers_every_call_once(void **state) {
    (void)state;
    atomic_store(&fake_delay_us, 500);
    for (size_t p = 0; p < PLANS; p++) {
        struct fake_flow flow;
        struct call *calls[CALLS];
        fake_flow_open(&flow, &plans[p], UINT64_MAX);
        for (uint32_t i = 0; i < CALLS; i++)
            assert_int_equal(fake_flow_submit(&flow, i % 7, 1 + i % 5, i, 0, &calls[i]), STATUS_OK);
        nanosleep(&(struct timespec){.tv_nsec = (long)(2 * NS_PER_MS)}, NULL);
        fake_flow_close(&flow);
        assert_int_equal(atomic_load(&flow.done), CALLS);
        assert_true(atomic_load(&flow.outcomes[STATUS_DRAINING]) > 0);
        assert_idle(&flow);
        /* What callers hold stays readable. */
        for (uint32_t i = 0; i < CALLS; i++) {
            assert_true(call_is_answered(calls[i]));
            call_release(calls[i]);
        }
    }
}

static void a_deadline_is_kept_while_a_stage_is_busy(void **state) {
    (void)state;
    struct fake_flow flow;
    struct call *call;
    atomic_store(&fake_delay_us, 0);
    fake_flow_open(&flow, &plans[1], UINT64_MAX);
    atomic_store(&fake_gate_shut, true);
    uint64_t start = clock_now_ns();
    assert_int_equal(fake_flow_submit(&flow, 1, 3, 5, start + 30 * NS_PER_MS, &call), STATUS_OK);
    fake_flow_wait(&flow, 1);
    assert_int_equal(call->outcome.status, STATUS_DEADLINE);
    assert_true(call->answered_ns >= start + 30 * NS_PER_MS);
    assert_true(call->answered_ns < start + 2000 * NS_PER_MS);
    atomic_store(&fake_gate_shut, false);
    call_release(call);
    fake_flow_close(&flow);
    assert_idle(&flow);
}

static void overload_refuses_at_once_and_accepted_and_refused_add_up(void **state) {
    (void)state;
    struct fake_flow flow;
    struct call *call, *kept[CALLS];
    int accepted = 0, refused = 0;
    atomic_store(&fake_delay_us, 0);
    fake_flow_open(&flow, &plans[1], 500);
    atomic_store(&fake_gate_shut, true);
    size_t before = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        enum status status = fake_flow_submit(&flow, i, 1, i, 0, &call);
        if (status == STATUS_OK)
            kept[accepted++] = call;
        else
            refused++;
        assert_true(status == STATUS_OK || status == STATUS_QUEUE_FULL);
        assert_true(accepted < CALLS);
        /* One call may overshoot, by its own tokens. */
        assert_true(atomic_load(&flow.admission.queue_tokens) < 500 + FAKE_TOKENS_MAX);
        if (i == 500) /* time for stage 0 to take what it can before it stands at the gate */
            nanosleep(&(struct timespec){.tv_nsec = (long)(50 * NS_PER_MS)}, NULL);
        if (i == 1000)
            before = mallinfo2().uordblks;
    }
    assert_true(refused > 1000);
    assert_int_equal(accepted + refused, 2000);
    assert_int_equal(mallinfo2().uordblks, before);
    atomic_store(&fake_gate_shut, false);
    fake_flow_wait(&flow, accepted);
    assert_int_equal(atomic_load(&flow.outcomes[STATUS_OK]), accepted);
    for (int i = 0; i < accepted; i++)
        call_release(kept[i]);
    /* Full service after it. */
    assert_int_equal(fake_flow_submit(&flow, 1, 1, 1, 0, &call), STATUS_OK);
    fake_flow_wait(&flow, accepted + 1);
    call_release(call);
    fake_flow_close(&flow);
    assert_idle(&flow);
}

static void a_draining_flow_takes_nothing_and_finishes_what_it_has(void **state) {
    (void)state;
    struct fake_flow flow;
    struct call *calls[20], *late;
    atomic_store(&fake_delay_us, 200);
    fake_flow_open(&flow, &plans[5], UINT64_MAX);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(fake_flow_submit(&flow, i, 2, i, 0, &calls[i]), STATUS_OK);
    admission_drain(&flow.admission);
    assert_int_equal(fake_flow_submit(&flow, 1, 1, 1, 0, &late), STATUS_DRAINING);
    admission_wait(&flow.admission);
    assert_int_equal(atomic_load(&flow.outcomes[STATUS_OK]), 20);
    for (uint32_t i = 0; i < 20; i++)
        call_release(calls[i]);
    fake_flow_close(&flow);
    assert_idle(&flow);
}

static void stage_times_add_up_to_the_time_that_passed(void **state) {
    (void)state;
    struct fake_flow flow;
    struct call *call;
    atomic_store(&fake_delay_us, 200);
    fake_flow_open(&flow, &plans[1], UINT64_MAX);
    struct stage_times first[3], last[3];
    for (uint32_t i = 0; i < 3; i++)
        stage_get_times(&flow.pipeline->stages[i], &first[i]);
    uint64_t start = clock_now_ns();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fake_flow_submit(&flow, 1, 10, 3, 0, &call), STATUS_OK);
        call_release(call);
    }
    fake_flow_wait(&flow, 20);
    uint64_t passed = clock_now_ns() - start;
    for (uint32_t i = 0; i < 3; i++) {
        stage_get_times(&flow.pipeline->stages[i], &last[i]);
        uint64_t sum = 0;
        for (int s = 0; s < STAGE_STATES; s++)
            sum += last[i].ns[s] - first[i].ns[s];
        assert_true(sum >= passed && sum < passed + 500 * NS_PER_MS);
        assert_true(last[i].ns[STAGE_BUSY] > first[i].ns[STAGE_BUSY]);
        assert_true(last[i].microbatches >= 20);
    }
    fake_flow_close(&flow);
    assert_idle(&flow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_belongs_to_its_request_under_every_plan),
        cmocka_unit_test(idle_cores_join_a_single_microbatch_and_change_no_answer),
        cmocka_unit_test(nobody_joins_without_pipelining_nor_into_a_lonely_stage),
        cmocka_unit_test(cancels_and_deadlines_at_random_moments_lose_nothing),
        cmocka_unit_test(closing_in_mid_flight_answers_every_call_once),
        cmocka_unit_test(a_deadline_is_kept_while_a_stage_is_busy),
        cmocka_unit_test(overload_refuses_at_once_and_accepted_and_refused_add_up),
        cmocka_unit_test(a_draining_flow_takes_nothing_and_finishes_what_it_has),
        cmocka_unit_test(stage_times_add_up_to_the_time_that_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
