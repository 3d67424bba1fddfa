/* pretokenizer.c: runs the steps over a piece, as deep as there are steps.
 *
 * Every kind is a row of the table at the end. Those of BERT go by the class of a code point:
 * DROPPED ends a word and vanishes, ALONE is a word of its own, and neighbours of one other class
 * make up a word. The pinned library runs each step over all pieces before the next one; pieces do
 * not know of each other, so that the order makes no difference. */
#include "engine/text/pretokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "engine/text/byte_level.h"
#include "engine/text/unicode.h"

enum char_class { DROPPED, ALONE, LETTERS, SIGNS };

/* One call of pretokenizer_apply(). */
struct run {
    const struct pretokenizer *pretokenizer;
    struct pretokenizer_scratch *scratch;
    pretokenizer_emit *emit;
    void *context;
};

/* A piece on its way into the step `index`. */
struct piece {
    struct run *run;
    uint32_t index;
    const struct pretokenizer_step *step;
    const struct normal_char *chars;
    size_t count;
};

typedef enum status step_function(const struct piece *piece);

static enum status run_steps(struct run *run, uint32_t index, const struct normal_char *chars,
                             size_t count);

/* Hands code points [start, end) of the piece to the next step. */
static enum status pass(const struct piece *piece, size_t start, size_t end) {
    return run_steps(piece->run, piece->index + 1, piece->chars + start, end - start);
}

/* ---- by classes of code points ---- */

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

static enum status split_classes(const struct piece *piece) {
    enum pretokenizer_kind kind = piece->step->kind;
    const struct normal_char *chars = piece->chars;
    for (size_t at = 0; at < piece->count;) {
        enum char_class first = class_of(kind, chars[at].code);
        size_t end = at + 1;
        while (first > ALONE && end < piece->count && class_of(kind, chars[end].code) == first)
            end++;
        enum status status = first == DROPPED ? STATUS_OK : pass(piece, at, end);
        if (status != STATUS_OK)
            return status;
        at = end;
    }
    return STATUS_OK;
}

static enum status pass_on(void *context, size_t start, size_t end) {
    return pass(context, start, end);
}

static bool is_delimiter(const struct pretokenizer_step *step, uint32_t code) {
    return step->kind == PRETOKENIZER_CHAR ? code == step->code : unicode_is(code, step->flags);
}

/* Each code point that matches is a segment of its own. */
static enum status split_chars(const struct piece *piece) {
    struct piece context = *piece;
    struct splitter splitter = {
        .behavior = piece->step->behavior, .emit = pass_on, .context = &context};
    size_t start = 0;
    enum status status = STATUS_OK;
    for (size_t at = 0; status == STATUS_OK && at < piece->count; at++) {
        if (!is_delimiter(piece->step, piece->chars[at].code))
            continue;
        if (start < at)
            status = splitter_add(&splitter, start, at, false);
        if (status == STATUS_OK)
            status = splitter_add(&splitter, at, at + 1, true);
        start = at + 1;
    }
    if (status == STATUS_OK && start < piece->count)
        status = splitter_add(&splitter, start, piece->count, false);
    return status == STATUS_OK ? splitter_finish(&splitter) : status;
}

static enum status split_pattern(const struct piece *piece) {
    struct piece context = *piece;
    struct splitter splitter = {.behavior = piece->step->behavior,
                                .invert = piece->step->invert,
                                .emit = pass_on,
                                .context = &context};
    struct pattern_search search;
    size_t at = 0, start, end;
    bool found = true;
    enum status status = pattern_search_start(&search, piece->step->pattern,
                                              &piece->run->scratch->searches[piece->index],
                                              piece->chars, piece->count);
    while (status == STATUS_OK && found) {
        status = pattern_search_next(&search, &found, &start, &end);
        if (status != STATUS_OK || !found)
            break;
        if (at < start)
            status = splitter_add(&splitter, at, start, false);
        if (status == STATUS_OK)
            status = splitter_add(&splitter, start, end, true);
        at = end;
    }
    if (status == STATUS_OK && at < piece->count)
        status = splitter_add(&splitter, at, piece->count, false);
    return status == STATUS_OK ? splitter_finish(&splitter) : status;
}

/* What stands before the first code point that has a script is lost, as in the pinned library. */
static enum status split_scripts(const struct piece *piece) {
    unsigned script = 0;
    size_t start = 0;
    for (size_t at = 0; at < piece->count; at++) {
        unsigned next = unicode_record(piece->chars[at].code)->script;
        if (next == 0 || next == script)
            continue;
        enum status status = script == 0 ? STATUS_OK : pass(piece, start, at);
        if (status != STATUS_OK)
            return status;
        script = next;
        start = at;
    }
    return script == 0 ? STATUS_OK : pass(piece, start, piece->count);
}

static enum status split_fixed_length(const struct piece *piece) {
    size_t length = piece->step->length;
    enum status status = STATUS_OK;
    for (size_t at = 0; status == STATUS_OK && at < piece->count; at += length) {
        size_t left = piece->count - at;
        status = pass(piece, at, at + (left < length ? left : length));
    }
    return status;
}

/* ---- ByteLevel and Metaspace ---- */

static enum status split_gpt2(const struct piece *piece) {
    enum status status = STATUS_OK;
    for (size_t at = 0; status == STATUS_OK && at < piece->count;) {
        size_t end = at + byte_level_word_length(piece->chars + at, piece->count - at);
        status = pass(piece, at, end);
        at = end;
    }
    return status;
}

/* Hands the step's buffer to the next step. */
static enum status pass_rewritten(const struct piece *piece) {
    const struct normal_buffer *buffer = &piece->run->scratch->rewritten[piece->index];
    return run_steps(piece->run, piece->index + 1, buffer->chars, buffer->count);
}

/* The piece behind a prefix, which shares the range of the first code point. */
static enum status copy_prefixed(const struct piece *piece, bool prefixed, uint32_t prefix) {
    struct normal_buffer *buffer = &piece->run->scratch->rewritten[piece->index];
    buffer->count = 0;
    enum status status = normal_buffer_reserve(buffer, piece->count + prefixed);
    if (status != STATUS_OK)
        return status;
    if (prefixed) {
        buffer->chars[0] = piece->chars[0];
        buffer->chars[0].code = prefix;
    }
    memcpy(buffer->chars + prefixed, piece->chars, piece->count * sizeof *piece->chars);
    buffer->count = piece->count + prefixed;
    return STATUS_OK;
}

static enum status add_prefix(const struct piece *piece) {
    if (piece->chars[0].code == ' ')
        return pass(piece, 0, piece->count);
    enum status status = copy_prefixed(piece, true, ' ');
    return status == STATUS_OK ? pass_rewritten(piece) : status;
}

static enum status write_bytes(const struct piece *piece) {
    struct normal_buffer *buffer = &piece->run->scratch->rewritten[piece->index];
    buffer->count = 0;
    enum status status = byte_level_write(piece->chars, piece->count, buffer);
    return status == STATUS_OK ? pass_rewritten(piece) : status;
}

static enum status mark_blanks(const struct piece *piece) {
    const struct pretokenizer_step *step = piece->step;
    uint32_t first = piece->chars[0].code;
    bool prefixed = first != ' ' && first != step->code &&
                    (step->scheme == METASPACE_ALWAYS ||
                     (step->scheme == METASPACE_FIRST && piece->chars[0].start == 0));
    enum status status = copy_prefixed(piece, prefixed, step->code);
    if (status != STATUS_OK)
        return status;
    struct normal_buffer *buffer = &piece->run->scratch->rewritten[piece->index];
    for (size_t i = 0; i < buffer->count; i++)
        if (buffer->chars[i].code == ' ')
            buffer->chars[i].code = step->code;
    return pass_rewritten(piece);
}

/* ---- the list of steps ---- */

static step_function *const STEPS[PRETOKENIZER_KINDS] = {
    [PRETOKENIZER_BERT] = split_classes,
    [PRETOKENIZER_WHITESPACE] = split_classes,
    [PRETOKENIZER_WHITESPACE_SPLIT] = split_classes,
    [PRETOKENIZER_PREFIX] = add_prefix,
    [PRETOKENIZER_GPT2] = split_gpt2,
    [PRETOKENIZER_BYTES] = write_bytes,
    [PRETOKENIZER_METASPACE] = mark_blanks,
    [PRETOKENIZER_CHAR] = split_chars,
    [PRETOKENIZER_FLAGS] = split_chars,
    [PRETOKENIZER_SPLIT] = split_pattern,
    [PRETOKENIZER_SCRIPTS] = split_scripts,
    [PRETOKENIZER_FIXED_LENGTH] = split_fixed_length,
};

static enum status run_steps(struct run *run, uint32_t index, const struct normal_char *chars,
                             size_t count) {
    if (count == 0)
        return STATUS_OK;
    if (index == run->pretokenizer->steps_count)
        return run->emit(run->context, chars, count);
    const struct pretokenizer_step *step = &run->pretokenizer->steps[index];
    struct piece piece = {run, index, step, chars, count};
    return STEPS[step->kind](&piece);
}

enum status pretokenizer_apply(const struct pretokenizer *pretokenizer,
                               struct pretokenizer_scratch *scratch,
                               const struct normal_char *chars, size_t count,
                               pretokenizer_emit *emit, void *context) {
    struct run run = {pretokenizer, scratch, emit, context};
    return run_steps(&run, 0, chars, count);
}

enum status pretokenizer_add(struct pretokenizer *pretokenizer,
                             const struct pretokenizer_step *step) {
    if (pretokenizer->steps_count == PRETOKENIZER_STEPS_MAX)
        return STATUS_UNSUPPORTED;
    pretokenizer->steps[pretokenizer->steps_count++] = *step;
    return STATUS_OK;
}

enum status pretokenizer_add_byte_level(struct pretokenizer *pretokenizer, bool add_prefix_space,
                                        bool use_regex) {
    const struct {
        bool wanted;
        struct pretokenizer_step step;
    } steps[] = {{add_prefix_space, {.kind = PRETOKENIZER_PREFIX}},
                 {use_regex, {.kind = PRETOKENIZER_GPT2}},
                 {true, {.kind = PRETOKENIZER_BYTES}}};
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < sizeof steps / sizeof *steps; i++)
        if (steps[i].wanted)
            status = pretokenizer_add(pretokenizer, &steps[i].step);
    return status;
}

enum status pretokenizer_add_metaspace(struct pretokenizer *pretokenizer, uint32_t replacement,
                                       enum metaspace_scheme scheme, bool split) {
    const struct pretokenizer_step mark = {
        .kind = PRETOKENIZER_METASPACE, .code = replacement, .scheme = scheme};
    const struct pretokenizer_step cut = {
        .kind = PRETOKENIZER_CHAR, .code = replacement, .behavior = SPLIT_MERGED_WITH_NEXT};
    enum status status = pretokenizer_add(pretokenizer, &mark);
    return status == STATUS_OK && split ? pretokenizer_add(pretokenizer, &cut) : status;
}

bool pretokenizer_cuts_at_blank(const struct pretokenizer *pretokenizer) {
    for (uint32_t i = 0; i < pretokenizer->steps_count; i++) {
        const struct pretokenizer_step *step = &pretokenizer->steps[i];
        switch (step->kind) {
        case PRETOKENIZER_BERT:
        case PRETOKENIZER_WHITESPACE:
        case PRETOKENIZER_WHITESPACE_SPLIT:
        case PRETOKENIZER_GPT2:
            return true; /* cut there themselves, whatever stands around it */
        case PRETOKENIZER_METASPACE:
            return i + 1 < pretokenizer->steps_count &&
                   pretokenizer->steps[i + 1].kind == PRETOKENIZER_CHAR &&
                   pretokenizer->steps[i + 1].code == step->code;
        case PRETOKENIZER_PREFIX: /* a part that starts with a blank gets none */
            break;
        default:
            return false;
        }
    }
    return false;
}

void pretokenizer_free(struct pretokenizer *pretokenizer) {
    for (uint32_t i = 0; i < pretokenizer->steps_count; i++)
        pattern_close(pretokenizer->steps[i].pattern);
    pretokenizer->steps_count = 0;
}

void pretokenizer_scratch_free(struct pretokenizer_scratch *scratch) {
    for (size_t i = 0; i < PRETOKENIZER_STEPS_MAX; i++) {
        free(scratch->rewritten[i].chars);
        regex_scratch_free(&scratch->searches[i]);
    }
    memset(scratch, 0, sizeof *scratch);
}

size_t pretokenizer_scratch_capacity(const struct pretokenizer_scratch *scratch) {
    size_t capacity = 0;
    for (size_t i = 0; i < PRETOKENIZER_STEPS_MAX; i++)
        capacity += scratch->rewritten[i].capacity + scratch->searches[i].capacity;
    return capacity;
}
