/* test_engine.c: calls through the whole engine with the demo model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/inspect.h"
#include "engine/tokenize.h"
#include "tests/unit/engine/asking.h"

static struct engine *engine;
static const struct engine_info *info;

static int engine_setup(void **state) {
    (void)state;
    engine = engine_make((struct plan_options){.stages = 2, .replicas = 1},
                         (struct engine_options){.queue_tokens_max = 1 << 20});
    info = engine_get_info(engine);
    return 0;
}

static int engine_teardown(void **state) {
    (void)state;
    engine_close(engine);
    return 0;
}

static struct call_spec spec_of(const struct engine_input *inputs, uint32_t count) {
    return (struct call_spec){.inputs = inputs, .inputs_count = count, .truncate = true};
}

static const char *best_label(const struct call *call, uint32_t input) {
    struct call_answer answer;
    uint32_t best = 0;
    call_get_answer(call, input, &answer);
    for (uint32_t i = 1; i < info->labels_count; i++)
        if (answer.scores[i] > answer.scores[best])
            best = i;
    return info->labels[best];
}

static bool scores_equal(const struct call *a, uint32_t input_a, const struct call *b,
                         uint32_t input_b) {
    struct call_answer x, y;
    call_get_answer(a, input_a, &x);
    call_get_answer(b, input_b, &y);
    return memcmp(x.scores, y.scores, info->labels_count * sizeof *x.scores) == 0;
}

/* `count` times "hello ", which is one token each. */
static struct view words(uint32_t count) {
    static char text[6 * 20000 + 1];
    for (uint32_t i = 0; i < count; i++)
        memcpy(text + 6 * (size_t)i, "hello ", 6);
    return (struct view){text, 6 * (size_t)count};
}

static void the_demo_model_is_described(void **state) {
    (void)state;
    assert_string_equal(info->name, "goemotions-minilm");
    assert_string_equal(info->task, "text-classification");
    assert_int_equal(info->labels_count, 28);
    assert_int_equal(info->activation, ACTIVATION_SIGMOID);
    assert_int_equal(info->tokens_max, 512);
    assert_int_equal(info->special_tokens, 2);
    assert_int_equal(info->stages_count, 3);
    assert_true(info->tokens_per_second > 0);
    assert_true(info->microbatch_tokens >= 64);
    assert_non_null(strstr(engine_plan_text(engine), "Classifier --> VG 0"));
}

static void texts_get_their_labels_in_their_order(void **state) {
    (void)state;
    const struct engine_input inputs[] = {
        {.text = view_of("I love this, thank you so much!")},
        {.text = view_of("")},
        {.text = view_of("This makes me so angry!")},
    };
    struct error err;
    struct call_times times;
    struct call_answer answer;
    uint64_t start = clock_now_ns();
    struct call *call = ask(engine, spec_of(inputs, 3), &err);
    uint64_t passed = clock_now_ns() - start;
    assert_int_equal(err.status, STATUS_OK);
    assert_true(strcmp(best_label(call, 0), "love") == 0 ||
                strcmp(best_label(call, 0), "gratitude") == 0);
    assert_string_equal(best_label(call, 2), "anger");
    call_get_answer(call, 1, &answer);
    assert_int_equal(answer.tokens, 2);
    assert_int_equal(answer.windows, 1);
    assert_false(answer.truncated);
    call_get_times(call, &times);
    assert_true(times.compute_ns > 0);
    assert_true(times.tokenize_ns + times.queue_ns + times.compute_ns <= passed);
    call_release(call);
}

static void the_limit_cuts_or_refuses_with_both_numbers(void **state) {
    (void)state;
    const struct engine_input fits = {.text = words(510)};
    const struct engine_input over = {.text = words(511)};
    const struct engine_input both[] = {fits, over};
    struct error err;
    struct call_answer answer;
    struct call_spec spec = spec_of(&fits, 1);
    spec.truncate = false;
    struct call *call = ask(engine, spec, &err);
    assert_int_equal(err.status, STATUS_OK);
    call_get_answer(call, 0, &answer);
    assert_int_equal(answer.tokens, 512);
    call_release(call);

    spec.inputs = both;
    spec.inputs_count = 2;
    call = ask(engine, spec, &err);
    assert_int_equal(err.status, STATUS_INPUT_TOO_LONG);
    assert_int_equal(err.input, 1);
    assert_non_null(strstr(err.message, "513"));
    assert_non_null(strstr(err.message, "512"));
    call_release(call);

    call = ask(engine, spec_of(&over, 1), &err);
    assert_int_equal(err.status, STATUS_OK);
    call_get_answer(call, 0, &answer);
    assert_int_equal(answer.tokens, 512);
    assert_true(answer.truncated);
    call_release(call);
}

static void a_text_cut_on_the_left_is_its_end(void **state) {
    (void)state;
    char text[8192] = "";
    size_t end = 0;
    for (int i = 0; i < 600; i++)
        end += (size_t)snprintf(text + end, sizeof text - end, "%s ",
                                i % 3 == 0   ? "good"
                                : i % 7 == 0 ? "bad"
                                             : "day");
    const char *tail = text;
    for (int i = 0; i < 90; i++)
        tail = strchr(tail, ' ') + 1;
    const struct engine_input whole = {.text = view_of(text)}, last = {.text = view_of(tail)};
    struct error err;
    struct call_spec spec = spec_of(&whole, 1);
    spec.side = TRUNCATION_LEFT;
    struct call *cut = ask(engine, spec, &err), *alone = ask(engine, spec_of(&last, 1), &err);
    assert_true(scores_equal(cut, 0, alone, 0));
    call_release(cut);
    call_release(alone);
}

static void token_ids_are_used_as_given(void **state) {
    (void)state;
    struct engine_tokenizer *tokenizer;
    struct engine_tokens hello;
    struct error err;
    int32_t many[600], negative[] = {5, -1}, large[] = {(int32_t)info->vocab_size};
    for (int i = 0; i < 600; i++)
        many[i] = 5;
    assert_int_equal(engine_tokenizer_open_dir(DEMO_MODEL, &tokenizer, &err), STATUS_OK);
    assert_int_equal(engine_tokenize(tokenizer, view_of("hello"), NULL, NULL, &hello, &err),
                     STATUS_OK);
    assert_int_equal(hello.count, 3);
    const struct engine_input inputs[] = {{.text = view_of("hello")},
                                          {.ids = hello.ids, .ids_count = 3}};
    struct call_answer answer;
    struct call *call = ask(engine, spec_of(inputs, 2), &err);
    assert_int_equal(err.status, STATUS_OK);
    assert_true(scores_equal(call, 0, call, 1));
    call_release(call);
    engine_tokenizer_close(tokenizer);

    const struct engine_input input = {.ids = many, .ids_count = 600};
    struct call_spec spec = spec_of(&input, 1);
    call = ask(engine, spec, &err);
    call_get_answer(call, 0, &answer);
    assert_int_equal(answer.tokens, 512);
    assert_true(answer.truncated);
    call_release(call);
    spec.truncate = false;
    assert_null(ask(engine, spec, &err));
    assert_int_equal(err.status, STATUS_INPUT_TOO_LONG);
    assert_int_equal(err.input, 0);

    const struct engine_input bad[] = {{.ids = negative, .ids_count = 2},
                                       {.ids = large, .ids_count = 1},
                                       {.ids = large, .ids_count = 0}};
    for (int i = 0; i < 3; i++) {
        const struct engine_input pair[] = {{.text = view_of("hello")}, bad[i]};
        assert_null(ask(engine, spec_of(pair, 2), &err));
        assert_int_equal(err.status, STATUS_INVALID_VALUE);
        assert_int_equal(err.input, 1);
    }
}

static void windows_see_the_whole_text(void **state) {
    (void)state;
    const struct engine_input one = {.text = words(510)}, two = {.text = words(511)};
    const struct engine_input long_one = {.text = words(2000)};
    struct error err;
    struct call_answer answer, other;
    struct call_spec spec = spec_of(&one, 1);
    struct call *plain = ask(engine, spec, &err);
    spec.window = true;
    spec.window_stride = 64;
    struct call *call = ask(engine, spec, &err);
    assert_int_equal(err.status, STATUS_OK);
    call_get_answer(call, 0, &answer);
    assert_int_equal(answer.windows, 1);
    assert_true(scores_equal(plain, 0, call, 0));
    call_release(call);
    call_release(plain);

    spec.inputs = &two;
    call = ask(engine, spec, &err);
    call_get_answer(call, 0, &answer);
    assert_int_equal(answer.windows, 2);
    assert_int_equal(answer.tokens, 512 + (511 - 510 + 64 + 2));
    assert_false(answer.truncated);
    call_release(call);

    spec.inputs = &long_one;
    spec.classify.aggregate = AGGREGATE_MAX;
    struct call *largest = ask(engine, spec, &err);
    spec.classify.aggregate = AGGREGATE_MEAN;
    struct call *mean = ask(engine, spec, &err);
    call_get_answer(largest, 0, &answer);
    call_get_answer(mean, 0, &other);
    assert_int_equal(answer.windows, 1 + (2000 - 510 + 445) / 446);
    for (uint32_t i = 0; i < info->labels_count; i++)
        assert_true(answer.scores[i] >= other.scores[i]);
    call_release(largest);
    call_release(mean);
}

static void windows_that_cannot_be_are_refused(void **state) {
    (void)state;
    const int32_t ids[] = {101, 102};
    const struct engine_input text = {.text = view_of("a")};
    const struct engine_input others[] = {{.text = view_of("a"), .text_pair = view_of("b")},
                                          {.ids = ids, .ids_count = 2}};
    struct error err;
    struct call_spec spec = spec_of(&text, 1);
    spec.window = true;
    spec.window_stride = 510;
    assert_null(ask(engine, spec, &err));
    assert_int_equal(err.status, STATUS_INVALID_VALUE);
    assert_int_equal(err.input, -1);
    spec.window_stride = 0;
    for (int i = 0; i < 2; i++) {
        spec.inputs = &others[i];
        assert_null(ask(engine, spec, &err));
        assert_int_equal(err.status, STATUS_INVALID_VALUE);
        assert_int_equal(err.input, 0);
    }
}

static void a_call_over_its_tokens_is_refused_whole(void **state) {
    (void)state;
    struct engine *small = engine_make((struct plan_options){.stages = 1, .replicas = 1},
                                       (struct engine_options){.call_tokens_max = 1000});
    struct engine_input inputs[501];
    struct error err;
    for (int i = 0; i < 501; i++)
        inputs[i] = (struct engine_input){.text = view_of("")};
    struct call *call = ask(small, spec_of(inputs, 500), &err);
    assert_int_equal(err.status, STATUS_OK);
    call_release(call);
    assert_null(ask(small, spec_of(inputs, 501), &err));
    assert_int_equal(err.status, STATUS_CALL_TOO_LARGE);
    /* Two windows with their special tokens: 997 + 4 are too many, 996 + 4 are not. */
    struct engine_input long_one = {.text = words(997)};
    struct call_spec spec = spec_of(&long_one, 1);
    spec.window = true;
    call = ask(small, spec, &err);
    assert_int_equal(err.status, STATUS_CALL_TOO_LARGE);
    call_release(call);
    long_one.text = words(996);
    call = ask(small, spec, &err);
    assert_int_equal(err.status, STATUS_OK);
    call_release(call);
    engine_close(small);
}

static void cancelled_calls_are_answered_once_and_leave_nothing(void **state) {
    (void)state;
    enum { CALLS = 40 };
    struct asking asking = ASKING_INIT;
    struct call *calls[CALLS];
    struct engine_statistics statistics;
    const struct engine_input input = {.text = words(300)};
    struct call_spec spec = spec_of(&input, 1);
    struct error err;
    spec.done = asking_done;
    spec.context = &asking;
    for (int i = 0; i < CALLS; i++) {
        spec.client = (uint64_t)i;
        spec.deadline_ns = i % 4 == 1 ? clock_now_ns() + NS_PER_MS : 0;
        assert_int_equal(engine_submit(engine, &spec, &calls[i], &err), STATUS_OK);
        if (i % 4 > 1)
            call_cancel(calls[i - 1]);
    }
    asking_wait(&asking, CALLS);
    for (int i = 0; i < CALLS; i++) {
        enum status status = call_outcome(calls[i], &err);
        assert_true(status == STATUS_OK || status == STATUS_CANCELLED ||
                    (status == STATUS_DEADLINE && i % 4 == 1));
        call_cancel(calls[i]);
        assert_int_equal(call_outcome(calls[i], NULL), status);
        call_release(calls[i]);
    }
    assert_int_equal(asking.answered, CALLS);
    engine_get_statistics(engine, &statistics);
    assert_int_equal(statistics.calls_in_flight, 0);
    assert_int_equal(statistics.queue_tokens, 0);
}

static void a_megabyte_holds_nobody_else_up(void **state) {
    (void)state;
    enum { BYTES = 4 << 20 };
    struct asking asking = ASKING_INIT;
    struct call *large, *small;
    struct error err;
    char *text = malloc(BYTES);
    assert_non_null(text);
    for (size_t i = 0; i < BYTES; i++)
        text[i] = i % 4 == 3 ? ' ' : 'a';
    const struct engine_input input = {.text = {text, BYTES}}, other = {.text = view_of("hello")};
    struct call_spec spec = spec_of(&input, 1);
    spec.done = asking_done;
    spec.context = &asking;
    assert_int_equal(engine_submit(engine, &spec, &large, &err), STATUS_OK);
    small = ask(engine, spec_of(&other, 1), &err);
    assert_int_equal(err.status, STATUS_OK);
    /* Tokenizing four megabytes takes far longer than one word through the model. */
    pthread_mutex_lock(&asking.lock);
    assert_int_equal(asking.answered, 0);
    pthread_mutex_unlock(&asking.lock);
    asking_wait(&asking, 1);
    assert_int_equal(call_outcome(large, &err), STATUS_OK);
    call_release(small);
    call_release(large);
    free(text);
}

static void a_full_queue_and_a_drained_engine_refuse(void **state) {
    (void)state;
    enum { CALLS = 50 };
    struct asking asking = ASKING_INIT;
    struct engine *small = engine_make((struct plan_options){.stages = 1, .replicas = 1},
                                       (struct engine_options){.queue_tokens_max = 600});
    struct call *calls[CALLS];
    const struct engine_input input = {.text = words(500)};
    struct call_spec spec = spec_of(&input, 1);
    struct error err;
    uint32_t accepted = 0, full = 0;
    spec.done = asking_done;
    spec.context = &asking;
    for (int i = 0; i < CALLS; i++) {
        if (engine_submit(small, &spec, &calls[accepted], &err) == STATUS_OK)
            accepted++;
        else if (err.status == STATUS_QUEUE_FULL)
            full++;
    }
    assert_true(full > 0);
    assert_int_equal(accepted + full, CALLS);
    engine_drain(small);
    assert_null(ask(small, spec_of(&input, 1), &err));
    assert_int_equal(err.status, STATUS_DRAINING);
    asking_wait(&asking, 1);
    engine_close(small);
    /* Every call was answered once, and what is held stays readable. */
    assert_int_equal(asking.answered, accepted);
    for (uint32_t i = 0; i < accepted; i++) {
        enum status status = call_outcome(calls[i], &err);
        assert_true(status == STATUS_OK || status == STATUS_DRAINING);
        call_release(calls[i]);
    }
}

static void what_cannot_be_opened_says_why(void **state) {
    (void)state;
    struct engine *none;
    struct error err;
    struct engine_options options = {.model_dir = "models/there-is-none"};
    assert_int_equal(engine_open(&options, &none, &err), STATUS_IO);
    assert_null(none);
    assert_non_null(strstr(err.message, "there-is-none"));
    options = (struct engine_options){.model_dir = DEMO_MODEL, .dtype = "f64"};
    assert_int_equal(engine_open(&options, &none, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "f64"));
    options = (struct engine_options){.model_dir = DEMO_MODEL, .plan = {.stages = 19}};
    assert_int_equal(engine_open(&options, &none, &err), STATUS_INVALID_VALUE);
    options = (struct engine_options){.model_dir = DEMO_MODEL, .microbatch_tokens = 1u << 20};
    assert_int_equal(engine_open(&options, &none, &err), STATUS_INVALID_VALUE);
    engine_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_demo_model_is_described),
        cmocka_unit_test(texts_get_their_labels_in_their_order),
        cmocka_unit_test(the_limit_cuts_or_refuses_with_both_numbers),
        cmocka_unit_test(a_text_cut_on_the_left_is_its_end),
        cmocka_unit_test(token_ids_are_used_as_given),
        cmocka_unit_test(windows_see_the_whole_text),
        cmocka_unit_test(windows_that_cannot_be_are_refused),
        cmocka_unit_test(a_call_over_its_tokens_is_refused_whole),
        cmocka_unit_test(cancelled_calls_are_answered_once_and_leave_nothing),
        cmocka_unit_test(a_megabyte_holds_nobody_else_up),
        cmocka_unit_test(a_full_queue_and_a_drained_engine_refuse),
        cmocka_unit_test(what_cannot_be_opened_says_why),
    };
    return cmocka_run_group_tests(tests, engine_setup, engine_teardown);
}
