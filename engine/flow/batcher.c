/* batcher.c: from fair turns to packed rows. */
#include "engine/flow/batcher.h"

#include <string.h>

#include "engine/base/clock.h"

enum { BATCHER_QUANTUM_TOKENS = 64 };

static const double token_bounds[] = {8,   16,  32,  64,   96,   128,  192,  256,
                                      384, 512, 768, 1024, 2048, 4096, 8192, 16384};
static const double input_bounds[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512};

enum status batcher_init(struct batcher *batcher, struct admission *admission, uint32_t calls_max,
                         uint32_t rows_max, uint32_t budget_tokens, uint32_t parts) {
    memset(batcher, 0, sizeof *batcher);
    batcher->admission = admission;
    batcher->share.items_max = rows_max;
    batcher->share.weight_min = BATCHER_TOKENS_MIN;
    batcher->share.parts = parts;
    atomic_init(&batcher->share.weight_max, budget_tokens);
    histogram_init(&batcher->microbatch_tokens, token_bounds,
                   sizeof token_bounds / sizeof token_bounds[0]);
    histogram_init(&batcher->microbatch_inputs, input_bounds,
                   sizeof input_bounds / sizeof input_bounds[0]);
    return turns_open(calls_max, BATCHER_QUANTUM_TOKENS, &batcher->turns);
}

void batcher_free(struct batcher *batcher) {
    turns_free(batcher->turns);
    batcher->turns = NULL;
}

void batcher_set_budget(struct batcher *batcher, uint32_t budget_tokens) {
    atomic_store(&batcher->share.weight_max, budget_tokens);
}

enum status batcher_add(struct batcher *batcher, struct call *call) {
    return turns_add(batcher->turns, call, &call->requests_flow);
}

static void row_add(struct microbatch *microbatch, struct request *request) {
    uint32_t at = microbatch->tokens;
    memcpy(microbatch->ids + at, request->ids, request->tokens * sizeof *request->ids);
    memcpy(microbatch->type_ids + at, request->type_ids, request->tokens);
    uint32_t reads = microbatch->reads_starts[microbatch->rows];
    for (uint32_t i = 0; i < request->reads_count; i++)
        microbatch->reads[reads++] = at + request->reads[i];
    if (!request->reads)
        microbatch->reads[reads++] = at; /* the first token */
    microbatch->requests[microbatch->rows++] = request;
    microbatch->tokens += request->tokens;
    microbatch->starts[microbatch->rows] = microbatch->tokens;
    microbatch->reads_starts[microbatch->rows] = reads;
}

bool batcher_take(struct batcher *batcher, struct microbatch *microbatch) {
    struct fair_item *item;
    if (turns_take(batcher->turns, &batcher->share, &item) == 0)
        return false;
    uint64_t now = clock_now_ns();
    microbatch->rows = microbatch->tokens = 0;
    microbatch->starts[0] = microbatch->reads_starts[0] = 0;
    for (; item; item = item->next) {
        struct request *request = (struct request *)item; /* its first member */
        row_add(microbatch, request);
        atomic_store(&request->call->taken_ns, now);
        admission_give_back(batcher->admission, &request->call->reserved, request->tokens);
    }
    histogram_observe(&batcher->microbatch_tokens, microbatch->tokens);
    histogram_observe(&batcher->microbatch_inputs, microbatch->rows);
    return true;
}

void batcher_remove(struct batcher *batcher, struct call *call) {
    turns_remove(batcher->turns, &call->requests_flow);
}

void batcher_close(struct batcher *batcher) {
    turns_close(batcher->turns);
}
