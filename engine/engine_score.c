/* engine_score.c: from the outputs of the last stage to the answer of a call, by the steps of the
 * model's task.
 *
 * Runs on the thread of a last stage. Scores are computed when a call is complete, input by input
 * and window by window in their order, so that no sum depends on which came first. */
#include "engine/base/clock.h"
#include "engine/engine_internal.h"

const struct task_steps *task_find(enum model_task task) {
    static const struct task_steps *const all[MODEL_TASKS_COUNT] = {
        [TASK_TEXT_CLASSIFICATION] = &task_classify,
        [TASK_FILL_MASK] = &task_fill_mask,
    };
    return all[task];
}

static void call_score(const struct engine *engine, struct call *call) {
    struct error err;
    for (uint32_t i = 0; i < call->inputs_count; i++) {
        if (engine->steps->score(engine, &call->inputs[i]))
            continue;
        error_set(&err, STATUS_NOT_FINITE,
                  "the model computed a value that is not finite for this input");
        err.input = (int)i;
        call_answer(call, &err);
        return;
    }
    call_answer(call, NULL);
}

void engine_complete(void *context, struct microbatch *microbatch) {
    struct engine *engine = context;
    for (uint32_t row = 0; row < microbatch->rows; row++) {
        struct call *call = microbatch->requests[row]->call;
        if (!call_is_answered(call)) {
            if (engine->steps->keep)
                engine->steps->keep(engine, microbatch, row);
            if (atomic_fetch_sub(&call->requests_left, 1) == 1)
                call_score(engine, call);
        }
        call_release(call);
    }
    rate_observe(&engine->rate, clock_now_ns(), microbatch->tokens,
                 atomic_load(&engine->admission.queue_tokens) > 0);
}
