/* api_fill_mask.c: POST /v1/fill_mask; api_call.c has the way, this what is its own. Filled texts
 * are made while the answer is written, on the HTTP thread, so that no thread of the engine waits
 * for them. */
#include "server/api.h"
#include "server/api_call.h"
#include "server/fill_mask.h"
#include "server/fill_mask_read.h"

/* Answers with more tokens than this in all their filled texts go out in slices. */
enum { TOKENS_AT_ONCE = 2048 };

struct fill_mask_task {
    struct call_task task; /* first */
    struct fill_mask_call input;
    struct fill_mask_place place; /* in the item of */
    uint32_t next;
    bool begun;
    uint64_t tokens; /* of the items before it */
};

static bool read(struct call_task *task, const struct call_rules *rules, struct api_error *err) {
    struct fill_mask_task *own = (struct fill_mask_task *)task;
    task->body = &own->input.body;
    return fill_mask_read(task->exchange->body, rules, &own->input, err);
}

static void specify(const struct call_task *task, struct call_spec *spec) {
    spec->fill_mask = ((const struct fill_mask_task *)task)->input.options;
}

static const char *find_param(const struct call_task *task) {
    return ((const struct fill_mask_task *)task)->input.options.targets ? "targets" : NULL;
}

static bool prepare(struct call_task *task, bool *in_slices) {
    const struct fill_mask_task *own = (const struct fill_mask_task *)task;
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < own->input.body.inputs_count; i++) {
        struct call_answer answer;
        call_get_answer(task->call, i, &answer);
        tokens += (uint64_t)answer.fill_mask.masks_count * answer.fill_mask.ranked_count *
                  answer.fill_mask.ids_count;
    }
    *in_slices = tokens > TOKENS_AT_ONCE;
    return true;
}

static void write_warnings(const struct call *call, struct json_writer *out) {
    char warning[FILL_MASK_WARNING_BYTES];
    uint32_t said = 0;
    for (uint32_t next = 0; fill_mask_warn_next(call, &next, &said, warning);) {
        if (said == 1) {
            json_put_key(out, "warnings");
            json_put_begin_array(out);
        }
        json_put_string(out, warning);
    }
    if (said > 0)
        json_put_end_array(out);
}

static bool write(struct call_task *task, size_t slice_bytes, struct json_writer *out) {
    struct fill_mask_task *own = (struct fill_mask_task *)task;
    const size_t start = out->bytes;
    if (!own->begun) {
        json_put_begin_object(out);
        call_write_head(&task->head, out);
        json_put_key(out, "data");
        json_put_begin_array(out);
        own->begun = true;
    }
    for (; own->next < own->input.body.inputs_count; own->next++) {
        const size_t added = out->bytes - start;
        struct call_answer answer;
        call_get_answer(task->call, own->next, &answer);
        if (added >= slice_bytes || fill_mask_write(out, task->engine, &answer, own->next,
                                                    &own->place, slice_bytes - added))
            return true;
        own->place = (struct fill_mask_place){0};
        own->tokens += answer.tokens;
    }
    json_put_end_array(out);
    write_warnings(task->call, out);
    call_write_usage(own->tokens, out);
    json_put_end_object(out);
    return false;
}

void api_fill_mask(struct exchange *exchange) {
    static const struct call_kind kind = {
        .task = ENGINE_FILL_MASK,
        .id_prefix = "fill",
        .task_bytes = sizeof(struct fill_mask_task),
        .read = read,
        .specify = specify,
        .find_param = find_param,
        .prepare = prepare,
        .write = write,
    };
    api_call(exchange, &kind);
}
