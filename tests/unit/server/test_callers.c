/* test_callers.c: order of answers, the bound on calls in flight, and a full queue, against an
 * engine of the test's own that answers from another thread in any order. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/callers.h"

enum { CALLS_MAX = 8, INPUTS = 2000 };

/* The engine of the test: admitted calls wait here until its thread answers one of them. */
struct call {
    void (*done)(struct call *call, void *context);
    void *context;
    uint32_t number;
};

struct engine {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct call *waiting[CALLS_MAX];
    uint32_t waiting_count, waiting_max; /* waiting_max: the queue is full beyond */
    uint32_t in_flight_most, submitted, refused, released;
    bool ended;
    pthread_t thread;
};

static struct engine engine;

enum status engine_submit(struct engine *to, const struct call_spec *spec, struct call **out,
                          struct error *err) {
    if (spec->inputs[0].ids_count == 13)
        return error_set(err, STATUS_INVALID_UTF8, "thirteen");
    struct call *call = malloc(sizeof *call);
    *call = (struct call){spec->done, spec->context, spec->inputs[0].ids_count};
    pthread_mutex_lock(&to->lock);
    bool full = to->waiting_count >= to->waiting_max;
    if (full) {
        to->refused++;
    } else {
        to->submitted++;
        to->waiting[to->waiting_count++] = call;
        if (to->waiting_count > to->in_flight_most)
            to->in_flight_most = to->waiting_count;
        pthread_cond_signal(&to->changed);
    }
    pthread_mutex_unlock(&to->lock);
    if (full) {
        free(call);
        return error_set(err, STATUS_QUEUE_FULL, "full");
    }
    *out = call;
    return STATUS_OK;
}

enum status call_outcome(const struct call *call, struct error *err) {
    return call->number == 17 ? error_set(err, STATUS_NOT_FINITE, "seventeen") : STATUS_OK;
}

void call_release(struct call *call) {
    if (call)
        engine.released++;
    free(call);
}

/* Answers any of the waiting calls, most often not the oldest. */
static void *answer(void *context) {
    struct engine *of = context;
    uint32_t random = 1;
    for (;;) {
        pthread_mutex_lock(&of->lock);
        while (of->waiting_count == 0 && !of->ended)
            pthread_cond_wait(&of->changed, &of->lock);
        if (of->waiting_count == 0) {
            pthread_mutex_unlock(&of->lock);
            return NULL;
        }
        random = random * 1664525u + 1013904223u;
        uint32_t place = (random >> 16) % of->waiting_count;
        struct call *call = of->waiting[place];
        of->waiting[place] = of->waiting[--of->waiting_count];
        pthread_mutex_unlock(&of->lock);
        call->done(call, call->context);
    }
}

static void start_engine(uint32_t waiting_max) {
    engine = (struct engine){.waiting_max = waiting_max};
    pthread_mutex_init(&engine.lock, NULL);
    pthread_cond_init(&engine.changed, NULL);
    assert_int_equal(pthread_create(&engine.thread, NULL, answer, &engine), 0);
}

static void stop_engine(void) {
    pthread_mutex_lock(&engine.lock);
    engine.ended = true;
    pthread_cond_signal(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
    pthread_join(engine.thread, NULL);
    assert_int_equal(engine.released, engine.submitted);
}

/* Input i has ids_count i; every 50th place is an error without a submission. */
static void *submit_all(void *context) {
    struct callers *callers = context;
    struct error err;
    for (uint32_t i = 1; i <= INPUTS; i++) {
        struct engine_input input = {.ids_count = i};
        struct call_spec spec = {.inputs = &input, .inputs_count = 1};
        uint32_t slot = callers_begin(callers);
        if (i % 50 == 0) {
            error_set(&err, STATUS_INVALID_VALUE, "input %u", i);
            callers_put_error(callers, slot, &err);
        } else {
            callers_submit(callers, slot, &spec);
        }
    }
    callers_end(callers);
    return NULL;
}

static void check_in_order(uint32_t waiting_max) {
    struct callers *callers;
    struct caller_result result;
    pthread_t thread;
    start_engine(waiting_max);
    assert_int_equal(callers_open(&engine, CALLS_MAX, CALLERS_IN_ORDER, &callers), STATUS_OK);
    assert_int_equal(pthread_create(&thread, NULL, submit_all, callers), 0);
    uint32_t count = 0;
    while (callers_take(callers, &result)) {
        count++;
        if (count % 50 == 0)
            assert_int_equal(result.outcome, STATUS_INVALID_VALUE);
        else if (count == 13)
            assert_int_equal(result.outcome, STATUS_INVALID_UTF8);
        else
            assert_int_equal(result.call->number, count);
        if (count == 17) {
            assert_int_equal(result.outcome, STATUS_NOT_FINITE);
            assert_string_equal(result.error.message, "seventeen");
        }
        assert_true(result.done_ns >= result.submitted_ns);
        callers_give_back(callers, &result);
    }
    assert_int_equal(count, INPUTS);
    pthread_join(thread, NULL);
    callers_close(callers);
    stop_engine();
    assert_true(engine.in_flight_most <= CALLS_MAX);
}

static void answers_come_in_the_order_of_the_inputs(void **state) {
    (void)state;
    check_in_order(CALLS_MAX);
    assert_int_equal(engine.refused, 0);
}

static void a_full_queue_is_waited_out(void **state) {
    (void)state;
    check_in_order(2);
}

static void a_queue_that_takes_nothing_is_an_error(void **state) {
    (void)state;
    struct callers *callers;
    struct caller_result result;
    struct engine_input input = {.ids_count = 1};
    struct call_spec spec = {.inputs = &input, .inputs_count = 1};
    start_engine(0);
    assert_int_equal(callers_open(&engine, CALLS_MAX, CALLERS_IN_ORDER, &callers), STATUS_OK);
    callers_submit(callers, callers_begin(callers), &spec);
    assert_true(callers_take(callers, &result));
    assert_int_equal(result.outcome, STATUS_QUEUE_FULL);
    callers_give_back(callers, &result);
    callers_end(callers);
    assert_false(callers_take(callers, &result));
    callers_close(callers);
    stop_engine();
}

static void one_thread_can_submit_and_take(void **state) {
    (void)state;
    struct callers *callers;
    struct caller_result result;
    uint64_t sum = 0;
    uint32_t sent = 17, in_flight = 0;
    start_engine(CALLS_MAX);
    assert_int_equal(callers_open(&engine, CALLS_MAX, CALLERS_AS_DONE, &callers), STATUS_OK);
    for (uint32_t taken = 17; taken < INPUTS; taken++) {
        while (in_flight < CALLS_MAX && sent < INPUTS) {
            struct engine_input input = {.ids_count = ++sent};
            struct call_spec spec = {.inputs = &input, .inputs_count = 1};
            callers_submit(callers, callers_begin(callers), &spec);
            in_flight++;
        }
        assert_true(callers_take(callers, &result));
        sum += result.call->number;
        callers_give_back(callers, &result);
        in_flight--;
    }
    assert_int_equal(sum, (uint64_t)INPUTS * (INPUTS + 1) / 2 - 17 * 18 / 2);
    callers_end(callers);
    assert_false(callers_take(callers, &result));
    callers_close(callers);
    stop_engine();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_in_the_order_of_the_inputs),
        cmocka_unit_test(a_full_queue_is_waited_out),
        cmocka_unit_test(a_queue_that_takes_nothing_is_an_error),
        cmocka_unit_test(one_thread_can_submit_and_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
