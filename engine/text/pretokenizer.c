/* pretokenizer.c: the kinds of splitting, all by the classes of single code points.
 *
 * Each kind gives a code point a class: DROPPED ends a word and vanishes, ALONE is a word of its
 * own, and neighbours of one other class make up a word. */
#include "engine/text/pretokenizer.h"

#include "engine/text/unicode.h"

enum char_class { DROPPED, ALONE, LETTERS, SIGNS };

enum status pretokenizer_add(struct pretokenizer *pretokenizer, enum pretokenizer_kind kind) {
    if (pretokenizer->steps_count == PRETOKENIZER_STEPS_MAX)
        return STATUS_UNSUPPORTED;
    pretokenizer->steps[pretokenizer->steps_count++] = kind;
    return STATUS_OK;
}

static enum char_class class_of(enum pretokenizer_kind kind, uint32_t code) {
    unsigned flags = unicode_record(code)->flags;
    if ((flags & UNICODE_SPACE) != 0)
        return DROPPED;
    if (kind == PRETOKENIZER_BERT)
        return (flags & UNICODE_PUNCTUATION) != 0 ? ALONE : LETTERS;
    if (kind == PRETOKENIZER_WHITESPACE)
        return (flags & UNICODE_WORD) != 0 ? LETTERS : SIGNS;
    return LETTERS;
}

/* Runs the steps from `step` on; as deep as there are steps. */
static enum status split(const struct pretokenizer *pretokenizer, uint32_t step,
                         const struct normal_char *chars, size_t count, pretokenizer_emit *emit,
                         void *context) {
    if (step == pretokenizer->steps_count)
        return count == 0 ? STATUS_OK : emit(context, chars, count);
    enum pretokenizer_kind kind = pretokenizer->steps[step];
    for (size_t at = 0; at < count;) {
        enum char_class first = class_of(kind, chars[at].code);
        size_t end = at + 1;
        while (first > ALONE && end < count && class_of(kind, chars[end].code) == first)
            end++;
        if (first != DROPPED) {
            enum status status = split(pretokenizer, step + 1, chars + at, end - at, emit, context);
            if (status != STATUS_OK)
                return status;
        }
        at = end;
    }
    return STATUS_OK;
}

enum status pretokenizer_apply(const struct pretokenizer *pretokenizer,
                               const struct normal_char *chars, size_t count,
                               pretokenizer_emit *emit, void *context) {
    return split(pretokenizer, 0, chars, count, emit, context);
}
