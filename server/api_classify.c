/* api_classify.c: POST /v1/classify, native dialect; api_call.c has the way, this what is its own.
 */
#include "server/api.h"
#include "server/api_call.h"
#include "server/classify_read.h"
#include "server/classify_write.h"

/* Answers of more predictions than this go out in slices. */
enum { PREDICTIONS_AT_ONCE = 1024 };

struct classify_task {
    struct call_task task; /* first */
    struct classify_call input;
    struct classify_writer writer;
};

static bool read(struct call_task *task, const struct call_rules *rules, struct api_error *err) {
    struct classify_task *own = (struct classify_task *)task;
    task->body = &own->input.body;
    return classify_read(task->exchange->body, rules, &own->input, err);
}

static void specify(const struct call_task *task, struct call_spec *spec) {
    const struct classify_call *input = &((const struct classify_task *)task)->input;
    spec->window = input->window;
    spec->window_stride = input->window_stride;
    spec->classify = (struct classify_options){
        .activation = (enum activation)input->activation,
        .aggregate = (enum aggregate)input->aggregate,
    };
}

static const char *find_param(const struct call_task *task) {
    return ((const struct classify_task *)task)->input.window ? "window.stride" : NULL;
}

static bool prepare(struct call_task *task, bool *in_slices) {
    struct classify_task *own = (struct classify_task *)task;
    const struct classify_call *input = &own->input;
    const uint32_t top_k = input->cut.top_k, labels = task->info->labels_count;
    const uint64_t predictions = top_k > 0 && top_k < labels ? top_k : labels;
    *in_slices = predictions * input->body.inputs_count > PREDICTIONS_AT_ONCE;
    own->writer = (struct classify_writer){
        .head = task->head,
        .call = task->call,
        .info = task->info,
        .inputs_count = input->body.inputs_count,
        .activation = input->activation == ACTIVATION_AUTO ? task->info->activation
                                                           : (enum activation)input->activation,
        .cut = input->cut,
    };
    return classify_writer_init(&own->writer);
}

static bool write(struct call_task *task, size_t slice_bytes, struct json_writer *out) {
    return classify_writer_slice(&((struct classify_task *)task)->writer, slice_bytes, out);
}

static void release(struct call_task *task) {
    classify_writer_free(&((struct classify_task *)task)->writer);
}

void api_classify(struct exchange *exchange) {
    static const struct call_kind kind = {
        .task = ENGINE_TEXT_CLASSIFICATION,
        .id_prefix = "cls",
        .task_bytes = sizeof(struct classify_task),
        .read = read,
        .specify = specify,
        .find_param = find_param,
        .prepare = prepare,
        .write = write,
        .free = release,
    };
    api_call(exchange, &kind);
}
