/* test_fair.c: turns between clients and calls, and the bookkeeping of the fair queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/flow/fair.h"

enum { QUANTUM = 64, ITEMS_MAX = 4096 };

static struct fair_item items[ITEMS_MAX];
static uint32_t items_used;

static int items_reset(void **state) {
    (void)state;
    items_used = 0;
    return 0;
}

/* A flow of `count` items of one weight that belong to `owner`. */
static void flow_fill(struct fair_flow *flow, void *owner, uint32_t count, uint32_t weight) {
    memset(flow, 0, sizeof *flow);
    for (uint32_t i = 0; i < count; i++) {
        struct fair_item *item = &items[items_used++];
        *item = (struct fair_item){.owner = owner, .weight = weight};
        fair_flow_append(flow, item);
    }
}

static struct fair_queue *queue_make(uint32_t flows_max) {
    struct fair_queue *queue;
    assert_int_equal(fair_open(flows_max, QUANTUM, &queue), STATUS_OK);
    return queue;
}

static void one_call_comes_out_in_its_order(void **state) {
    (void)state;
    struct fair_queue *queue = queue_make(4);
    struct fair_flow flow;
    assert_null(fair_take(queue, UINT64_MAX));
    flow_fill(&flow, NULL, 10, 500);
    assert_int_equal(fair_add(queue, &flow, 7), STATUS_OK);
    assert_int_equal(fair_weight(queue), 5000);
    for (uint32_t i = 0; i < 10; i++)
        assert_ptr_equal(fair_take(queue, UINT64_MAX), &items[i]);
    assert_null(fair_take(queue, UINT64_MAX));
    assert_int_equal(fair_weight(queue), 0);
    assert_int_equal(fair_count(queue), 0);
    assert_null(flow.client);
    fair_free(queue);
}

static void a_flood_delays_a_newcomer_by_a_bounded_number_of_tokens(void **state) {
    (void)state;
    const uint32_t weights[] = {1, 10, 64, 100, 512};
    for (size_t w = 0; w < sizeof weights / sizeof weights[0]; w++) {
        struct fair_queue *queue = queue_make(300);
        struct fair_flow flood[200], newcomer;
        int mine;
        items_reset(NULL);
        /* Two hundred calls of one client, each of ten long texts, are far ahead. */
        for (uint32_t i = 0; i < 200; i++) {
            flow_fill(&flood[i], NULL, 10, 512);
            assert_int_equal(fair_add(queue, &flood[i], 1), STATUS_OK);
        }
        for (uint32_t i = 0; i < 100; i++)
            assert_non_null(fair_take(queue, UINT64_MAX));
        flow_fill(&newcomer, &mine, 1, weights[w]);
        assert_int_equal(fair_add(queue, &newcomer, 2), STATUS_OK);
        uint64_t before = 0;
        for (struct fair_item *item; (item = fair_take(queue, UINT64_MAX))->owner != &mine;)
            before += item->weight;
        uint64_t rounds = (weights[w] + QUANTUM - 1) / QUANTUM;
        assert_true(before <= (rounds + 1) * QUANTUM + 512);
        fair_free(queue);
    }
}

static void clients_get_equal_tokens_however_long_their_texts_are(void **state) {
    (void)state;
    struct fair_queue *queue = queue_make(4);
    struct fair_flow flows[3];
    const uint32_t weights[3] = {5, 50, 500};
    uint64_t taken[3] = {0};
    for (uintptr_t i = 0; i < 3; i++) {
        flow_fill(&flows[i], (void *)i, 40000 / weights[i] < 1000 ? 40000 / weights[i] : 1000,
                  weights[i]);
        assert_int_equal(fair_add(queue, &flows[i], i), STATUS_OK);
    }
    while (taken[0] < 4000) {
        struct fair_item *item = fair_take(queue, UINT64_MAX);
        taken[(uintptr_t)item->owner] += item->weight;
    }
    for (int i = 1; i < 3; i++) {
        assert_true(taken[i] + 600 > taken[0]);
        assert_true(taken[i] < taken[0] + 600);
    }
    fair_free(queue);
}

static void calls_of_one_client_take_turns_too(void **state) {
    (void)state;
    struct fair_queue *queue = queue_make(4);
    struct fair_flow large, small;
    int mine;
    flow_fill(&large, NULL, 1000, 32);
    flow_fill(&small, &mine, 1, 32);
    assert_int_equal(fair_add(queue, &large, 5), STATUS_OK);
    assert_int_equal(fair_add(queue, &small, 5), STATUS_OK);
    uint32_t before = 0;
    while (fair_take(queue, UINT64_MAX)->owner != &mine)
        before++;
    assert_true(before <= 4);
    fair_free(queue);
}

static void what_is_too_heavy_now_stays_the_next(void **state) {
    (void)state;
    struct fair_queue *queue = queue_make(4);
    struct fair_flow heavy, light;
    flow_fill(&heavy, NULL, 1, 64);
    flow_fill(&light, NULL, 1, 1);
    assert_int_equal(fair_add(queue, &heavy, 1), STATUS_OK);
    assert_int_equal(fair_add(queue, &light, 2), STATUS_OK);
    assert_null(fair_take(queue, 63));
    assert_null(fair_take(queue, 0));
    assert_int_equal(fair_count(queue), 2);
    assert_ptr_equal(fair_take(queue, 64), &items[0]);
    assert_ptr_equal(fair_take(queue, 1), &items[1]);
    fair_free(queue);
}

static void a_removed_call_leaves_nothing_behind(void **state) {
    (void)state;
    struct fair_queue *queue = queue_make(3);
    struct fair_flow flows[3], none = {0};
    for (uint32_t i = 0; i < 3; i++) {
        flow_fill(&flows[i], NULL, 2, 10);
        assert_int_equal(fair_add(queue, &flows[i], i % 2), STATUS_OK);
    }
    assert_non_null(fair_take(queue, UINT64_MAX));
    fair_remove(queue, &flows[0]);
    fair_remove(queue, &flows[0]);
    fair_remove(queue, &none);
    assert_int_equal(fair_count(queue), 4);
    assert_int_equal(fair_weight(queue), 40);
    fair_remove(queue, &flows[1]);
    fair_remove(queue, &flows[2]);
    assert_null(fair_take(queue, UINT64_MAX));
    assert_int_equal(fair_weight(queue), 0);
    fair_free(queue);
}

static void there_is_room_for_so_many_clients_and_again_after_they_left(void **state) {
    (void)state;
    struct fair_queue *queue = queue_make(8);
    struct fair_flow flows[9];
    for (int round = 0; round < 3; round++) {
        items_reset(NULL);
        for (uint32_t i = 0; i < 9; i++) {
            flow_fill(&flows[i], NULL, 1, 1);
            /* Client numbers that share buckets. */
            assert_int_equal(fair_add(queue, &flows[i], i * 16),
                             i < 8 ? STATUS_OK : STATUS_QUEUE_FULL);
        }
        for (uint32_t i = 0; i < 8; i++)
            assert_non_null(fair_take(queue, UINT64_MAX));
        assert_null(fair_take(queue, UINT64_MAX));
    }
    fair_free(queue);
    fair_free(NULL);
}

static void random_work_is_neither_lost_nor_doubled(void **state) {
    (void)state;
    enum { FLOWS = 64 };
    struct fair_queue *queue = queue_make(FLOWS);
    struct fair_flow flows[FLOWS] = {0};
    uint64_t weight = 0;
    uint32_t count = 0, seed = 12345;
    for (int step = 0; step < 20000; step++) {
        seed = seed * 1103515245u + 12345u;
        struct fair_flow *flow = &flows[(seed >> 16) % FLOWS];
        if (!flow->client && items_used + 8 < ITEMS_MAX) {
            flow_fill(flow, flow, 1 + (seed >> 8) % 8, 1 + (seed >> 4) % 600);
            weight += flow->weight;
            count += flow->count;
            assert_int_equal(fair_add(queue, flow, (seed >> 20) % 5), STATUS_OK);
        } else if (flow->client && (seed >> 28) == 0) {
            weight -= flow->weight;
            count -= flow->count;
            fair_remove(queue, flow);
        } else if (count > 0) {
            struct fair_item *item = fair_take(queue, UINT64_MAX);
            assert_non_null(item);
            weight -= item->weight;
            count--;
        } else {
            items_used = 0;
        }
        assert_int_equal(fair_weight(queue), weight);
        assert_int_equal(fair_count(queue), count);
    }
    fair_free(queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_call_comes_out_in_its_order, items_reset),
        cmocka_unit_test(a_flood_delays_a_newcomer_by_a_bounded_number_of_tokens),
        cmocka_unit_test_setup(clients_get_equal_tokens_however_long_their_texts_are, items_reset),
        cmocka_unit_test_setup(calls_of_one_client_take_turns_too, items_reset),
        cmocka_unit_test_setup(what_is_too_heavy_now_stays_the_next, items_reset),
        cmocka_unit_test_setup(a_removed_call_leaves_nothing_behind, items_reset),
        cmocka_unit_test_setup(there_is_room_for_so_many_clients_and_again_after_they_left,
                               items_reset),
        cmocka_unit_test_setup(random_work_is_neither_lost_nor_doubled, items_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
