/* fill_mask.c: writes one item of a fill-mask answer. */
#include "server/fill_mask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_entry(struct json_writer *json, const struct engine *engine,
                        const struct fill_mask_answer *masks, uint32_t mask,
                        const struct ranked *entry) {
    struct fill_mask_texts texts;
    if (engine_fill_mask_read(engine, masks, mask, entry->id, &texts, NULL) != STATUS_OK) {
        json->failed = true;
        return;
    }
    json_put_begin_object(json);
    json_put_key(json, "score");
    json_put_float(json, entry->score);
    json_put_key(json, "token");
    json_put_integer(json, entry->id);
    json_put_key(json, "token_str");
    json_put_string_view(json, (struct view){texts.token, texts.token_bytes});
    json_put_key(json, "sequence");
    json_put_string_view(json, (struct view){texts.sequence, texts.sequence_bytes});
    json_put_end_object(json);
    free(texts.sequence);
    free(texts.token);
}

bool fill_mask_write(struct json_writer *json, const struct engine *engine,
                     const struct call_answer *answer, uint64_t index,
                     struct fill_mask_place *place, size_t slice_bytes) {
    const struct fill_mask_answer *masks = &answer->fill_mask;
    const size_t start = json->bytes;
    if (!place->begun) {
        json_put_begin_object(json);
        json_put_key(json, "index");
        json_put_unsigned(json, index);
        json_put_key(json, "masks");
        json_put_begin_array(json);
        place->begun = true;
    }
    for (; place->mask < masks->masks_count; place->mask++, place->entry = 0) {
        const struct ranked *ranked = masks->ranked + (size_t)place->mask * masks->ranked_count;
        if (place->entry == 0)
            json_put_begin_array(json);
        for (; place->entry < masks->ranked_count; place->entry++) {
            if (json->bytes - start >= slice_bytes || json_writer_failed(json))
                return true;
            write_entry(json, engine, masks, place->mask, &ranked[place->entry]);
        }
        json_put_end_array(json);
    }
    json_put_end_array(json);
    json_put_key(json, "tokens");
    json_put_unsigned(json, answer->tokens);
    json_put_key(json, "truncated");
    json_put_bool(json, answer->truncated);
    json_put_end_object(json);
    return false;
}

struct numbered {
    struct view text;
    uint32_t number;
};

static int compare_texts(const void *a, const void *b) {
    const struct numbered *x = a, *y = b;
    const size_t bytes = x->text.bytes < y->text.bytes ? x->text.bytes : y->text.bytes;
    int order = bytes ? memcmp(x->text.data, y->text.data, bytes) : 0;
    if (order == 0)
        order = (x->text.bytes > y->text.bytes) - (x->text.bytes < y->text.bytes);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

static int compare_numbers(const void *a, const void *b) {
    const struct numbered *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

bool fill_mask_distinct(struct view *targets, uint32_t *count) {
    struct numbered *sorted = calloc((size_t)*count + 1, sizeof *sorted);
    uint32_t kept = 0;
    if (!sorted)
        return false;
    for (uint32_t i = 0; i < *count; i++)
        sorted[i] = (struct numbered){targets[i], i};
    qsort(sorted, *count, sizeof *sorted, compare_texts);
    for (uint32_t i = 0; i < *count; i++)
        if (i == 0 || !view_equals(sorted[i].text, sorted[kept - 1].text))
            sorted[kept++] = sorted[i];
    qsort(sorted, kept, sizeof *sorted, compare_numbers);
    for (uint32_t i = 0; i < kept; i++)
        targets[i] = sorted[i].text;
    *count = kept;
    free(sorted);
    return true;
}

static bool is_odd(const struct fill_mask_target *target) {
    return target->id < 0 || !target->is_vocabulary;
}

static void warn(const struct fill_mask_target *target, char out[FILL_MASK_WARNING_BYTES]) {
    const struct view *text = &target->text, *token = &target->token;
    if (target->id < 0)
        snprintf(out, FILL_MASK_WARNING_BYTES, "the target '%.*s' has no token and is left out",
                 view_shown(*text), text->data);
    else
        snprintf(out, FILL_MASK_WARNING_BYTES,
                 "the target '%.*s' is not in the vocabulary; its first token '%.*s' stands for it",
                 view_shown(*text), text->data, view_shown(*token), token->data);
}

bool fill_mask_warn_next(const struct call *call, uint32_t *next, uint32_t *said,
                         char out[FILL_MASK_WARNING_BYTES]) {
    uint32_t count, rest = 0;
    const struct fill_mask_target *targets = call_get_targets(call, &count);
    while (*next < count && *said < FILL_MASK_WARNINGS_MAX) {
        const struct fill_mask_target *target = &targets[(*next)++];
        if (!is_odd(target))
            continue;
        warn(target, out);
        (*said)++;
        return true;
    }
    while (*next < count)
        rest += is_odd(&targets[(*next)++]);
    if (rest == 0)
        return false;
    snprintf(out, FILL_MASK_WARNING_BYTES, "%u more targets are not in the vocabulary", rest);
    (*said)++;
    return true;
}
