/* test_watchdog.c: a stage that hangs is named, its calls end, others go on, and it is taken back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/log.h"
#include "engine/flow/watchdog.h"
#include "tests/unit/flow/fake_flow.h"

enum { HUNG = 7, TIMEOUT_MS = 80, PATIENCE_MS = 20000 };

static struct watchdog *watch(struct fake_flow *flow) {
    struct watchdog *watchdog;
    assert_int_equal(watchdog_open(flow->pipeline, flow->deadlines, &flow->admission,
                                   TIMEOUT_MS * NS_PER_MS, &watchdog, NULL),
                     STATUS_OK);
    return watchdog;
}

static void wait_for_stuck(const struct watchdog *watchdog, bool stuck) {
    for (int i = 0; i < PATIENCE_MS && (watchdog_get_stuck(watchdog) != NULL) != stuck; i++)
        nap_us(1000);
    assert_int_equal(watchdog_get_stuck(watchdog) != NULL, stuck);
}

/* Submits one row of `client` and waits for its outcome. */
static enum status outcome_of(struct fake_flow *flow, uint64_t client) {
    struct call *call;
    int before = atomic_load(&flow->done);
    enum status status = fake_flow_submit(flow, client, 1, (uint32_t)client, 0, &call);
    if (status != STATUS_OK)
        return status;
    fake_flow_wait(flow, before + 1);
    status = call->outcome.status;
    call_release(call);
    return status;
}

static void setup(struct fake_flow *flow, const struct plan_wishes *wishes) {
    log_init(LOG_ERROR, LOG_FORMAT_TEXT);
    atomic_store(&fake_delay_us, 0);
    atomic_store(&fake_hung_client, HUNG);
    fake_flow_open(flow, wishes, UINT64_MAX);
}

static void the_calls_of_a_stuck_replica_end_and_the_other_replica_goes_on(void **state) {
    (void)state;
    struct fake_flow flow;
    struct call *hung;
    setup(&flow, &(struct plan_wishes){.stages = 2, .replicas = 2});
    struct watchdog *watchdog = watch(&flow);
    uint64_t start = clock_now_ns();
    assert_int_equal(fake_flow_submit(&flow, HUNG, 1, 1, 0, &hung), STATUS_OK);
    fake_flow_wait(&flow, 1);
    assert_int_equal(hung->outcome.status, STATUS_STAGE_STUCK);
    assert_true(clock_now_ns() - start >= TIMEOUT_MS * NS_PER_MS);
    assert_non_null(strstr(hung->outcome.message, "stage 0 of replica "));
    call_release(hung);
    wait_for_stuck(watchdog, true);
    /* What the stuck replica took before it was found out may still end so; not for long. */
    enum status status = STATUS_STAGE_STUCK;
    for (int i = 0; i < 4 && status == STATUS_STAGE_STUCK; i++)
        status = outcome_of(&flow, 1);
    for (uint64_t client = 1; client < 50; client++)
        assert_int_equal(outcome_of(&flow, client == HUNG ? 1 : client), STATUS_OK);
    atomic_store(&fake_hung_client, 0);
    wait_for_stuck(watchdog, false);
    for (uint64_t client = 1; client < 50; client++)
        assert_int_equal(outcome_of(&flow, client), STATUS_OK);
    watchdog_close(watchdog);
    fake_flow_close(&flow);
    assert_int_equal(atomic_load(&flow.wrong), 0);
}

static void without_another_replica_new_calls_are_refused_until_it_moves(void **state) {
    (void)state;
    struct fake_flow flow;
    struct call *calls[20];
    setup(&flow, &(struct plan_wishes){.stages = 3, .replicas = 1});
    struct watchdog *watchdog = watch(&flow);
    assert_int_equal(fake_flow_submit(&flow, HUNG, 1, 1, 0, &calls[0]), STATUS_OK);
    nap_us(5000); /* those that follow wait behind it */
    for (uint32_t i = 1; i < 20; i++)
        assert_int_equal(fake_flow_submit(&flow, i, 1, i, 0, &calls[i]), STATUS_OK);
    fake_flow_wait(&flow, 20);
    assert_true(atomic_load(&flow.outcomes[STATUS_STAGE_STUCK]) > 0);
    for (uint32_t i = 0; i < 20; i++)
        call_release(calls[i]);
    wait_for_stuck(watchdog, true);
    assert_int_equal(outcome_of(&flow, 1), STATUS_STAGE_STUCK);
    atomic_store(&fake_hung_client, 0);
    wait_for_stuck(watchdog, false);
    assert_int_equal(outcome_of(&flow, 1), STATUS_OK);
    watchdog_close(watchdog);
    fake_flow_close(&flow);
    assert_int_equal(atomic_load(&flow.wrong), 0);
    assert_int_equal(atomic_load(&flow.admission.calls_in_flight), 0);
}

static void a_stage_that_is_slow_but_finishes_parts_is_not_stuck(void **state) {
    (void)state;
    struct fake_flow flow;
    struct call *call;
    setup(&flow, &(struct plan_wishes){.stages = 1, .replicas = 1});
    struct watchdog *watchdog = watch(&flow);
    atomic_store(&fake_delay_us, TIMEOUT_MS * 1000 / 2); /* each of 14 parts, at most */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(fake_flow_submit(&flow, 1, 1, i, 0, &call), STATUS_OK);
        call_release(call);
    }
    while (atomic_load(&flow.done) < 3) {
        assert_null(watchdog_get_stuck(watchdog));
        nap_us(1000);
    }
    assert_int_equal(atomic_load(&flow.good), 3);
    watchdog_close(watchdog);
    fake_flow_close(&flow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calls_of_a_stuck_replica_end_and_the_other_replica_goes_on),
        cmocka_unit_test(without_another_replica_new_calls_are_refused_until_it_moves),
        cmocka_unit_test(a_stage_that_is_slow_but_finishes_parts_is_not_stuck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
