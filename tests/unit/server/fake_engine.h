/* fake_engine.h: an engine without a model, for tests of the front end; defines the functions of
 * engine.h, so exactly one file of a test program includes it.
 *
 * Two labels ("short", "long"). An input of n bytes (ids: n of them) has n + 2 tokens; the score of
 * "long" is n / 1024 and that of "short" one less it. One thread answers call by call, after
 * `delay_ms` each, unless `blocked`; the queue holds `calls_max` calls. */
#ifndef BERTD_FAKE_ENGINE_H
#define BERTD_FAKE_ENGINE_H

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/limits.h"
#include "engine/engine.h"

enum { FAKE_TOKENS_MAX = 512, FAKE_LABELS = 2 };

struct call {
    struct engine *engine;
    struct call *next;
    void (*done)(struct call *call, void *context);
    void *context;
    uint64_t deadline_ns;
    uint32_t inputs_count;
    uint32_t references; /* guarded by the engine's lock, as `answered` */
    bool answered;
    struct error outcome;
    float (*scores)[FAKE_LABELS];
    struct call_answer *answers;
};

struct engine {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct call *first, **last;
    uint32_t calls, calls_max, delay_ms;
    uint64_t submitted, cancelled;
    bool blocked, draining, closing;
    struct engine_info info;
    struct histogram tokens, inputs;
};

static const char *const fake_labels[] = {"short", "long \"one\""};
static const float fake_thresholds[] = {0.75f, NAN};
static const double fake_bounds[] = {1, 16, 256};

/* Moves the call to answered; true for who did it. */
static bool fake_take(struct call *call, enum status status, const char *message) {
    pthread_mutex_lock(&call->engine->lock);
    bool mine = !call->answered;
    call->answered = true;
    pthread_mutex_unlock(&call->engine->lock);
    if (mine && status != STATUS_OK)
        error_set(&call->outcome, status, "%s", message);
    return mine;
}

static void fake_answer(struct call *call, enum status status, const char *message) {
    if (fake_take(call, status, message))
        call->done(call, call->context);
    call_release(call);
}

static void *fake_run(void *context) {
    struct engine *engine = context;
    pthread_mutex_lock(&engine->lock);
    while (!engine->closing) {
        struct call *call = engine->blocked ? NULL : engine->first;
        if (!call) {
            pthread_cond_wait(&engine->changed, &engine->lock);
            continue;
        }
        engine->first = call->next;
        if (!engine->first)
            engine->last = &engine->first;
        engine->calls--;
        pthread_mutex_unlock(&engine->lock);
        struct timespec pause = {engine->delay_ms / 1000, engine->delay_ms % 1000 * 1000000};
        nanosleep(&pause, NULL);
        bool late = call->deadline_ns != 0 && clock_now_ns() > call->deadline_ns;
        fake_answer(call, late ? STATUS_DEADLINE : STATUS_OK, "the deadline has passed");
        pthread_mutex_lock(&engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

static struct engine *fake_engine_open(uint32_t delay_ms, uint32_t calls_max) {
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        abort();
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->changed, NULL);
    engine->last = &engine->first;
    engine->delay_ms = delay_ms;
    engine->calls_max = calls_max;
    engine->info = (struct engine_info){
        .name = "fake",
        .family = "bert",
        .task = "text-classification",
        .dtype = "f32",
        .revision = "",
        .labels = fake_labels,
        .thresholds = fake_thresholds,
        .labels_count = FAKE_LABELS,
        .activation = ACTIVATION_SIGMOID,
        .tokens_max = FAKE_TOKENS_MAX,
        .special_tokens = 2,
        .vocab_size = 1000,
        .stages_count = 1,
        .replicas_count = 1,
        .call_tokens_max = LIMIT_CALL_TOKENS,
        .tokens_per_second = 1000,
    };
    histogram_init(&engine->tokens, fake_bounds, 3);
    histogram_init(&engine->inputs, fake_bounds, 3);
    if (pthread_create(&engine->thread, NULL, fake_run, engine) != 0)
        abort();
    return engine;
}

static void fake_engine_block(struct engine *engine, bool blocked) {
    pthread_mutex_lock(&engine->lock);
    engine->blocked = blocked;
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
}

void engine_drain(struct engine *engine) {
    pthread_mutex_lock(&engine->lock);
    engine->draining = true;
    pthread_mutex_unlock(&engine->lock);
}

enum status engine_close(struct engine *engine) {
    pthread_mutex_lock(&engine->lock);
    engine->closing = true;
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    pthread_join(engine->thread, NULL);
    while (engine->first) {
        struct call *call = engine->first;
        engine->first = call->next;
        fake_answer(call, STATUS_DRAINING, "the engine stops");
    }
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
    return STATUS_OK;
}

static enum status fake_fill(struct call *call, const struct call_spec *spec, struct error *err) {
    for (uint32_t i = 0; i < spec->inputs_count; i++) {
        const struct engine_input *input = &spec->inputs[i];
        uint32_t units =
            input->ids ? input->ids_count : (uint32_t)(input->text.bytes + input->text_pair.bytes);
        uint32_t tokens = units + 2;
        bool truncated = tokens > FAKE_TOKENS_MAX && !spec->window;
        if (truncated && !spec->truncate) {
            error_set(err, STATUS_INPUT_TOO_LONG, "the input has %u tokens, the model takes %d",
                      tokens, FAKE_TOKENS_MAX);
            err->input = (int)i;
            return STATUS_INPUT_TOO_LONG;
        }
        call->scores[i][1] = (float)units / 1024;
        call->scores[i][0] = 1 - call->scores[i][1];
        call->answers[i] = (struct call_answer){
            .scores = call->scores[i],
            .tokens = truncated ? FAKE_TOKENS_MAX : tokens,
            .windows = 1,
            .truncated = truncated,
        };
    }
    return STATUS_OK;
}

static void fake_free(struct call *call) {
    free(call->scores);
    free(call->answers);
    free(call);
}

enum status engine_submit(struct engine *engine, const struct call_spec *spec, struct call **out,
                          struct error *err) {
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        abort();
    *call = (struct call){.engine = engine,
                          .done = spec->done,
                          .context = spec->context,
                          .deadline_ns = spec->deadline_ns,
                          .inputs_count = spec->inputs_count,
                          .references = 2};
    call->scores = calloc(spec->inputs_count, sizeof *call->scores);
    call->answers = calloc(spec->inputs_count, sizeof *call->answers);
    if (!call->scores || !call->answers)
        abort();
    call->outcome.input = -1;
    if (fake_fill(call, spec, err) != STATUS_OK) {
        fake_free(call);
        return err->status;
    }
    pthread_mutex_lock(&engine->lock);
    bool full = engine->calls >= engine->calls_max, draining = engine->draining;
    if (!full && !draining) {
        *engine->last = call;
        engine->last = &call->next;
        engine->calls++;
        engine->submitted++;
        *out = call;
        pthread_cond_broadcast(&engine->changed);
    }
    pthread_mutex_unlock(&engine->lock);
    if (!full && !draining)
        return STATUS_OK;
    fake_free(call);
    return error_set(err, draining ? STATUS_DRAINING : STATUS_QUEUE_FULL, "no room");
}

void call_cancel(struct call *call) {
    if (!fake_take(call, STATUS_CANCELLED, "cancelled"))
        return;
    pthread_mutex_lock(&call->engine->lock);
    call->engine->cancelled++;
    pthread_mutex_unlock(&call->engine->lock);
    call->done(call, call->context);
}

void call_release(struct call *call) {
    if (!call)
        return;
    pthread_mutex_lock(&call->engine->lock);
    bool last = --call->references == 0;
    pthread_mutex_unlock(&call->engine->lock);
    if (last)
        fake_free(call);
}

enum status call_outcome(const struct call *call, struct error *err) {
    *err = call->outcome;
    return call->outcome.status;
}

void call_get_answer(const struct call *call, uint32_t input, struct call_answer *out) {
    *out = call->answers[input];
}

const struct fill_mask_target *call_get_targets(const struct call *call, uint32_t *count) {
    (void)call;
    *count = 0;
    return NULL;
}

enum status engine_fill_mask_read(const struct engine *engine,
                                  const struct fill_mask_answer *answer, uint32_t mask, int32_t id,
                                  struct fill_mask_texts *out, struct error *err) {
    (void)engine;
    (void)answer;
    (void)mask;
    (void)id;
    *out = (struct fill_mask_texts){0};
    return error_set(err, STATUS_INTERNAL, "this engine fills no masks");
}

void call_get_times(const struct call *call, struct call_times *out) {
    (void)call;
    *out = (struct call_times){1000000, 2000000, 3500000};
}

const struct engine_info *engine_get_info(const struct engine *engine) {
    return &engine->info;
}

const char *engine_plan_json(const struct engine *engine) {
    (void)engine;
    return "{\"stages\":[]}";
}

void engine_get_statistics(struct engine *engine, struct engine_statistics *out) {
    *out = (struct engine_statistics){.microbatch_tokens = &engine->tokens,
                                      .microbatch_inputs = &engine->inputs,
                                      .queue_tokens = 2500,
                                      .drain_tokens_per_second = 1000};
}

bool engine_get_stage(struct engine *engine, uint32_t index, struct stage_statistics *out) {
    (void)engine;
    *out = (struct stage_statistics){.name = "stage 0", .busy_ns = 1500000000};
    return index == 0;
}

#endif
