/* classify_write.c: scores to JSON. */
#include "server/classify_write.h"

#include <math.h>
#include <stdlib.h>

bool classify_writer_init(struct classify_writer *writer) {
    writer->order = malloc(writer->top_k * sizeof *writer->order);
    return writer->order;
}

void classify_writer_free(struct classify_writer *writer) {
    if (!writer)
        return;
    free(writer->order);
    writer->order = NULL;
}

static bool is_better(const float *scores, uint32_t a, uint32_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
}

/* Lets the label at `at` sink in a heap whose root is the worst label. */
static void sink(const float *scores, uint32_t *heap, uint32_t count, uint32_t at) {
    for (;;) {
        uint32_t child = 2 * at + 1, label = heap[at];
        if (child >= count)
            return;
        if (child + 1 < count && is_better(scores, heap[child], heap[child + 1]))
            child++;
        if (!is_better(scores, label, heap[child]))
            return;
        heap[at] = heap[child];
        heap[child] = label;
        at = child;
    }
}

static bool passes(const struct classify_writer *writer, const float *scores, uint32_t label) {
    if (writer->threshold_kind == THRESHOLD_NUMBER)
        return scores[label] >= writer->threshold;
    if (writer->threshold_kind == THRESHOLD_MODEL && !isnan(writer->info->thresholds[label]))
        return scores[label] >= writer->info->thresholds[label];
    return true;
}

uint32_t classify_rank(const struct classify_writer *writer, const float *scores,
                       uint32_t *order) {
    uint32_t count = 0, labels = writer->info->labels_count, label = 0;
    for (; label < labels && count < writer->top_k; label++)
        if (passes(writer, scores, label))
            order[count++] = label;
    for (uint32_t i = count / 2; i > 0; i--)
        sink(scores, order, count, i - 1);
    for (; label < labels; label++) {
        if (is_better(scores, label, order[0]) && passes(writer, scores, label)) {
            order[0] = label;
            sink(scores, order, count, 0);
        }
    }
    /* The worst goes to the end, again and again. */
    for (uint32_t end = count; end > 1; end--) {
        uint32_t worst = order[0];
        order[0] = order[end - 1];
        order[end - 1] = worst;
        sink(scores, order, end - 1, 0);
    }
    return count;
}

static void write_head(struct classify_writer *writer, struct json_writer *out) {
    json_put_begin_object(out);
    json_put_key(out, "id");
    json_put_string(out, writer->id);
    json_put_key(out, "object");
    json_put_string(out, "list");
    json_put_key(out, "created");
    json_put_integer(out, writer->created);
    json_put_key(out, "model");
    json_put_string(out, writer->model_name);
    json_put_key(out, "activation");
    json_put_string(out, classify_activation_words[writer->activation]);
    json_put_key(out, "data");
    json_put_begin_array(out);
    writer->begun = true;
}

static void begin_input(struct classify_writer *writer, const float *scores,
                        struct json_writer *out) {
    uint32_t best = 0;
    for (uint32_t label = 1; label < writer->info->labels_count; label++)
        if (is_better(scores, label, best))
            best = label;
    writer->order_count = classify_rank(writer, scores, writer->order);
    writer->rank = 0;
    writer->inside = true;
    json_put_begin_object(out);
    json_put_key(out, "object");
    json_put_string(out, "classification");
    json_put_key(out, "index");
    json_put_unsigned(out, writer->input);
    json_put_key(out, "label");
    json_put_string(out, writer->info->labels[best]);
    json_put_key(out, "score");
    json_put_float(out, scores[best]);
    json_put_key(out, "predictions");
    json_put_begin_array(out);
}

static void write_prediction(const struct classify_writer *writer, const float *scores,
                             uint32_t label, struct json_writer *out) {
    json_put_begin_object(out);
    json_put_key(out, "label");
    json_put_string(out, writer->info->labels[label]);
    json_put_key(out, "score");
    json_put_float(out, scores[label]);
    json_put_key(out, "index");
    json_put_unsigned(out, label);
    json_put_end_object(out);
}

static void end_input(struct classify_writer *writer, const struct call_answer *answer,
                      struct json_writer *out) {
    json_put_end_array(out);
    json_put_key(out, "tokens");
    json_put_unsigned(out, answer->tokens);
    json_put_key(out, "truncated");
    json_put_bool(out, answer->truncated);
    json_put_end_object(out);
    writer->input++;
    writer->inside = false;
}

static void write_tail(const struct classify_writer *writer, struct json_writer *out) {
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < writer->inputs_count; i++) {
        struct call_answer answer;
        call_get_answer(writer->call, i, &answer);
        tokens += answer.tokens;
    }
    json_put_end_array(out);
    json_put_key(out, "usage");
    json_put_begin_object(out);
    json_put_key(out, "prompt_tokens");
    json_put_unsigned(out, tokens);
    json_put_key(out, "total_tokens");
    json_put_unsigned(out, tokens);
    json_put_end_object(out);
    json_put_end_object(out);
}

bool classify_writer_slice(struct classify_writer *writer, size_t slice_bytes,
                           struct json_writer *out) {
    size_t end = out->bytes + slice_bytes;
    if (!writer->begun)
        write_head(writer, out);
    while (writer->input < writer->inputs_count) {
        struct call_answer answer;
        call_get_answer(writer->call, writer->input, &answer);
        if (!writer->inside)
            begin_input(writer, answer.scores, out);
        for (; writer->rank < writer->order_count; writer->rank++) {
            if (out->bytes >= end || json_writer_failed(out))
                return true;
            write_prediction(writer, answer.scores, writer->order[writer->rank], out);
        }
        end_input(writer, &answer, out);
    }
    write_tail(writer, out);
    return false;
}
