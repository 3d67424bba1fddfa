/* nodes_measure.c: what the parts of the model cost on this CPU, from a few short runs. */
#include "engine/base/clock.h"
#include "engine/nodes_internal.h"

/* A pass warms up, then the best of RUNS counts; on a slow machine one is enough. Short texts
 * stand for all: attention itself is a small share until they are many times as long. */
enum { RUNS = 3 };
static const uint64_t runs_ns_max = 20 * NS_PER_MS;

/* Texts without requests, as those that warm a pipeline up. */
static void microbatch_fill(struct microbatch *m, uint32_t text_tokens, uint32_t vocab_size) {
    m->rows = PLAN_COST_TOKENS / text_tokens;
    m->tokens = m->rows * text_tokens;
    for (uint32_t i = 0; i < m->tokens; i++) {
        m->ids[i] = (int32_t)(i * 7 % vocab_size);
        m->type_ids[i] = 0;
    }
    for (uint32_t b = 0; b <= m->rows; b++) {
        m->starts[b] = b * text_tokens;
        m->reads_starts[b] = b;
    }
    for (uint32_t b = 0; b < m->rows; b++) {
        m->reads[b] = m->starts[b];
        m->requests[b] = NULL;
    }
}

/* Whether the part is run; a layer between the first and the last is not. */
static bool part_is_measured(const struct nodes *nodes, uint32_t part) {
    const uint32_t last = 1 + (nodes->layers_count - 1) * ENCODER_THIRDS;
    return part < 1 + ENCODER_THIRDS || part >= last;
}

/* Runs the measured parts in order and keeps each one's best time a token. */
static void pass_run(struct nodes *nodes, void *scratch, struct microbatch *microbatch,
                     bool first) {
    for (uint32_t part = 0; part < nodes->parts_count; part++) {
        if (!part_is_measured(nodes, part))
            continue;
        const uint64_t start = clock_thread_ns();
        nodes_run(nodes, part, 1, scratch, microbatch, NULL);
        const double cost = (double)(clock_thread_ns() - start) / microbatch->tokens;
        double *best = &nodes->parts[part].cost;
        if (first || cost < *best)
            *best = cost;
    }
}

static enum status microbatch_make(const struct nodes *nodes, struct microbatch **out,
                                   struct error *err) {
    const struct model_config *config = model_get_config(nodes->model);
    const struct microbatch_room room = {
        .tokens_max = PLAN_COST_TOKENS,
        .rows_max = PLAN_COST_TOKENS,
        .width = nodes->hidden_size,
        .intermediate_width = nodes->intermediate_size,
        .outputs_width = nodes_outputs_width(nodes),
    };
    if (microbatch_open(&room, MEMORY_NODE_ANY, out) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "no memory to measure with");
    const uint32_t tokens =
        config->tokens_max < PLAN_COST_TEXT_TOKENS ? config->tokens_max : PLAN_COST_TEXT_TOKENS;
    microbatch_fill(*out, tokens > 0 ? tokens : 1, config->vocab_size);
    return STATUS_OK;
}

enum status nodes_measure(struct nodes *nodes, struct error *err) {
    struct microbatch *microbatch = NULL;
    void *scratch = NULL;
    enum status status = STATUS_OK;
    for (uint32_t part = 0; part < nodes->parts_count && status == STATUS_OK; part++)
        if (part_is_measured(nodes, part))
            status = nodes_pack_part(nodes, part, MEMORY_NODE_ANY, err);
    if (status == STATUS_OK)
        status = microbatch_make(nodes, &microbatch, err);
    if (status == STATUS_OK)
        status = nodes_scratch_open(nodes, PLAN_COST_TOKENS, MEMORY_NODE_ANY, &scratch, err);
    if (status == STATUS_OK) {
        pass_run(nodes, scratch, microbatch, true);
        const uint64_t end = clock_now_ns() + runs_ns_max;
        for (uint32_t run = 0; run < RUNS && (run == 0 || clock_now_ns() < end); run++)
            pass_run(nodes, scratch, microbatch, run == 0);
        for (uint32_t part = 0; part < nodes->parts_count; part++)
            if (!part_is_measured(nodes, part))
                nodes->parts[part].cost = nodes->parts[1 + (part - 1) % ENCODER_THIRDS].cost;
    }
    nodes_scratch_close(nodes, scratch);
    microbatch_free(microbatch);
    return status;
}
