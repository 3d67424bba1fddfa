/* engine_score.c: from the outputs of the last stage to the answer of a call.
 *
 * Runs on the thread of a last stage. Scores are computed when a call is complete, input by input
 * and window by window in their order, so that no sum depends on which came first. */
#include <string.h>

#include "engine/base/clock.h"
#include "engine/compute/activation.h"
#include "engine/engine_internal.h"

bool score_activate(enum activation activation, float *values, uint32_t count) {
    if (!activation_all_finite(values, count))
        return false;
    if (activation == ACTIVATION_SOFTMAX)
        activation_softmax(values, count, values);
    else if (activation == ACTIVATION_SIGMOID)
        activation_sigmoid(values, count, values);
    return true;
}

/* The windows' scores become the input's. */
static void scores_aggregate(const struct input *input, enum aggregate aggregate, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        double sum = 0;
        float largest = input->requests[0].outputs[i];
        for (uint32_t r = 0; r < input->requests_count; r++) {
            float score = input->requests[r].outputs[i];
            sum += (double)score;
            largest = score > largest ? score : largest;
        }
        input->scores[i] =
            aggregate == AGGREGATE_MAX ? largest : (float)(sum / input->requests_count);
    }
}

static void call_score(const struct engine *engine, struct call *call) {
    const struct call_settings *settings = call->settings;
    uint32_t labels = engine->info.labels_count;
    struct error err;
    for (uint32_t i = 0; i < call->inputs_count; i++) {
        struct input *input = &call->inputs[i];
        for (uint32_t r = 0; r < input->requests_count; r++) {
            if (score_activate(settings->activation, input->requests[r].outputs, labels))
                continue;
            error_set(&err, STATUS_NOT_FINITE,
                      "the model computed a value that is not finite for this input");
            err.input = (int)i;
            call_answer(call, &err);
            return;
        }
        scores_aggregate(input, settings->aggregate, labels);
    }
    call_answer(call, NULL);
}

void engine_complete(void *context, struct microbatch *microbatch) {
    struct engine *engine = context;
    uint32_t labels = engine->info.labels_count;
    for (uint32_t row = 0; row < microbatch->rows; row++) {
        struct request *request = microbatch->requests[row];
        struct call *call = request->call;
        if (!call_is_answered(call)) {
            memcpy(request->outputs, microbatch->outputs + (size_t)row * labels,
                   labels * sizeof *request->outputs);
            if (atomic_fetch_sub(&call->requests_left, 1) == 1)
                call_score(engine, call);
        }
        call_release(call);
    }
    rate_observe(&engine->rate, clock_now_ns(), microbatch->tokens,
                 atomic_load(&engine->admission.queue_tokens) > 0);
}
