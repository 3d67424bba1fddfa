/* normalizer.c: the steps of normalization over a buffer of code points; every kind is a row of the
 * table at the end. */
#include "engine/text/normalizer.h"

#include <stdlib.h>
#include <string.h>

#include "engine/text/byte_level.h"
#include "engine/text/grapheme.h"
#include "engine/text/normal_forms.h"
#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

enum { MAPPED_BYTES_MAX = 5 }; /* of a cluster that the character map takes whole */

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

static enum status clean(const struct normalizer_step *step, struct normal_text *text) {
    (void)step;
    filter(text, UNICODE_CLEANED, UNICODE_BLANK);
    return STATUS_OK;
}

static enum status strip_nonspacing(const struct normalizer_step *step, struct normal_text *text) {
    (void)step;
    if (!text->ascii)
        filter(text, UNICODE_NONSPACING, 0);
    return STATUS_OK;
}

static enum status strip_marks(const struct normalizer_step *step, struct normal_text *text) {
    (void)step;
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

static enum status space_ideographs(const struct normalizer_step *step, struct normal_text *text) {
    (void)step;
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

static enum status lowercase(const struct normalizer_step *step, struct normal_text *text) {
    (void)step;
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

static enum status change_form(const struct normalizer_step *step, struct normal_text *text) {
    bool compatibility = step->kind == NORMALIZER_NFKC || step->kind == NORMALIZER_NFKD;
    bool compose = step->kind == NORMALIZER_NFC || step->kind == NORMALIZER_NFKC;
    return normal_form_apply(text, compatibility, compose);
}

static enum status nmt(const struct normalizer_step *step, struct normal_text *text) {
    (void)step;
    filter(text, UNICODE_NMT_GONE, UNICODE_NMT_BLANK);
    return STATUS_OK;
}

static enum status strip(const struct normalizer_step *step, struct normal_text *text) {
    struct normal_buffer *now = &text->now;
    size_t start = 0;
    while (step->right && now->count > 0 &&
           unicode_is(now->chars[now->count - 1].code, UNICODE_SPACE))
        now->count--;
    while (step->left && start < now->count && unicode_is(now->chars[start].code, UNICODE_SPACE))
        start++;
    now->count -= start;
    if (start > 0 && now->count > 0)
        memmove(now->chars, now->chars + start, now->count * sizeof *now->chars);
    return STATUS_OK;
}

/* Appends the step's content, all of it with one range. */
static enum status append_content(const struct normalizer_step *step, struct normal_text *text,
                                  uint32_t start, uint32_t end) {
    enum status status = normal_buffer_reserve(&text->next, step->content.bytes);
    for (size_t at = 0; status == STATUS_OK && at < step->content.bytes;) {
        uint32_t code = utf8_decode(step->content.data + at);
        at += utf8_size(code);
        text->ascii = text->ascii && code < 0x80;
        status = normal_buffer_push(&text->next, (struct normal_char){code, start, end});
    }
    return status;
}

static enum status append_text(struct normal_text *text, size_t start, size_t end) {
    enum status status = normal_buffer_reserve(&text->next, end - start);
    if (status == STATUS_OK && start < end) {
        memcpy(text->next.chars + text->next.count, text->now.chars + start,
               (end - start) * sizeof *text->now.chars);
        text->next.count += end - start;
    }
    return status;
}

/* The content takes the range of the first code point, which itself, behind no content at all,
 * counts as new. */
static enum status prepend(const struct normalizer_step *step, struct normal_text *text) {
    if (text->now.count == 0)
        return STATUS_OK;
    struct normal_char *first = &text->now.chars[0];
    enum status status = append_content(step, text, first->start, first->end);
    if (step->content.bytes == 0)
        first->start = first->end = text->origin;
    if (status == STATUS_OK)
        status = append_text(text, 0, text->now.count);
    if (status == STATUS_OK)
        normal_text_swap(text);
    return status;
}

/* The content takes the range of the last code point of the match, or of the one before it. */
static enum status replace(const struct normalizer_step *step, struct normal_text *text) {
    struct pattern_search search;
    size_t copied = 0, start, end;
    bool found = true;
    enum status status = pattern_search_start(&search, step->pattern, &text->search,
                                              text->now.chars, text->now.count);
    while (status == STATUS_OK && found) {
        status =
            text->now.count == 0 ? STATUS_OK : pattern_search_next(&search, &found, &start, &end);
        if (text->now.count == 0 || status != STATUS_OK || !found)
            break;
        const struct normal_char *last = end > 0 ? &text->now.chars[end - 1] : NULL;
        status = append_text(text, copied, start);
        if (status == STATUS_OK)
            status = append_content(step, text, last != NULL ? last->start : text->origin,
                                    last != NULL ? last->end : text->origin);
        copied = end;
    }
    if (status == STATUS_OK)
        status = append_text(text, copied, text->now.count);
    if (status == STATUS_OK)
        normal_text_swap(text);
    return status;
}

static enum status write_bytes(const struct normalizer_step *step, struct normal_text *text) {
    (void)step;
    enum status status = byte_level_write(text->now.chars, text->now.count, &text->next);
    if (status == STATUS_OK)
        normal_text_swap(text);
    text->ascii = false; /* a blank is written beyond it */
    return status;
}

/* ---- the character map ---- */

/* Looks up a few code points, at most MAPPED_BYTES_MAX bytes. */
static bool find_mapped(const struct charsmap *map, const struct normal_char *chars, size_t count,
                        struct view *replacement) {
    char bytes[MAPPED_BYTES_MAX + UTF8_BYTES_MAX];
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += utf8_encode(chars[i].code, bytes + length);
    return charsmap_find(map, (struct view){bytes, length}, replacement);
}

/* Appends a replacement of `count` code points with its changes: what is more than those is new,
 * and what is less is added to the last change, even if that is of something before it. */
static enum status append_mapped(struct normal_buffer *next, struct view replacement,
                                 size_t count) {
    size_t length = 0;
    for (size_t at = 0; at < replacement.bytes; length++) {
        uint32_t code = utf8_decode(replacement.data + at);
        at += utf8_size(code);
        enum status status = normal_buffer_push(next, normal_change(code, length >= count));
        if (status != STATUS_OK)
            return status;
    }
    if (length < count && next->count > 0) {
        struct normal_char *last = &next->chars[next->count - 1];
        *last = normal_change(last->code, normal_change_of(*last) - (int32_t)(count - length));
    }
    return STATUS_OK;
}

/* A cluster of few bytes is replaced whole by what its shortest key says; of others, and of those
 * that no key fits, each code point. */
static enum status map_cluster(const struct charsmap *map, struct normal_buffer *next,
                               const struct normal_char *cluster, size_t count, bool *modified) {
    struct view replacement;
    size_t bytes = 0;
    for (size_t i = 0; i < count && bytes <= MAPPED_BYTES_MAX; i++)
        bytes += utf8_size(cluster[i].code);
    if (bytes <= MAPPED_BYTES_MAX && find_mapped(map, cluster, count, &replacement)) {
        *modified = true;
        return append_mapped(next, replacement, count);
    }
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        bool found = find_mapped(map, cluster + i, 1, &replacement);
        *modified = *modified || found;
        status = found ? append_mapped(next, replacement, 1)
                       : normal_buffer_push(next, normal_change(cluster[i].code, 0));
    }
    return status;
}

static enum status map_chars(const struct normalizer_step *step, struct normal_text *text) {
    bool modified = false;
    enum status status = STATUS_OK;
    for (size_t at = 0; status == STATUS_OK && at < text->now.count;) {
        const struct normal_char *cluster = text->now.chars + at;
        size_t count = grapheme_length(cluster, text->now.count - at);
        status = map_cluster(step->charsmap, &text->next, cluster, count, &modified);
        at += count;
    }
    if (status != STATUS_OK)
        return status;
    if (modified) {
        text->ascii = false; /* not known */
        normal_text_transform(text);
    }
    text->next.count = 0;
    return STATUS_OK;
}

/* ---- the list of steps ---- */

static enum status (*const APPLY[NORMALIZER_KINDS])(const struct normalizer_step *,
                                                    struct normal_text *) = {
    [NORMALIZER_CLEAN] = clean,
    [NORMALIZER_IDEOGRAPHS] = space_ideographs,
    [NORMALIZER_NFC] = change_form,
    [NORMALIZER_NFD] = change_form,
    [NORMALIZER_NFKC] = change_form,
    [NORMALIZER_NFKD] = change_form,
    [NORMALIZER_STRIP_NONSPACING] = strip_nonspacing,
    [NORMALIZER_STRIP_MARKS] = strip_marks,
    [NORMALIZER_LOWERCASE] = lowercase,
    [NORMALIZER_STRIP] = strip,
    [NORMALIZER_NMT] = nmt,
    [NORMALIZER_PREPEND] = prepend,
    [NORMALIZER_REPLACE] = replace,
    [NORMALIZER_BYTE_LEVEL] = write_bytes,
    [NORMALIZER_PRECOMPILED] = map_chars,
};

enum status normalizer_apply(const struct normalizer *normalizer, struct normal_text *text) {
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < normalizer->steps_count; i++)
        status = APPLY[normalizer->steps[i].kind](&normalizer->steps[i], text);
    return status;
}

enum status normalizer_add(struct normalizer *normalizer, const struct normalizer_step *step) {
    if (normalizer->steps_count == NORMALIZER_STEPS_MAX)
        return STATUS_UNSUPPORTED;
    normalizer->steps[normalizer->steps_count++] = *step;
    return STATUS_OK;
}

enum status normalizer_add_bert(struct normalizer *normalizer, bool clean_text,
                                bool handle_chinese_chars, bool strip_accents, bool lowercase) {
    const struct {
        bool wanted;
        struct normalizer_step step;
    } steps[] = {{clean_text, {.kind = NORMALIZER_CLEAN}},
                 {handle_chinese_chars, {.kind = NORMALIZER_IDEOGRAPHS}},
                 {strip_accents, {.kind = NORMALIZER_NFD}},
                 {strip_accents, {.kind = NORMALIZER_STRIP_NONSPACING}},
                 {lowercase, {.kind = NORMALIZER_LOWERCASE}}};
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < sizeof steps / sizeof *steps; i++)
        if (steps[i].wanted)
            status = normalizer_add(normalizer, &steps[i].step);
    return status;
}

void normalizer_step_free(struct normalizer_step *step) {
    pattern_close(step->pattern);
    charsmap_close(step->charsmap);
    free(step->owned);
    *step = (struct normalizer_step){.kind = step->kind};
}

void normalizer_free(struct normalizer *normalizer) {
    for (uint32_t i = 0; i < normalizer->steps_count; i++)
        normalizer_step_free(&normalizer->steps[i]);
    normalizer->steps_count = 0;
}

bool normalizer_cuts_at_blank(const struct normalizer *normalizer) {
    for (uint32_t i = 0; i < normalizer->steps_count; i++)
        switch (normalizer->steps[i].kind) {
        case NORMALIZER_STRIP:       /* sees the ends */
        case NORMALIZER_PREPEND:     /* sees the start */
        case NORMALIZER_REPLACE:     /* may look across the blank, or change it */
        case NORMALIZER_BYTE_LEVEL:  /* changes it */
        case NORMALIZER_PRECOMPILED: /* may join it to what is before */
            return false;
        default:
            break;
        }
    return true;
}
