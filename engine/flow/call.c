/* call.c: the block of a call, its references, its one answer. */
#include "engine/flow/call.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/size.h"

enum { CALL_ALIGN = 16 };

/* A piece of the block that is being laid out: with no block yet, only its size is counted. */
struct layout {
    char *block;
    size_t used;
    bool overflow;
};

static void *layout_take(struct layout *layout, uint64_t count, size_t size) {
    size_t bytes, rounded, end;
    if (count > SIZE_MAX || !size_multiply((size_t)count, size, &bytes) ||
        !size_add(bytes, CALL_ALIGN - 1, &rounded) ||
        !size_add(layout->used, rounded & ~(size_t)(CALL_ALIGN - 1), &end)) {
        layout->overflow = true;
        return NULL;
    }
    void *piece = layout->block ? layout->block + layout->used : NULL;
    layout->used = end;
    return piece;
}

/* The pieces that are zeroed come first; the large ones stay untouched until they are needed. */
static size_t call_lay_out(struct layout *layout, const struct call_needs *needs, struct call *call,
                           float **floats) {
    layout_take(layout, 1, sizeof *call);
    call->inputs = layout_take(layout, needs->inputs_count, sizeof *call->inputs);
    call->requests = layout_take(layout, needs->requests_max, sizeof *call->requests);
    call->settings = layout_take(layout, 1, needs->settings_bytes);
    size_t zeroed = layout->used;
    uint64_t rows = needs->inputs_count + needs->requests_max, floats_count;
    if (__builtin_mul_overflow(rows, (uint64_t)needs->outputs_width, &floats_count))
        layout->overflow = true;
    else
        *floats = layout_take(layout, floats_count, sizeof **floats);
    uint64_t ranked;
    if (__builtin_mul_overflow(needs->reads_room, (uint64_t)needs->ranked_width, &ranked))
        layout->overflow = true;
    else
        call->ranked = layout_take(layout, ranked, sizeof *call->ranked);
    call->reads = layout_take(layout, needs->reads_room, sizeof *call->reads);
    call->given_ids = layout_take(layout, needs->given_ids, sizeof *call->given_ids);
    call->ids = layout_take(layout, needs->tokens_room, sizeof *call->ids);
    call->type_ids = layout_take(layout, needs->tokens_room, sizeof *call->type_ids);
    call->texts = layout_take(layout, needs->texts_bytes, 1);
    return zeroed;
}

enum status call_open(const struct call_needs *needs, struct call **out) {
    struct layout layout = {0};
    struct call sizes, *call;
    float *floats = NULL;
    *out = NULL;
    size_t zeroed = call_lay_out(&layout, needs, &sizes, &floats);
    if (layout.overflow || !(call = malloc(layout.used)))
        return STATUS_NO_MEMORY;
    memset(call, 0, zeroed);
    layout = (struct layout){.block = (char *)call};
    call_lay_out(&layout, needs, call, &floats);
    atomic_init(&call->references, 2);
    call->inputs_count = needs->inputs_count;
    call->requests_max = needs->requests_max;
    call->tokens_room = needs->tokens_room;
    call->reads_room = needs->reads_room;
    call->ranked_width = needs->ranked_width;
    call->heap_index = CALL_UNLISTED;
    call->deadline_ns = UINT64_MAX;
    for (uint32_t i = 0; i < needs->inputs_count; i++, floats += needs->outputs_width) {
        call->inputs[i].call = call;
        call->inputs[i].item.owner = call;
        call->inputs[i].scores = floats;
    }
    for (uint64_t i = 0; i < needs->requests_max; i++, floats += needs->outputs_width) {
        call->requests[i].call = call;
        call->requests[i].item.owner = call;
        call->requests[i].outputs = floats;
    }
    *out = call;
    return STATUS_OK;
}

void call_retain(struct call *call) {
    atomic_fetch_add_explicit(&call->references, 1, memory_order_relaxed);
}

void call_release(struct call *call) {
    if (call && atomic_fetch_sub(&call->references, 1) == 1)
        free(call);
}

bool call_take_tokens(struct call *call, uint32_t tokens, uint64_t *offset) {
    *offset = atomic_fetch_add(&call->tokens_used, tokens);
    return *offset <= call->tokens_room && tokens <= call->tokens_room - *offset;
}

bool call_take_reads(struct call *call, uint32_t count, uint64_t *offset) {
    *offset = atomic_fetch_add(&call->reads_used, count);
    return *offset <= call->reads_room && count <= call->reads_room - *offset;
}

bool call_answer(struct call *call, const struct error *outcome) {
    if (atomic_exchange(&call->answered, true))
        return false;
    if (outcome)
        call->outcome = *outcome;
    else
        call->outcome = (struct error){.status = STATUS_OK, .input = -1};
    call->answered_ns = clock_now_ns();
    void (*gone)(void *) = call->gone;
    void *owner = call->owner;
    call->leave(call, owner);
    call->done(call, call->context);
    call_release(call);
    gone(owner);
    return true;
}
