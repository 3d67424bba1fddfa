/* engine_classify.c: text classification on a call's way: labels' logits to scores, and the scores
 * of windows to those of their text. */
#include <string.h>

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

static enum status measure(const struct engine *engine, const struct call_spec *spec,
                           struct call_needs *needs, struct error *err) {
    (void)spec;
    (void)err;
    needs->outputs_width = engine->info.labels_count;
    return STATUS_OK;
}

static void fill(const struct engine *engine, const struct call_spec *spec, struct call *call,
                 char *texts) {
    struct call_settings *settings = call->settings;
    (void)texts;
    settings->classify = spec->classify;
    if (settings->classify.activation == ACTIVATION_AUTO)
        settings->classify.activation = engine->info.activation;
}

static void keep(const struct engine *engine, const struct microbatch *microbatch, uint32_t row) {
    const size_t labels = engine->info.labels_count;
    struct request *request = microbatch->requests[row];
    memcpy(request->outputs, microbatch->outputs + row * labels, labels * sizeof(float));
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

static bool score(const struct engine *engine, struct input *input) {
    const struct call_settings *settings = input->call->settings;
    const uint32_t labels = engine->info.labels_count;
    for (uint32_t r = 0; r < input->requests_count; r++)
        if (!score_activate(settings->classify.activation, input->requests[r].outputs, labels))
            return false;
    scores_aggregate(input, settings->classify.aggregate, labels);
    return true;
}

static void answer(const struct input *input, struct call_answer *out) {
    out->scores = input->scores;
}

const struct task_steps task_classify = {
    .task = ENGINE_TEXT_CLASSIFICATION,
    .windows = true,
    .measure = measure,
    .fill = fill,
    .keep = keep,
    .score = score,
    .answer = answer,
};
