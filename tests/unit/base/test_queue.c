/* test_queue.c: order, bounds, closing and accounting of the bounded queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>

#include "engine/base/queue.h"
#include "engine/base/thread.h"

static void items_come_out_in_order_and_never_more_than_the_capacity(void **state) {
    (void)state;
    struct queue *queue;
    int items[5];
    assert_int_equal(queue_open(0, &queue), STATUS_INVALID_VALUE);
    assert_int_equal(queue_open(3, &queue), STATUS_OK);
    assert_null(queue_try_pop(queue));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 3; i++)
            assert_true(queue_try_push(queue, &items[i]));
        assert_false(queue_try_push(queue, &items[3]));
        assert_int_equal(queue_depth(queue), 3);
        assert_ptr_equal(queue_pop(queue), &items[0]);
        assert_true(queue_push(queue, &items[4]));
        assert_ptr_equal(queue_pop(queue), &items[1]);
        assert_ptr_equal(queue_try_pop(queue), &items[2]);
        assert_ptr_equal(queue_try_pop(queue), &items[4]);
    }
    queue_free(queue);
    queue_free(NULL);
}

static void a_closed_queue_hands_out_what_is_left_and_takes_nothing(void **state) {
    (void)state;
    struct queue *queue;
    int item;
    assert_int_equal(queue_open(2, &queue), STATUS_OK);
    assert_true(queue_push(queue, &item));
    queue_close(queue);
    queue_close(queue);
    assert_false(queue_push(queue, &item));
    assert_false(queue_try_push(queue, &item));
    assert_ptr_equal(queue_pop(queue), &item);
    assert_null(queue_pop(queue));
    queue_free(queue);
}

struct crossing {
    struct queue *queue;
    _Atomic uint64_t sum;
};

static void producer(void *context) {
    struct crossing *crossing = context;
    for (uintptr_t i = 1; i <= 2000; i++)
        (void)queue_push(crossing->queue, (void *)i);
}

static void consumer(void *context) {
    struct crossing *crossing = context;
    for (void *item; (item = queue_pop(crossing->queue));)
        atomic_fetch_add(&crossing->sum, (uintptr_t)item);
}

static void many_threads_lose_and_double_nothing(void **state) {
    (void)state;
    struct crossing crossing = {0};
    struct thread producers[3], consumers[3];
    assert_int_equal(queue_open(4, &crossing.queue), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(thread_start(&consumers[i], "consumer", consumer, &crossing, NULL),
                         STATUS_OK);
        assert_int_equal(thread_start(&producers[i], "producer", producer, &crossing, NULL),
                         STATUS_OK);
    }
    for (int i = 0; i < 3; i++)
        thread_join(&producers[i]);
    queue_close(crossing.queue);
    for (int i = 0; i < 3; i++)
        thread_join(&consumers[i]);
    assert_int_equal(crossing.sum, 3ULL * 2000 * 2001 / 2);
    queue_free(crossing.queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_out_in_order_and_never_more_than_the_capacity),
        cmocka_unit_test(a_closed_queue_hands_out_what_is_left_and_takes_nothing),
        cmocka_unit_test(many_threads_lose_and_double_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
