/* engine_fill_mask.c: fill-mask on a call's way, as the FillMaskPipeline of transformers 5.24.0
 * does it: where the masks are, which tokens compete for them, how a filled text reads.
 *
 * The head writes the ranked predictions straight into the call, so nothing is kept of a row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"

static enum status measure(const struct engine *engine, const struct call_spec *spec,
                           struct call_needs *needs, struct error *err) {
    const struct fill_mask_options *options = &spec->fill_mask;
    const uint32_t competing = options->targets ? options->targets_count : engine->info.vocab_size;
    if (options->top_k == 0)
        return error_set(err, STATUS_INVALID_VALUE, "top_k is 0, not 1 or more");
    if (options->targets && options->targets_count == 0)
        return error_set(err, STATUS_INVALID_VALUE, "targets are given, but there is none");
    if (options->targets && options->targets_count > LIMIT_CALL_TARGETS)
        return error_set(err, STATUS_INVALID_VALUE, "the call has %u targets; allowed: %u",
                         options->targets_count, LIMIT_CALL_TARGETS);
    needs->ranked_width = options->top_k < competing ? options->top_k : competing;
    if (!options->targets)
        return STATUS_OK;
    needs->settings_bytes +=
        options->targets_count * (sizeof(struct fill_mask_target) + sizeof(int32_t));
    for (uint32_t i = 0; i < options->targets_count; i++)
        needs->texts_bytes += options->targets[i].bytes;
    return STATUS_OK;
}

/* Every token may be a mask, but a text has at most one for each time that the mask token's bytes
 * fit into it. Beyond what a call may ask for, the exact count decides. */
static void bound_reads(const struct engine *engine, const struct engine_input *input,
                        uint64_t room, uint64_t bytes, struct call_needs *needs) {
    const size_t mask_bytes = engine->info.mask_token ? strlen(engine->info.mask_token) : 1;
    const uint64_t most = LIMIT_CALL_RANKED / needs->ranked_width;
    uint64_t reads = room;
    if (!input->ids && bytes / mask_bytes + 1 < reads)
        reads = bytes / mask_bytes + 1;
    needs->reads_room += reads;
    if (needs->reads_room > most)
        needs->reads_room = most;
}

static void fill(const struct engine *engine, const struct call_spec *spec, struct call *call,
                 char *texts) {
    const struct fill_mask_options *options = &spec->fill_mask;
    struct call_settings *settings = call->settings;
    (void)engine;
    settings->ranking.kept = call->ranked_width;
    if (!options->targets)
        return;
    /* Behind the settings, whose size is a multiple of what either is aligned to. */
    settings->targets = (struct fill_mask_target *)(settings + 1);
    settings->target_ids = (int32_t *)(settings->targets + options->targets_count);
    settings->targets_count = options->targets_count;
    for (uint32_t i = 0; i < options->targets_count; i++) {
        const struct view text = options->targets[i];
        if (text.bytes > 0)
            memcpy(texts, text.data, text.bytes);
        settings->targets[i].text = (struct view){texts, text.bytes};
        texts += text.bytes;
    }
}

/* Lists the masks of a request's sequence. */
static enum status masks_read(const struct engine *engine, struct input *input,
                              struct request *request, struct error *err) {
    const struct call_settings *settings = input->call->settings;
    struct call *call = input->call;
    const int32_t mask = tokenizer_get_mask(engine->tokenizer);
    uint32_t count = 0;
    uint64_t offset;
    for (uint32_t i = 0; i < request->tokens; i++)
        count += request->ids[i] == mask;
    if (count == 0)
        return error_set(err, STATUS_INVALID_VALUE, "the input has no mask token (%s)%s",
                         engine->info.mask_token,
                         input->truncated ? " in the part that truncation left" : "");
    if (!call_take_reads(call, count, &offset))
        return error_set(err, STATUS_CALL_TOO_LARGE,
                         "the call asks for more than the %u predictions (masks times top_k) that "
                         "are allowed",
                         LIMIT_CALL_RANKED);
    uint32_t *reads = call->reads + offset;
    request->reads = reads;
    request->reads_count = count;
    request->ranked = call->ranked + offset * call->ranked_width;
    request->ranking = &settings->ranking;
    for (uint32_t i = 0; i < request->tokens; i++)
        if (request->ids[i] == mask)
            *reads++ = i;
    return STATUS_OK;
}

/* The token itself if the vocabulary has it, else the first one that the text is cut into. */
static enum status target_resolve(struct tokenizer_worker *worker, struct fill_mask_target *target,
                                  struct error *err) {
    const struct tokenizer *tokenizer = worker->engine->tokenizer;
    const struct tokenizer_options options = {.add_special_tokens = false};
    target->id = tokenizer_find(tokenizer, target->text);
    target->is_vocabulary = target->id >= 0;
    if (!target->is_vocabulary) {
        enum status status = tokenizer_encode(tokenizer, worker->scratch, target->text, NULL,
                                              &options, &worker->encoding, err);
        if (status != STATUS_OK)
            return status;
        if (worker->encoding.count > 0)
            target->id = worker->encoding.ids[0];
    }
    if (target->id >= 0)
        target->token = tokenizer_token(tokenizer, target->id);
    return STATUS_OK;
}

static int compare_ids(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The targets' ids, ascending and each once. */
static enum status targets_resolve(struct tokenizer_worker *worker, struct call *call,
                                   struct error *err) {
    struct call_settings *settings = call->settings;
    int32_t *ids = settings->target_ids;
    uint32_t found = 0, distinct = 0;
    for (uint32_t i = 0; i < settings->targets_count; i++) {
        struct fill_mask_target *target = &settings->targets[i];
        enum status status = target_resolve(worker, target, err);
        if (status != STATUS_OK)
            return status;
        if (target->id >= 0)
            ids[found++] = target->id;
    }
    if (!settings->targets)
        return STATUS_OK;
    if (found == 0)
        return error_set(err, STATUS_INVALID_VALUE, "none of the targets has a token");
    qsort(ids, found, sizeof *ids, compare_ids);
    for (uint32_t i = 0; i < found; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            ids[distinct++] = ids[i];
    settings->ranking.ids = ids;
    settings->ranking.ids_count = distinct;
    if (distinct < settings->ranking.kept)
        settings->ranking.kept = distinct;
    return STATUS_OK;
}

/* An answer repeats each text for each of its masks and predictions. */
static enum status filled_check(const struct call *call, struct error *err) {
    const struct call_settings *settings = call->settings;
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < call->inputs_count; i++) {
        const struct request *request = &call->inputs[i].requests[0];
        tokens += (uint64_t)request->reads_count * settings->ranking.kept * request->tokens;
    }
    if (tokens <= LIMIT_CALL_FILLED_TOKENS)
        return STATUS_OK;
    return error_set(err, STATUS_CALL_TOO_LARGE,
                     "the filled texts of the answer (masks times top_k) would have %llu tokens; "
                     "allowed: %u",
                     (unsigned long long)tokens, LIMIT_CALL_FILLED_TOKENS);
}

/* All inputs are right. */
static enum status prepare(struct tokenizer_worker *worker, struct call *call, struct error *err) {
    enum status status = targets_resolve(worker, call, err);
    return status == STATUS_OK ? filled_check(call, err) : status;
}

/* The head has left probabilities, which are all NAN where a logit is not finite. */
static bool score(const struct engine *engine, struct input *input) {
    const struct request *request = &input->requests[0];
    (void)engine;
    for (uint32_t i = 0; i < request->reads_count; i++)
        if (!isfinite(request->ranked[(size_t)i * request->ranking->kept].score))
            return false;
    return true;
}

static void answer(const struct input *input, struct call_answer *out) {
    const struct request *request = &input->requests[0];
    out->fill_mask = (struct fill_mask_answer){
        .ids = request->ids,
        .ids_count = request->tokens,
        .positions = request->reads,
        .masks_count = request->reads_count,
        .ranked = request->ranked,
        .ranked_count = request->ranking->kept,
    };
}

const struct task_steps task_fill_mask = {
    .task = ENGINE_FILL_MASK,
    .measure = measure,
    .bound_reads = bound_reads,
    .fill = fill,
    .read = masks_read,
    .prepare = prepare,
    .score = score,
    .answer = answer,
};

const struct fill_mask_target *call_get_targets(const struct call *call, uint32_t *count) {
    const struct call_settings *settings = call->settings;
    *count = settings->targets_count;
    return settings->targets;
}

enum status engine_fill_mask_read(const struct engine *engine,
                                  const struct fill_mask_answer *answer, uint32_t mask, int32_t id,
                                  struct fill_mask_texts *out, struct error *err) {
    const int32_t pad = tokenizer_get_pad(engine->tokenizer);
    uint32_t count = 0;
    *out = (struct fill_mask_texts){0};
    int32_t *ids = calloc(answer->ids_count, sizeof *ids);
    if (!ids)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a filled text");
    for (uint32_t i = 0; i < answer->ids_count; i++) {
        const int32_t token = i == answer->positions[mask] ? id : answer->ids[i];
        if (token != pad)
            ids[count++] = token;
    }
    enum status status = tokenizer_decode_clean(engine->tokenizer, &id, 1, false, &out->token,
                                                &out->token_bytes, err);
    if (status == STATUS_OK)
        status = tokenizer_decode_clean(engine->tokenizer, ids, count, answer->masks_count == 1,
                                        &out->sequence, &out->sequence_bytes, err);
    if (status != STATUS_OK) {
        free(out->token);
        *out = (struct fill_mask_texts){0};
    }
    free(ids);
    return status;
}
