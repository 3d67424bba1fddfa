/* fake_flow.h: the flow without a model: parts that compute a number which depends on a row's own
 * tokens, in order, and on every part having run once in its turn; and calls made of token ids. The
 * numbers stay below 2^24, so that float holds them exactly. Included by one test. */
#ifndef BERTD_TESTS_FAKE_FLOW_H
#define BERTD_TESTS_FAKE_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/flow/admission.h"
#include "engine/flow/batcher.h"
#include "engine/flow/deadlines.h"
#include "engine/flow/pipeline.h"
#include "engine/flow/plan.h"

enum { FAKE_LAYERS = 4, FAKE_TOKENS_MAX = 64, FAKE_CALLS_MAX = 4096 };

struct fake_flow {
    struct admission admission;
    struct batcher batcher;
    struct deadlines *deadlines;
    struct plan plan;
    struct pipeline *pipeline;
    atomic_int done, good, wrong; /* callbacks; of these, right answers and wrong ones */
    atomic_int outcomes[STATUS_COUNT];
};

/* How long a part takes at most, in microseconds, at random; whether parts wait at a gate; and the
 * client whose microbatches alone hang in their first layer, 0: none. */
static atomic_uint fake_delay_us;
static atomic_bool fake_gate_shut;
static _Atomic uint64_t fake_hung_client;

enum { MODULUS = 1 << 20, SCRATCH_MARK = 77 };

static void nap_us(uint32_t us) {
    nanosleep(&(struct timespec){.tv_nsec = (long)us * 1000}, NULL);
}

static uint32_t mix(uint32_t value, uint32_t step) {
    return (value * 31 + step) % MODULUS;
}

static void part_delay(const void *scratch) {
    static _Thread_local uint32_t seed = 1;
    if (*(const int *)scratch != SCRATCH_MARK)
        abort();
    while (atomic_load(&fake_gate_shut))
        nap_us(100);
    uint32_t most = atomic_load(&fake_delay_us);
    seed = seed * 1103515245u + 12345u;
    if (most > 0)
        nap_us((seed >> 16) % most);
}

/* Parts 1..FAKE_LAYER_PARTS mix their number in, the one before and the one after are embedding
 * and head. */
enum { FAKE_LAYER_PARTS = FAKE_LAYERS * PLAN_THIRDS, FAKE_PARTS = FAKE_LAYER_PARTS + 2 };

static void head_run(struct microbatch *microbatch) {
    for (uint32_t row = 0; row < microbatch->rows; row++) {
        uint32_t sum = 0;
        for (uint32_t i = microbatch->starts[row]; i < microbatch->starts[row + 1]; i++)
            sum = mix(sum, (uint32_t)microbatch->hidden[i]);
        microbatch->outputs[row] = (float)sum;
    }
}

static bool microbatch_hangs(const struct microbatch *microbatch) {
    const uint64_t client = atomic_load(&fake_hung_client);
    for (uint32_t row = 0; client && row < microbatch->rows; row++)
        if (microbatch->requests[row] && microbatch->requests[row]->call->client == client)
            return true;
    return false;
}

/* Tokens first..end-1 through one part that is not the head. */
static void tokens_run(struct microbatch *microbatch, uint32_t part, uint32_t first, uint32_t end) {
    for (uint32_t i = first; part == 0 && i < end; i++)
        microbatch->hidden[i] = (float)(microbatch->ids[i] + microbatch->type_ids[i]);
    for (uint32_t i = first; part > 0 && i < end; i++)
        microbatch->hidden[i] = (float)mix((uint32_t)microbatch->hidden[i], part);
}

/* Part by part; with a seat the members share out the tokens, and the head is one share. */
static void fake_run(const void *context, uint32_t first_part, uint32_t parts_count, void *scratch,
                     struct microbatch *microbatch, struct team_seat *seat) {
    (void)context;
    const uint32_t tokens = microbatch->tokens;
    for (uint32_t part = first_part; part < first_part + parts_count; part++) {
        const uint32_t members = seat && part <= FAKE_LAYER_PARTS ? seat->run->members : 1;
        const uint32_t round = part - first_part;
        part_delay(scratch);
        while (part == 1 && microbatch_hangs(microbatch))
            nap_us(100);
        atomic_fetch_add(&microbatch->parts_done, 1);
        for (uint32_t i = 0; seat ? team_claim(seat, round, members, &i) : i < members; i++) {
            if (part > FAKE_LAYER_PARTS)
                head_run(microbatch);
            else
                tokens_run(microbatch, part, tokens * i / members, tokens * (i + 1) / members);
            if (seat)
                team_done(seat, round, members);
        }
    }
}

#define FAKE_LAYER(name_)                                                                          \
    {.name = (name_), .third = "attention", .weights_bytes = 1, .cost = 4000},                     \
        {.name = (name_), .third = "intermediate", .weights_bytes = 1, .cost = 3000}, {            \
        .name = (name_), .third = "output", .weights_bytes = 1, .cost = 3000                       \
    }

static const struct part fake_parts[FAKE_PARTS] = {
    {.name = "Embedding", .weights_bytes = 1, .cost = 1000},
    FAKE_LAYER("Encoder 0"),
    FAKE_LAYER("Encoder 1"),
    FAKE_LAYER("Encoder 2"),
    FAKE_LAYER("Encoder 3"),
    {.name = "Classifier", .weights_bytes = 1, .cost = 1000},
};

/* What the parts make of one request when it is alone. */
static float request_expect(const struct request *request) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < request->tokens; i++) {
        uint32_t value = (uint32_t)(request->ids[i] + request->type_ids[i]);
        for (uint32_t part = 1; part <= FAKE_LAYER_PARTS; part++)
            value = mix(value, part);
        sum = mix(sum, value);
    }
    return (float)sum;
}

static enum status scratch_open(const void *context, uint32_t tokens_max, int node, void **out,
                                struct error *err) {
    (void)context;
    (void)tokens_max;
    (void)node;
    int *scratch = malloc(sizeof *scratch);
    *out = scratch;
    if (!scratch)
        return error_set(err, STATUS_NO_MEMORY, "no scratch");
    *scratch = SCRATCH_MARK;
    return STATUS_OK;
}

static void scratch_close(const void *context, void *scratch) {
    (void)context;
    free(scratch);
}

static bool source_take(void *source, struct microbatch *microbatch) {
    return batcher_take(&((struct fake_flow *)source)->batcher, microbatch);
}

static uint32_t source_waiting(void *source) {
    return (uint32_t)atomic_load(&((struct fake_flow *)source)->admission.queue_tokens);
}

static void source_complete(void *source, struct microbatch *microbatch) {
    (void)source;
    for (uint32_t row = 0; row < microbatch->rows; row++) {
        struct request *request = microbatch->requests[row];
        struct call *call = request->call;
        if (!call_is_answered(call)) {
            *request->outputs = microbatch->outputs[row];
            if (atomic_fetch_sub(&call->requests_left, 1) == 1)
                call_answer(call, NULL);
        }
        call_release(call);
    }
}

static const struct topology fake_machine = {
    .cores = 2,
    .cpus_count = 2,
    .cpus = {{.cpu = 0}, {.cpu = 1, .core = 1}},
    .cores_count = 2,
};

/* `wishes`: stages, layers_per_stage, replicas, no_pipelining, max_in_flight count. */
static void fake_flow_open(struct fake_flow *flow, const struct plan_wishes *wishes,
                           uint64_t queue_tokens_max) {
    struct plan_wishes whole = *wishes;
    memset(flow, 0, sizeof *flow);
    whole.parts = fake_parts;
    whole.parts_count = FAKE_PARTS;
    whole.layers_count = FAKE_LAYERS;
    whole.machine = &fake_machine;
    admission_init(&flow->admission, queue_tokens_max, FAKE_CALLS_MAX);
    if (plan_make(&whole, &flow->plan, NULL) != STATUS_OK)
        abort();
    const struct pipeline_options options = {
        .plan = &flow->plan,
        .room = {FAKE_TOKENS_MAX, 16, 1, 0, 1},
        .warm_tokens = 10,
        .sequence_max = 4,
        .scratch_open = scratch_open,
        .scratch_close = scratch_close,
        .run = fake_run,
        .take = source_take,
        .complete = source_complete,
        .waiting = source_waiting,
        .source = flow,
    };
    if (batcher_init(&flow->batcher, &flow->admission, FAKE_CALLS_MAX, 16, FAKE_TOKENS_MAX, 2) !=
            STATUS_OK ||
        deadlines_open(FAKE_CALLS_MAX, &flow->deadlines, NULL) != STATUS_OK ||
        pipeline_open(&options, &flow->pipeline, NULL) != STATUS_OK)
        abort();
}

/* After the source has ended and the threads are joined, every microbatch but those that a stage 0
 * had in hand is back in its pool. */
static void pools_check(const struct pipeline *pipeline) {
    for (uint32_t i = 0; i < pipeline->replicas_count; i++)
        if (queue_depth(pipeline->replicas[i].pool) + 1 != pipeline->replicas[i].microbatches_count)
            abort();
}

/* Answers what is left with DRAINING, joins all, checks that no slot was lost. */
static void fake_flow_close(struct fake_flow *flow) {
    struct error draining;
    error_set(&draining, STATUS_DRAINING, "closed");
    admission_drain(&flow->admission);
    deadlines_answer_all(flow->deadlines, &draining);
    admission_wait(&flow->admission);
    batcher_close(&flow->batcher);
    for (uint32_t i = 0; i < flow->pipeline->replicas_count * flow->pipeline->stages_count; i++)
        thread_join(&flow->pipeline->stages[i].thread);
    pools_check(flow->pipeline);
    pipeline_close(flow->pipeline);
    deadlines_close(flow->deadlines);
    batcher_free(&flow->batcher);
    admission_free(&flow->admission);
}

static void call_leave(struct call *call, void *owner) {
    struct fake_flow *flow = owner;
    deadlines_remove(flow->deadlines, call);
    batcher_remove(&flow->batcher, call);
    admission_leave(&flow->admission, &call->reserved);
}

static void call_gone(void *owner) {
    admission_gone(&((struct fake_flow *)owner)->admission);
}

static void call_done(struct call *call, void *context) {
    struct fake_flow *flow = context;
    bool right = true;
    atomic_fetch_add(&flow->outcomes[call->outcome.status], 1);
    for (uint32_t i = 0; i < call->inputs_count && call->outcome.status == STATUS_OK; i++)
        right = right && *call->requests[i].outputs == request_expect(&call->requests[i]);
    atomic_fetch_add(right ? &flow->good : &flow->wrong, 1);
    atomic_fetch_add(&flow->done, 1);
}

/* A call of `inputs` rows of random length that depend on `seed`. */
static enum status fake_flow_submit(struct fake_flow *flow, uint64_t client, uint32_t inputs,
                                    uint32_t seed, uint64_t deadline_ns, struct call **out) {
    const struct call_needs needs = {.inputs_count = inputs,
                                     .requests_max = inputs,
                                     .tokens_room = (uint64_t)inputs * FAKE_TOKENS_MAX,
                                     .outputs_width = 1};
    struct call *call;
    uint64_t tokens = 0;
    if (call_open(&needs, &call) != STATUS_OK)
        abort();
    for (uint32_t i = 0; i < inputs; i++) {
        struct request *request = &call->requests[i];
        uint64_t offset;
        seed = seed * 1103515245u + 12345u;
        request->tokens = request->item.weight = 1 + (seed >> 16) % FAKE_TOKENS_MAX;
        if (!call_take_tokens(call, request->tokens, &offset))
            abort();
        request->ids = call->ids + offset;
        request->type_ids = call->type_ids + offset;
        for (uint32_t t = 0; t < request->tokens; t++) {
            seed = seed * 1103515245u + 12345u;
            call->ids[offset + t] = (int32_t)(seed >> 16);
            call->type_ids[offset + t] = t % 2;
        }
        tokens += request->tokens;
        fair_flow_append(&call->requests_flow, &request->item);
    }
    call->client = client;
    call->deadline_ns = deadline_ns > 0 ? deadline_ns : UINT64_MAX;
    call->leave = call_leave;
    call->gone = call_gone;
    call->owner = flow;
    call->done = call_done;
    call->context = flow;
    atomic_store(&call->requests_left, inputs);
    enum status status = admission_enter(&flow->admission, tokens, &call->reserved);
    if (status != STATUS_OK) {
        call_release(call); /* the engine's reference, which nobody took */
        call_release(call);
        *out = NULL;
        return status;
    }
    *out = call;
    if (deadlines_add(flow->deadlines, call) == STATUS_OK)
        batcher_add(&flow->batcher, call);
    return STATUS_OK;
}

/* Waits until `count` callbacks have run. */
static void fake_flow_wait(struct fake_flow *flow, int count) {
    while (atomic_load(&flow->done) < count)
        nap_us(200);
}

#endif
