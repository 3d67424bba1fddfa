/* engine_submit.c: from a call_spec to an admitted call, on the caller's thread.
 *
 * Everything that the call can come to need is reserved here: its tokens at admission, its memory
 * in one block. What can be refused without tokenizing is refused here. */
#include <string.h>

#include "engine/base/clock.h"
#include "engine/engine_internal.h"

/* What one input can come to. */
struct bound {
    uint64_t least, most; /* tokens, counted for the limits and for admission */
    uint64_t room;        /* tokens that there must be memory for */
    uint64_t bytes;       /* of the text once it is normalised, at most */
    uint64_t requests;
};

/* Normalization may make several characters of one, so a text may have more tokens than bytes;
 * memory is for that, which costs nothing as long as it is not touched. */
enum { ROOM_FACTOR = 3, ROOM_EXTRA = 8 };

static uint64_t at_most(uint64_t value, uint64_t limit) {
    return value < limit ? value : limit;
}

/* Windows of a text with `content` tokens, and their tokens. The count is also bounded by what a
 * call may have: all windows but the last are full. */
static void bound_windows(const struct engine *engine, uint32_t stride, uint64_t content,
                          uint64_t *windows, uint64_t *tokens) {
    const struct engine_info *info = &engine->info;
    uint64_t full = info->tokens_max - info->special_tokens, step = full - stride;
    *windows = content <= full ? 1 : 1 + (content - full + step - 1) / step;
    *tokens = content + *windows * info->special_tokens + (*windows - 1) * stride;
    *windows = at_most(*windows, info->call_tokens_max / info->tokens_max + 1);
    *tokens = at_most(*tokens, (uint64_t)info->call_tokens_max + 1);
}

static enum status bound_ids(const struct engine *engine, const struct call_spec *spec,
                             const struct engine_input *input, struct bound *out,
                             struct error *err) {
    const struct engine_info *info = &engine->info;
    if (input->ids_count == 0)
        return error_set(err, STATUS_INVALID_VALUE, "an input has no token ids");
    for (uint32_t i = 0; i < input->ids_count; i++)
        if (input->ids[i] < 0 || (uint32_t)input->ids[i] >= info->vocab_size)
            return error_set(err, STATUS_INVALID_VALUE,
                             "token id %d is outside the vocabulary of 0 to %u", input->ids[i],
                             info->vocab_size - 1);
    if (input->ids_count > info->tokens_max && !spec->truncate)
        return error_set(err, STATUS_INPUT_TOO_LONG,
                         "the input has %u tokens, the model takes at most %u", input->ids_count,
                         info->tokens_max);
    uint64_t tokens = at_most(input->ids_count, info->tokens_max);
    *out = (struct bound){.least = tokens, .most = tokens, .room = tokens, .requests = 1};
    return STATUS_OK;
}

static enum status bound_input(const struct engine *engine, const struct call_spec *spec,
                               const struct engine_input *input, struct bound *out,
                               struct error *err) {
    const struct engine_info *info = &engine->info;
    if (spec->window && (input->ids || input->text_pair.data))
        return error_set(err, STATUS_INVALID_VALUE, "windows are for single texts, not for %s",
                         input->ids ? "token ids" : "pairs");
    if (input->ids)
        return bound_ids(engine, spec, input, out, err);
    uint64_t bytes = (uint64_t)input->text.bytes + input->text_pair.bytes, ignored;
    uint32_t special = tokenizer_special_count(engine->tokenizer, input->text_pair.data != NULL);
    uint64_t content_room = ROOM_FACTOR * bytes + ROOM_EXTRA;
    *out = (struct bound){.least = special, .bytes = content_room, .requests = 1};
    if (spec->window) {
        bound_windows(engine, spec->window_stride, bytes, &ignored, &out->most);
        bound_windows(engine, spec->window_stride, content_room, &out->requests, &out->room);
    } else {
        out->most = at_most(bytes + special, info->tokens_max);
        out->room = at_most(content_room + special, info->tokens_max);
    }
    return STATUS_OK;
}

static enum status spec_check(const struct engine *engine, const struct call_spec *spec,
                              struct error *err) {
    uint32_t room = engine->info.tokens_max - engine->info.special_tokens;
    if (spec->inputs_count == 0)
        return error_set(err, STATUS_INVALID_VALUE, "the call has no inputs");
    if (spec->task != engine->info.task_kind)
        return error_set(err, STATUS_INVALID_VALUE, "the model's task is %s", engine->info.task);
    if (spec->window && !engine->steps->windows)
        return error_set(err, STATUS_INVALID_VALUE, "windows are not for %s", engine->info.task);
    if (spec->window && spec->window_stride >= room)
        return error_set(err, STATUS_INVALID_VALUE,
                         "a stride of %u tokens leaves no room in windows of %u tokens",
                         spec->window_stride, room);
    return STATUS_OK;
}

/* Adds up what the whole call needs and can come to. */
static enum status spec_measure(const struct engine *engine, const struct call_spec *spec,
                                struct call_needs *needs, uint64_t *most, struct error *err) {
    uint64_t least = 0;
    for (uint32_t i = 0; i < spec->inputs_count; i++) {
        const struct engine_input *input = &spec->inputs[i];
        struct bound bound;
        enum status status = bound_input(engine, spec, input, &bound, err);
        if (status != STATUS_OK) {
            if (err)
                err->input = (int)i;
            return status;
        }
        least += bound.least;
        *most += bound.most;
        needs->tokens_room += bound.room;
        needs->requests_max += bound.requests;
        if (engine->steps->bound_reads)
            engine->steps->bound_reads(engine, input, bound.room, bound.bytes, needs);
        if (input->ids)
            needs->given_ids += input->ids_count;
        else
            needs->texts_bytes += (uint64_t)input->text.bytes + input->text_pair.bytes;
    }
    if (least > engine->info.call_tokens_max)
        return error_set(err, STATUS_CALL_TOO_LARGE,
                         "the call has at least %llu tokens, at most %u are allowed",
                         (unsigned long long)least, engine->info.call_tokens_max);
    needs->tokens_room = at_most(needs->tokens_room, engine->info.call_tokens_max);
    *most = at_most(*most, engine->info.call_tokens_max);
    return STATUS_OK;
}

static struct view text_copy(struct view text, char **at) {
    struct view copy = {*at, text.bytes};
    if (text.bytes > 0)
        memcpy(*at, text.data, text.bytes);
    *at += text.bytes;
    return copy;
}

static uint32_t text_weight(const struct engine_input *input) {
    uint64_t bytes =
        input->ids ? input->ids_count : (uint64_t)input->text.bytes + input->text_pair.bytes;
    return (uint32_t)at_most(bytes + 1, UINT32_MAX);
}

/* The queue for the inputs of a call. */
static struct turns *texts_choose(const struct engine *engine, const struct call_spec *spec) {
    enum { LONG_TEXT_BYTES = 1 << 15 };
    for (uint32_t i = 0; i < spec->inputs_count; i++)
        if (!spec->inputs[i].ids && text_weight(&spec->inputs[i]) > LONG_TEXT_BYTES)
            return engine->long_texts;
    return engine->texts;
}

/* Copies the inputs into the call and shares its requests out among them. Returns where the room
 * for texts goes on. */
static char *call_fill(const struct engine *engine, const struct call_spec *spec,
                       struct call *call) {
    struct request *requests = call->requests;
    char *texts = call->texts;
    int32_t *ids = call->given_ids;
    for (uint32_t i = 0; i < spec->inputs_count; i++) {
        const struct engine_input *from = &spec->inputs[i];
        struct input *input = &call->inputs[i];
        struct bound bound;
        bound_input(engine, spec, from, &bound, NULL);
        input->requests = requests;
        input->requests_max = (uint32_t)bound.requests;
        requests += bound.requests;
        if (from->ids) {
            memcpy(ids, from->ids, from->ids_count * sizeof *ids);
            input->ids = ids;
            input->ids_count = from->ids_count;
            ids += from->ids_count;
        } else {
            input->text = text_copy(from->text, &texts);
            if (from->text_pair.data)
                input->text_pair = text_copy(from->text_pair, &texts);
        }
        input->item.weight = text_weight(from);
        fair_flow_append(&call->inputs_flow, &input->item);
    }
    return texts;
}

/* The engine's hand in the answer: nothing of the call waits anywhere any more. */
static void call_leave(struct call *call, void *owner) {
    struct engine *engine = owner;
    deadlines_remove(engine->deadlines, call);
    turns_remove(((const struct call_settings *)call->settings)->texts, &call->inputs_flow);
    batcher_remove(&engine->batcher, call);
    admission_leave(&engine->admission, &call->reserved);
    if (call->outcome.status != STATUS_OK)
        return;
    uint64_t tokens = 0, truncated = 0;
    for (uint32_t i = 0; i < call->inputs_count; i++) {
        tokens += call->inputs[i].tokens;
        truncated += call->inputs[i].truncated;
    }
    atomic_fetch_add(&engine->inputs, call->inputs_count);
    atomic_fetch_add(&engine->tokens, tokens);
    atomic_fetch_add(&engine->truncated, truncated);
}

static void call_gone(void *owner) {
    struct engine *engine = owner;
    admission_gone(&engine->admission);
}

static enum status call_make(struct engine *engine, const struct call_spec *spec,
                             struct call_needs *needs, struct call **out, struct error *err) {
    struct call *call;
    needs->inputs_count = spec->inputs_count;
    if (call_open(needs, &call) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a call of %u inputs",
                         spec->inputs_count);
    struct call_settings *settings = call->settings;
    *settings = (struct call_settings){
        .truncate = spec->truncate,
        .window = spec->window,
        .side = spec->side,
        .window_stride = spec->window_stride,
        .texts = texts_choose(engine, spec),
        .steps = engine->steps,
    };
    call->client = spec->client;
    call->deadline_ns = spec->deadline_ns > 0 ? spec->deadline_ns : UINT64_MAX;
    call->leave = call_leave;
    call->gone = call_gone;
    call->owner = engine;
    call->done = spec->done;
    call->context = spec->context;
    call->submitted_ns = clock_now_ns();
    atomic_init(&call->inputs_left, spec->inputs_count);
    engine->steps->fill(engine, spec, call, call_fill(engine, spec, call));
    *out = call;
    return STATUS_OK;
}

static enum status admission_refuse(const struct engine *engine, enum status status,
                                    struct error *err) {
    if (status == STATUS_DRAINING)
        return error_set(err, status, "the server finishes what it has and takes nothing new");
    if (status == STATUS_STAGE_STUCK)
        return error_set(err, status, "%s", status_meaning(status));
    return error_set(err, status,
                     "the queue is full: %llu tokens are reserved, new calls are taken below %llu",
                     (unsigned long long)atomic_load(&engine->admission.queue_tokens),
                     (unsigned long long)engine->info.queue_tokens_max);
}

enum status engine_submit(struct engine *engine, const struct call_spec *spec, struct call **out,
                          struct error *err) {
    struct call_needs needs = {.settings_bytes = sizeof(struct call_settings)};
    uint64_t most = 0;
    _Atomic uint64_t reserved = 0;
    *out = NULL;
    enum status status = spec_check(engine, spec, err);
    if (status == STATUS_OK)
        status = engine->steps->measure(engine, spec, &needs, err);
    if (status == STATUS_OK)
        status = spec_measure(engine, spec, &needs, &most, err);
    if (status != STATUS_OK)
        return status;
    status = admission_enter(&engine->admission, most, &reserved);
    if (status != STATUS_OK)
        return admission_refuse(engine, status, err);
    struct call *call = NULL;
    status = call_make(engine, spec, &needs, &call, err);
    if (status != STATUS_OK) {
        admission_leave(&engine->admission, &reserved);
        admission_gone(&engine->admission);
        return status;
    }
    atomic_store(&call->reserved, reserved);
    *out = call;
    /* From here on others may answer the call at any moment: CANCELLED only says that one has.
     * There is room, since admission lets in as many calls as the queues take. */
    struct turns *texts = ((const struct call_settings *)call->settings)->texts;
    if (deadlines_add(engine->deadlines, call) == STATUS_OK)
        turns_add(texts, call, &call->inputs_flow);
    return STATUS_OK;
}

void call_cancel(struct call *call) {
    struct error cancelled;
    error_set(&cancelled, STATUS_CANCELLED, "the client no longer wants the answer");
    call_answer(call, &cancelled);
}

enum status call_outcome(const struct call *call, struct error *err) {
    if (err)
        *err = call->outcome;
    return call->outcome.status;
}

void call_get_answer(const struct call *call, uint32_t input, struct call_answer *out) {
    const struct input *from = &call->inputs[input];
    *out = (struct call_answer){
        .tokens = from->tokens,
        .windows = from->requests_count,
        .truncated = from->truncated,
    };
    ((const struct call_settings *)call->settings)->steps->answer(from, out);
}

/* The three times follow on one another and add up to the whole: a phase that was not reached
 * ends with the answer. */
void call_get_times(const struct call *call, struct call_times *out) {
    uint64_t tokenized = atomic_load(&call->tokenized_ns), taken = atomic_load(&call->taken_ns);
    uint64_t end = call->answered_ns;
    if (tokenized == 0 || tokenized > end)
        tokenized = end;
    if (taken < tokenized || taken > end)
        taken = taken == 0 || taken > end ? end : tokenized;
    *out = (struct call_times){
        .tokenize_ns = tokenized - call->submitted_ns,
        .queue_ns = taken - tokenized,
        .compute_ns = end - taken,
    };
}
