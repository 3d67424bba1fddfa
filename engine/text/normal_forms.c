/* normal_forms.c: decomposition with canonical ordering, and composition in place behind it. */
#include "engine/text/normal_forms.h"

#include <string.h>

#include "engine/text/unicode.h"

static unsigned rank_of(struct normal_char c) {
    return unicode_record(c.code)->combining;
}

/* Sorts the run of combining code points from `first` to the end of the buffer by class, keeping
 * the order within a class. By insertion where it is short, as it nearly always is; by counting
 * where it is long, so that time stays linear. */
static enum status sort_run(struct normal_buffer *buffer, size_t first) {
    size_t count = buffer->count - first;
    if (count < 2)
        return STATUS_OK; /* an empty buffer may have no memory to point into */
    if (count > 16) {
        enum status status = normal_buffer_reserve(buffer, count);
        if (status != STATUS_OK)
            return status;
    }
    struct normal_char *run = buffer->chars + first, *spare = run + count;
    if (count > 16) {
        size_t places[UINT8_MAX + 2] = {0};
        for (size_t i = 0; i < count; i++)
            places[rank_of(run[i]) + 1]++;
        for (size_t rank = 1; rank <= UINT8_MAX; rank++)
            places[rank] += places[rank - 1];
        memcpy(spare, run, count * sizeof *run);
        for (size_t i = 0; i < count; i++)
            run[places[rank_of(spare[i])]++] = spare[i];
        return STATUS_OK;
    }
    for (size_t i = 1; i < count; i++) {
        struct normal_char moved = run[i];
        unsigned rank = rank_of(moved);
        size_t at = i;
        for (; at > 0 && rank_of(run[at - 1]) > rank; at--)
            run[at] = run[at - 1];
        run[at] = moved;
    }
    return STATUS_OK;
}

/* Appends the decomposition of one code point; *run is where the combining code points start that
 * are not sorted yet. */
static enum status append_decomposed(struct normal_buffer *after, uint32_t code, bool compatibility,
                                     size_t *run) {
    uint32_t parts[UNICODE_DECOMPOSITION_MAX];
    uint32_t length = unicode_decompose(code, compatibility, parts);
    for (uint32_t k = 0; k < length; k++) {
        bool starter = unicode_record(parts[k])->combining == 0;
        enum status status = starter ? sort_run(after, *run) : STATUS_OK;
        if (status == STATUS_OK)
            status = normal_buffer_push(after, normal_change(parts[k], k > 0));
        if (status != STATUS_OK)
            return status;
        if (starter)
            *run = after->count;
    }
    return STATUS_OK;
}

/* Joins what follows a starter to it, unless a code point of the same or a higher class stands
 * between. What is joined takes the places of both in the text. */
static void compose_all(struct normal_buffer *buffer) {
    size_t written = 0;
    struct normal_char *starter = NULL;
    unsigned last = 0; /* rank of the code point before, 0: the starter */
    for (size_t i = 0; i < buffer->count; i++) {
        struct normal_char c = buffer->chars[i];
        unsigned rank = rank_of(c);
        uint32_t whole = starter != NULL && (last == 0 || last < rank)
                             ? unicode_compose(starter->code, c.code)
                             : 0;
        if (whole != 0) {
            *starter = normal_change(whole, normal_change_of(*starter) + normal_change_of(c) - 1);
            continue;
        }
        buffer->chars[written] = c;
        if (rank == 0)
            starter = &buffer->chars[written];
        last = rank;
        written++;
    }
    buffer->count = written;
}

enum status normal_form_apply(struct normal_text *text, bool compatibility, bool compose) {
    if (text->ascii)
        return STATUS_OK;
    size_t run = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < text->now.count; i++)
        status = append_decomposed(&text->next, text->now.chars[i].code, compatibility, &run);
    if (status == STATUS_OK)
        status = sort_run(&text->next, run);
    if (status != STATUS_OK)
        return status;
    if (compose)
        compose_all(&text->next);
    normal_text_transform(text);
    return STATUS_OK;
}
