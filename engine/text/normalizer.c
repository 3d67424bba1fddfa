/* normalizer.c: the steps of normalization over a buffer of code points.
 *
 * Where code points are inserted or change places, the ranges follow the pinned library: a rewrite
 * is a list of (code point, change), where change 0 replaces the next code point of the text and
 * takes its range, and change 1 is new and takes the range of the code point consumed last. */
#include "engine/text/normalizer.h"

#include <string.h>

#include "engine/text/unicode.h"

enum status normalizer_add(struct normalizer *normalizer, enum normalizer_kind kind) {
    if (normalizer->steps_count == NORMALIZER_STEPS_MAX)
        return STATUS_UNSUPPORTED;
    normalizer->steps[normalizer->steps_count++] = kind;
    return STATUS_OK;
}

enum status normalizer_add_bert(struct normalizer *normalizer, bool clean_text,
                                bool handle_chinese_chars, bool strip_accents, bool lowercase) {
    const struct {
        bool wanted;
        enum normalizer_kind kind;
    } steps[] = {{clean_text, NORMALIZER_CLEAN},
                 {handle_chinese_chars, NORMALIZER_IDEOGRAPHS},
                 {strip_accents, NORMALIZER_NFD},
                 {strip_accents, NORMALIZER_STRIP_NONSPACING},
                 {lowercase, NORMALIZER_LOWERCASE}};
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < sizeof steps / sizeof *steps; i++)
        if (steps[i].wanted)
            status = normalizer_add(normalizer, steps[i].kind);
    return status;
}

/* Keeps the code points that have none of the flags; those with `blank` become U+0020. */
static void filter(struct normal_text *text, unsigned removed, unsigned blank) {
    struct normal_char *chars = text->now.chars;
    size_t kept = 0;
    for (size_t i = 0; i < text->now.count; i++) {
        unsigned flags = unicode_record(chars[i].code)->flags;
        if ((flags & removed) == 0) {
            chars[kept] = chars[i];
            if ((flags & blank) != 0)
                chars[kept].code = ' ';
            kept++;
        }
    }
    text->now.count = kept;
}

static enum status clean(struct normal_text *text) {
    filter(text, UNICODE_CLEANED, UNICODE_BLANK);
    return STATUS_OK;
}

static enum status strip_nonspacing(struct normal_text *text) {
    if (!text->ascii)
        filter(text, UNICODE_NONSPACING, 0);
    return STATUS_OK;
}

static enum status strip_marks(struct normal_text *text) {
    if (!text->ascii)
        filter(text, UNICODE_MARK, 0);
    return STATUS_OK;
}

static size_t count_of(const struct normal_text *text, unsigned flags) {
    size_t count = 0;
    for (size_t i = 0; i < text->now.count; i++)
        count += unicode_is(text->now.chars[i].code, flags);
    return count;
}

static enum status space_ideographs(struct normal_text *text) {
    size_t ideographs = text->ascii ? 0 : count_of(text, UNICODE_IDEOGRAPH);
    if (ideographs == 0)
        return STATUS_OK;
    enum status status = normal_buffer_reserve(&text->next, text->now.count + 2 * ideographs);
    if (status != STATUS_OK)
        return status;
    struct normal_char *out = text->next.chars;
    for (size_t i = 0; i < text->now.count; i++) {
        struct normal_char c = text->now.chars[i], blank = {' ', c.start, c.end};
        if (unicode_is(c.code, UNICODE_IDEOGRAPH)) {
            *out++ = blank;
            *out++ = c;
            *out++ = blank;
        } else {
            *out++ = c;
        }
    }
    text->next.count = (size_t)(out - text->next.chars);
    normal_text_swap(text);
    return STATUS_OK;
}

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

/* Gives each code point of the rewrite its range: see the top of the file. */
static void assign_ranges(const struct normal_buffer *before, struct normal_buffer *after) {
    size_t consumed = 0;
    for (size_t i = 0; i < after->count; i++) {
        struct normal_char *c = &after->chars[i];
        bool inserted = c->start != 0;
        if (!inserted && consumed < before->count)
            consumed++;
        struct normal_char from = before->chars[consumed > 0 ? consumed - 1 : 0];
        c->start = from.start;
        c->end = inserted && consumed == 0 ? from.start : from.end;
    }
}

/* Appends the decomposition of one code point; *run is where the combining code points start that
 * are not sorted yet. In `start` of each new one is its change. */
static enum status append_decomposed(struct normal_buffer *after, uint32_t code, size_t *run) {
    uint32_t parts[UNICODE_DECOMPOSITION_MAX];
    uint32_t length = unicode_decompose(code, false, parts);
    for (uint32_t k = 0; k < length; k++) {
        bool starter = unicode_record(parts[k])->combining == 0;
        enum status status = starter ? sort_run(after, *run) : STATUS_OK;
        if (status == STATUS_OK)
            status = normal_buffer_reserve(after, 1);
        if (status != STATUS_OK)
            return status;
        after->chars[after->count++] = (struct normal_char){parts[k], k > 0, 0};
        if (starter)
            *run = after->count;
    }
    return STATUS_OK;
}

static enum status decompose(struct normal_text *text) {
    if (text->ascii)
        return STATUS_OK;
    size_t run = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < text->now.count; i++)
        status = append_decomposed(&text->next, text->now.chars[i].code, &run);
    if (status == STATUS_OK)
        status = sort_run(&text->next, run);
    if (status != STATUS_OK)
        return status;
    assign_ranges(&text->now, &text->next);
    normal_text_swap(text);
    return STATUS_OK;
}

static enum status lowercase(struct normal_text *text) {
    if (text->ascii) {
        for (size_t i = 0; i < text->now.count; i++) {
            struct normal_char *c = &text->now.chars[i];
            c->code += c->code - 'A' < 26 ? 'a' - 'A' : 0;
        }
        return STATUS_OK;
    }
    for (size_t i = 0; i < text->now.count; i++) {
        uint32_t parts[UNICODE_LOWERCASE_MAX];
        struct normal_char c = text->now.chars[i];
        uint32_t length = unicode_lowercase(c.code, parts);
        enum status status = normal_buffer_reserve(&text->next, length);
        if (status != STATUS_OK)
            return status;
        for (uint32_t k = 0; k < length; k++)
            text->next.chars[text->next.count++] = (struct normal_char){parts[k], c.start, c.end};
    }
    normal_text_swap(text);
    return STATUS_OK;
}

static enum status (*const APPLY[NORMALIZER_KINDS])(struct normal_text *) = {
    [NORMALIZER_CLEAN] = clean,
    [NORMALIZER_IDEOGRAPHS] = space_ideographs,
    [NORMALIZER_NFD] = decompose,
    [NORMALIZER_STRIP_NONSPACING] = strip_nonspacing,
    [NORMALIZER_STRIP_MARKS] = strip_marks,
    [NORMALIZER_LOWERCASE] = lowercase,
};

enum status normalizer_apply(const struct normalizer *normalizer, struct normal_text *text) {
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < normalizer->steps_count; i++)
        status = APPLY[normalizer->steps[i]](text);
    return status;
}

bool normalizer_cuts_at_blank(const struct normalizer *normalizer) {
    (void)normalizer; /* no kind looks across a blank */
    return true;
}
