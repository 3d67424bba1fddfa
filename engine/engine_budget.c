/* engine_budget.c: inputs into microbatches for a budget, with the tokenizer's time; see budget.h.
 */
#include "engine/budget.h"

#include <string.h>

#include "engine/base/clock.h"
#include "engine/engine_internal.h"
#include "engine/nodes_budget.h"

const char *budget_bound_name(enum budget_bound bound) {
    static const char *const names[] = {"", "arithmetic", "weights", "cache"};
    return names[bound];
}

struct filling {
    struct engine *engine;
    struct microbatch *microbatches[BUDGET_MICROBATCHES_MAX];
    uint32_t count;
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
    struct budget *budget;
};

/* The microbatch that so many tokens go into; NULL with OK when all are full. */
static enum status microbatch_for(struct filling *filling, uint32_t tokens, struct microbatch **out,
                                  struct error *err) {
    const struct engine *engine = filling->engine;
    const uint32_t budget = engine->info.microbatch_tokens, most = engine->info.tokens_max;
    const uint32_t tokens_max = budget > most ? budget : most;
    const struct microbatch_room room = {
        .tokens_max = tokens_max,
        .rows_max = tokens_max,
        .width = engine->info.hidden_size,
        .outputs_width = nodes_outputs_width(engine->nodes),
    };
    *out = filling->count > 0 ? filling->microbatches[filling->count - 1] : NULL;
    if (*out && (*out)->tokens + tokens <= budget)
        return STATUS_OK;
    *out = NULL;
    if (filling->count == BUDGET_MICROBATCHES_MAX)
        return STATUS_OK;
    if (microbatch_open(&room, MEMORY_NODE_ANY, out) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "no memory to measure with");
    filling->microbatches[filling->count++] = *out;
    (*out)->starts[0] = (*out)->reads_starts[0] = 0;
    return STATUS_OK;
}

/* A row as batcher.c adds one, but without a request; read where a head would. */
static void row_add(const struct engine *engine, struct microbatch *m, const int32_t *ids,
                    const uint8_t *type_ids, uint32_t tokens) {
    const uint32_t at = m->tokens, first_read = m->reads_starts[m->rows];
    uint32_t reads = first_read;
    memcpy(m->ids + at, ids, tokens * sizeof *ids);
    if (type_ids)
        memcpy(m->type_ids + at, type_ids, tokens);
    else
        memset(m->type_ids + at, 0, tokens);
    for (uint32_t i = 0; engine->steps->task == ENGINE_FILL_MASK && i < tokens; i++)
        if (ids[i] == engine->info.mask_id)
            m->reads[reads++] = at + i;
    if (reads == first_read)
        m->reads[reads++] = at;
    m->requests[m->rows++] = NULL;
    m->tokens += tokens;
    m->starts[m->rows] = m->tokens;
    m->reads_starts[m->rows] = reads;
}

/* The ids of an input; the least time of a few goes counts as the tokenizer's. */
static enum status input_encode(struct filling *filling, const struct engine_input *input,
                                struct error *err) {
    enum { GOES = 3 };
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < GOES; i++) {
        const uint64_t start_ns = clock_now_ns();
        enum status status = engine_encode(filling->engine, filling->scratch, input->text,
                                           input->text_pair.data ? &input->text_pair : NULL,
                                           TRUNCATION_RIGHT, &filling->encoding, err);
        if (status != STATUS_OK)
            return status;
        const uint64_t ns = clock_now_ns() - start_ns;
        best_ns = ns < best_ns ? ns : best_ns;
    }
    const struct encoding *encoding = &filling->encoding;
    filling->budget->tokenize_ns += (double)best_ns;
    return engine_check_types(filling->engine, encoding->type_ids, encoding->count, err);
}

/* Adds an input; *full when there was no room left for it. */
static enum status input_add(struct filling *filling, const struct engine_input *input, bool *full,
                             struct error *err) {
    const int32_t *ids = input->ids;
    const uint8_t *type_ids = NULL;
    uint32_t tokens = input->ids_count;
    const double tokenize_ns = filling->budget->tokenize_ns;
    enum status status = STATUS_OK;
    if (!ids) {
        status = input_encode(filling, input, err);
        ids = filling->encoding.ids;
        type_ids = filling->encoding.type_ids;
        tokens = filling->encoding.count;
    }
    if (tokens > filling->engine->info.tokens_max)
        tokens = filling->engine->info.tokens_max;
    struct microbatch *m = NULL;
    if (status == STATUS_OK)
        status = microbatch_for(filling, tokens, &m, err);
    *full = status == STATUS_OK && !m;
    if (m) {
        row_add(filling->engine, m, ids, type_ids, tokens);
        filling->budget->texts++;
        filling->budget->tokens += tokens;
    } else {
        filling->budget->tokenize_ns = tokenize_ns;
    }
    return status;
}

enum status engine_measure_budget(struct engine *engine, const struct engine_input *inputs,
                                  uint32_t count, uint64_t duration_ns, struct budget *out,
                                  struct error *err) {
    *out = (struct budget){.peak_name = ""};
    struct filling filling = {.engine = engine, .budget = out};
    bool full = false;
    encoding_init(&filling.encoding);
    enum status status = STATUS_OK;
    if (tokenizer_scratch_open(engine->tokenizer, &filling.scratch) != STATUS_OK)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for tokenizing");
    for (uint32_t i = 0; status == STATUS_OK && !full && i < count; i++)
        status = input_add(&filling, &inputs[i], &full, err);
    out->microbatches = filling.count;
    if (status == STATUS_OK)
        status = nodes_measure_budget(engine->model, engine->info.dtype, filling.microbatches,
                                      filling.count, duration_ns, out, err);
    for (uint32_t i = 0; i < filling.count; i++)
        microbatch_free(filling.microbatches[i]);
    encoding_free(&filling.encoding);
    tokenizer_scratch_close(filling.scratch);
    return status;
}
