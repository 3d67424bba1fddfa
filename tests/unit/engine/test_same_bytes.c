/* test_same_bytes.c: the scores of a text do not depend on what is beside it or on the plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/unit/engine/asking.h"

enum { TEXTS = 24, LABELS = 28, TEXT_BYTES = 4096 };

static char texts[TEXTS][TEXT_BYTES];
static float alone[TEXTS][LABELS]; /* each text alone under the sequential plan */

/* Texts of 1 to about 500 words, most of them short. */
static void texts_make(void) {
    static const char *const words[] = {"I",     "love", "this",  "not",    "so",  "bad",
                                        "day",   "rain", "you",   "thanks", "why", "really",
                                        "sorry", "good", "grief", "[PAD]",  "!",   "unbelievable"};
    uint32_t seed = 7;
    for (int t = 0; t < TEXTS; t++) {
        size_t end = 0;
        int count = t < TEXTS - 2 ? 1 + t * 2 : 150 * (t - TEXTS + 4);
        for (int w = 0; w < count && end + 20 < TEXT_BYTES; w++) {
            seed = seed * 1103515245u + 12345u;
            end += (size_t)snprintf(texts[t] + end, TEXT_BYTES - end, "%s ",
                                    words[(seed >> 16) % (sizeof words / sizeof words[0])]);
        }
    }
}

static const float *scores_of(const struct call *call, uint32_t input) {
    struct call_answer answer;
    call_get_answer(call, input, &answer);
    return answer.scores;
}

static int alone_compute(void **state) {
    (void)state;
    struct engine *engine =
        engine_make((struct plan_options){.stages = 1, .replicas = 1}, (struct engine_options){0});
    struct error err;
    texts_make();
    for (uint32_t t = 0; t < TEXTS; t++) {
        const struct engine_input input = {.text = view_of(texts[t])};
        struct call *call =
            ask(engine, (struct call_spec){.inputs = &input, .inputs_count = 1, .truncate = true},
                &err);
        if (!call || err.status != STATUS_OK)
            return -1;
        memcpy(alone[t], scores_of(call, 0), sizeof alone[t]);
        call_release(call);
    }
    engine_close(engine);
    return 0;
}

/* All texts in one call from `first` on, and each in a call of its own at the same time. */
static void plan_compare(struct plan_options plan, uint32_t microbatch_tokens, uint32_t first) {
    struct engine *engine =
        engine_make(plan, (struct engine_options){.microbatch_tokens = microbatch_tokens,
                                                  .queue_tokens_max = 1 << 20,
                                                  .tokenizer_threads = 2});
    struct asking asking = ASKING_INIT;
    struct engine_input inputs[TEXTS];
    struct call *calls[TEXTS + 1];
    struct error err;
    for (uint32_t i = 0; i < TEXTS; i++)
        inputs[i] = (struct engine_input){.text = view_of(texts[(first + i) % TEXTS])};
    struct call_spec spec = {.inputs = inputs,
                             .inputs_count = TEXTS,
                             .truncate = true,
                             .done = asking_done,
                             .context = &asking};
    assert_int_equal(engine_submit(engine, &spec, &calls[TEXTS], &err), STATUS_OK);
    for (uint32_t i = 0; i < TEXTS; i++) {
        spec.inputs = &inputs[i];
        spec.inputs_count = 1;
        spec.client = i;
        assert_int_equal(engine_submit(engine, &spec, &calls[i], &err), STATUS_OK);
    }
    asking_wait(&asking, TEXTS + 1);
    for (uint32_t i = 0; i < TEXTS; i++) {
        uint32_t text = (first + i) % TEXTS;
        assert_int_equal(call_outcome(calls[i], &err), STATUS_OK);
        assert_memory_equal(scores_of(calls[i], 0), alone[text], sizeof alone[text]);
        assert_memory_equal(scores_of(calls[TEXTS], i), alone[text], sizeof alone[text]);
    }
    for (uint32_t i = 0; i <= TEXTS; i++)
        call_release(calls[i]);
    engine_close(engine);
}

static void every_plan_gives_the_bytes_of_a_text_alone(void **state) {
    (void)state;
    plan_compare((struct plan_options){.stages = 1, .replicas = 1}, 512, 1);
    plan_compare((struct plan_options){.stages = 2, .replicas = 1}, 0, 2);
    plan_compare((struct plan_options){.stages = 3, .replicas = 1}, 100, 3);
    plan_compare((struct plan_options){.stages = 6, .replicas = 1}, 64, 4);
    plan_compare((struct plan_options){.stages = 2, .replicas = 2}, 300, 5);
    plan_compare((struct plan_options){.stages = 3, .replicas = 1, .no_pipelining = true}, 0, 6);
    plan_compare((struct plan_options){.layers_per_stage = "1,-1,2", .replicas = 1}, 1000, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_gives_the_bytes_of_a_text_alone),
    };
    return cmocka_run_group_tests(tests, alone_compute, NULL);
}
