/* test_batcher.c: what a microbatch is filled with, and the accounting of tokens that wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "engine/base/thread.h"
#include "engine/flow/batcher.h"
#include "engine/flow/rate.h"

enum { ROWS_MAX = 8, TOKENS_MAX = 512 };

struct bench {
    struct admission admission;
    struct batcher batcher;
    struct microbatch *microbatch;
};

static void bench_open(struct bench *bench, uint32_t budget, uint32_t parts) {
    const struct microbatch_room room = {TOKENS_MAX, ROWS_MAX, 1, 0, 1};
    admission_init(&bench->admission, 10000, 16);
    assert_int_equal(batcher_init(&bench->batcher, &bench->admission, 16, ROWS_MAX, budget, parts),
                     STATUS_OK);
    assert_int_equal(microbatch_open(&room, MEMORY_NODE_ANY, &bench->microbatch), STATUS_OK);
}

static void bench_close(struct bench *bench) {
    microbatch_free(bench->microbatch);
    batcher_free(&bench->batcher);
    admission_free(&bench->admission);
}

/* A call of `count` requests of `tokens` tokens, whose ids all are `id`; queued. */
static struct call *call_queue(struct bench *bench, uint64_t client, uint32_t count,
                               uint32_t tokens, int32_t id) {
    const struct call_needs needs = {.inputs_count = count,
                                     .requests_max = count,
                                     .tokens_room = (uint64_t)count * tokens,
                                     .outputs_width = 1};
    struct call *call;
    assert_int_equal(call_open(&needs, &call), STATUS_OK);
    for (uint32_t i = 0; i < count; i++) {
        struct request *request = &call->requests[i];
        uint64_t offset;
        assert_true(call_take_tokens(call, tokens, &offset));
        for (uint32_t t = 0; t < tokens; t++) {
            call->ids[offset + t] = id;
            call->type_ids[offset + t] = (uint8_t)(t % 2);
        }
        request->ids = call->ids + offset;
        request->type_ids = call->type_ids + offset;
        request->tokens = request->item.weight = tokens;
        fair_flow_append(&call->requests_flow, &request->item);
    }
    call->client = client;
    assert_int_equal(admission_enter(&bench->admission, (uint64_t)count * tokens, &call->reserved),
                     STATUS_OK);
    assert_int_equal(batcher_add(&bench->batcher, call), STATUS_OK);
    return call;
}

/* Gives up the requests of the microbatch, as completion does. */
static void microbatch_drop(struct bench *bench) {
    for (uint32_t row = 0; row < bench->microbatch->rows; row++)
        call_release(bench->microbatch->requests[row]->call);
}

static void call_free(struct bench *bench, struct call *call) {
    admission_leave(&bench->admission, &call->reserved);
    admission_gone(&bench->admission);
    call_release(call);
    call_release(call);
}

static void rows_are_packed_end_to_end_up_to_the_budget(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 100, 1);
    struct call *call = call_queue(&bench, 1, 3, 40, 9);
    const struct microbatch *microbatch = bench.microbatch;
    assert_true(batcher_take(&bench.batcher, bench.microbatch));
    assert_int_equal(microbatch->rows, 2);
    assert_int_equal(microbatch->tokens, 80);
    assert_int_equal(microbatch->starts[0], 0);
    assert_int_equal(microbatch->starts[1], 40);
    assert_int_equal(microbatch->starts[2], 80);
    for (int i = 0; i < 80; i++) {
        assert_int_equal(microbatch->ids[i], 9);
        assert_int_equal(microbatch->type_ids[i], i % 40 % 2);
    }
    assert_ptr_equal(microbatch->requests[1], &call->requests[1]);
    assert_int_equal(atomic_load(&bench.admission.queue_tokens), 40);
    microbatch_drop(&bench);
    /* What is left goes at once, however little it is. */
    assert_true(batcher_take(&bench.batcher, bench.microbatch));
    assert_int_equal(microbatch->tokens, 40);
    assert_int_equal(atomic_load(&bench.admission.queue_tokens), 0);
    assert_int_equal(histogram_count(&bench.batcher.microbatch_tokens), 2);
    microbatch_drop(&bench);
    call_free(&bench, call);
    bench_close(&bench);
}

static void the_first_request_fits_whatever_the_budget_is(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 64, 1);
    struct call *large = call_queue(&bench, 1, 1, 512, 1), *small = call_queue(&bench, 2, 1, 3, 2);
    /* The small one is served first: the large one needs eight turns. */
    assert_true(batcher_take(&bench.batcher, bench.microbatch));
    assert_int_equal(bench.microbatch->tokens, 3);
    microbatch_drop(&bench);
    assert_true(batcher_take(&bench.batcher, bench.microbatch));
    assert_int_equal(bench.microbatch->tokens, 512);
    microbatch_drop(&bench);
    call_free(&bench, large);
    call_free(&bench, small);
    bench_close(&bench);
}

static void a_microbatch_has_rows_up_to_its_room(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 512, 1);
    struct call *call = call_queue(&bench, 1, 20, 1, 1);
    for (uint32_t left = 20; left > 0; left -= bench.microbatch->rows) {
        assert_true(batcher_take(&bench.batcher, bench.microbatch));
        assert_int_equal(bench.microbatch->rows, left < ROWS_MAX ? left : ROWS_MAX);
        microbatch_drop(&bench);
    }
    call_free(&bench, call);
    bench_close(&bench);
}

static void what_waits_is_split_over_the_threads(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 512, 2);
    struct call *call = call_queue(&bench, 1, 8, 50, 1);
    assert_true(batcher_take(&bench.batcher, bench.microbatch));
    assert_int_equal(bench.microbatch->tokens, 200);
    microbatch_drop(&bench);
    assert_true(batcher_take(&bench.batcher, bench.microbatch));
    assert_int_equal(bench.microbatch->tokens, 100);
    microbatch_drop(&bench);
    /* Half of 100 is too little to be worth a microbatch. */
    batcher_set_budget(&bench.batcher, 100);
    assert_true(batcher_take(&bench.batcher, bench.microbatch));
    assert_int_equal(bench.microbatch->tokens, 50);
    microbatch_drop(&bench);
    call_free(&bench, call);
    bench_close(&bench);
}

static void clients_share_a_microbatch(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 128, 1);
    struct call *flood = call_queue(&bench, 1, 100, 32, 1),
                *other = call_queue(&bench, 2, 1, 32, 2);
    assert_true(batcher_take(&bench.batcher, bench.microbatch));
    bool found = false;
    for (uint32_t row = 0; row < bench.microbatch->rows; row++)
        found = found || bench.microbatch->requests[row]->call == other;
    assert_true(found);
    microbatch_drop(&bench);
    batcher_remove(&bench.batcher, flood);
    call_free(&bench, flood);
    call_free(&bench, other);
    assert_int_equal(atomic_load(&bench.admission.queue_tokens), 0);
    bench_close(&bench);
}

static void an_answered_call_is_not_let_in(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 128, 1);
    struct call *call = call_queue(&bench, 1, 2, 10, 1);
    atomic_store(&call->answered, true);
    batcher_remove(&bench.batcher, call);
    assert_int_equal(batcher_add(&bench.batcher, call), STATUS_CANCELLED);
    batcher_close(&bench.batcher);
    assert_false(batcher_take(&bench.batcher, bench.microbatch));
    call_free(&bench, call);
    bench_close(&bench);
}

static void admission_counts_what_is_reserved_and_given_back(void **state) {
    (void)state;
    struct admission admission;
    _Atomic uint64_t a = 0, b = 0, c = 0, d = 0;
    admission_init(&admission, 100, 3);
    assert_int_equal(admission_enter(&admission, 99, &a), STATUS_OK);
    assert_int_equal(admission_enter(&admission, 5000, &b), STATUS_OK); /* one overshoots */
    assert_int_equal(admission_enter(&admission, 1, &c), STATUS_QUEUE_FULL);
    admission_give_back(&admission, &b, 4990);
    assert_int_equal(atomic_load(&admission.queue_tokens), 109);
    admission_give_back(&admission, &a, 98);
    admission_give_back(&admission, &a, 98); /* never more than it has */
    assert_int_equal(atomic_load(&admission.queue_tokens), 10);
    assert_int_equal(admission_enter(&admission, 1, &c), STATUS_OK);
    assert_int_equal(admission_enter(&admission, 1, &d), STATUS_QUEUE_FULL);
    assert_int_equal(admission.calls_open, 3);
    admission_leave(&admission, &b);
    admission_leave(&admission, &c);
    admission_leave(&admission, &a);
    assert_int_equal(atomic_load(&admission.queue_tokens), 0);
    assert_int_equal(atomic_load(&admission.calls_in_flight), 0);
    for (int i = 0; i < 3; i++)
        admission_gone(&admission);
    admission_drain(&admission);
    assert_int_equal(admission_enter(&admission, 1, &a), STATUS_DRAINING);
    admission_wait(&admission);
    admission_free(&admission);
}

static void the_rate_counts_busy_time_only(void **state) {
    (void)state;
    const uint64_t ms = 1000000;
    struct rate rate;
    rate_init(&rate, 500);
    assert_true(rate_get(&rate) == 500);
    /* Single texts with pauses say nothing. */
    for (uint64_t i = 1; i < 100; i++)
        rate_observe(&rate, i * 1000 * ms, 10, false);
    assert_true(rate_get(&rate) == 500);
    /* A hundred tokens each 50 ms, with more waiting: 2000 a second. */
    for (uint64_t i = 1; i < 200; i++)
        rate_observe(&rate, 200000 * ms + i * 50 * ms, 100, true);
    assert_true(rate_get(&rate) > 1990 && rate_get(&rate) < 2010);
    rate_free(&rate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_packed_end_to_end_up_to_the_budget),
        cmocka_unit_test(the_first_request_fits_whatever_the_budget_is),
        cmocka_unit_test(a_microbatch_has_rows_up_to_its_room),
        cmocka_unit_test(what_waits_is_split_over_the_threads),
        cmocka_unit_test(clients_share_a_microbatch),
        cmocka_unit_test(an_answered_call_is_not_let_in),
        cmocka_unit_test(admission_counts_what_is_reserved_and_given_back),
        cmocka_unit_test(the_rate_counts_busy_time_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
