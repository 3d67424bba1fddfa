/* decoder.c: the steps of a decoder; see decoder.h. */
#include "engine/text/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "engine/text/byte_alphabet.h"
#include "engine/text/utf8.h"

static const struct view BLANK = {" ", 1};

static struct view rest_of(struct view text, size_t from) {
    return (struct view){text.data + from, text.bytes - from};
}

static bool starts_with(struct view text, struct view prefix) {
    return text.bytes >= prefix.bytes &&
           (prefix.bytes == 0 || memcmp(text.data, prefix.data, prefix.bytes) == 0);
}

/* Appends `text` with each `pattern` in it, from the left, as `content`. An empty pattern stands
 * before each character and at the end. */
static enum status append_replaced(struct pieces *to, struct view text, struct view pattern,
                                   struct view content) {
    enum status status = STATUS_OK;
    size_t at = 0;
    while (status == STATUS_OK && at < text.bytes) {
        const char *hit = pattern.bytes == 0 ? text.data + at
                                             : memmem(text.data + at, text.bytes - at, pattern.data,
                                                      pattern.bytes);
        size_t start = hit == NULL ? text.bytes : (size_t)(hit - text.data);
        status = pieces_append(to, (struct view){text.data + at, start - at});
        at = start;
        if (status != STATUS_OK || hit == NULL)
            break;
        status = pieces_append(to, content);
        at += pattern.bytes;
        if (status == STATUS_OK && pattern.bytes == 0) {
            size_t length = utf8_length((unsigned char)text.data[at]);
            status = pieces_append(to, (struct view){text.data + at, length});
            at += length;
        }
    }
    return status == STATUS_OK && pattern.bytes == 0 ? pieces_append(to, content) : status;
}

/* ---- cleaning up ---- */

struct rule {
    const char *pattern, *content;
    bool whole_text; /* also where a whole text is cleaned */
};

static const struct rule RULES[] = {
    {" .", ".", true},   {" ?", "?", true},     {" !", "!", true},     {" ,", ",", true},
    {" ' ", "'", true},  {" n't", "n't", true}, {" 'm", "'m", true},   {" do not", " don't", false},
    {" 's", "'s", true}, {" 've", "'ve", true}, {" 're", "'re", true},
};

/* Replaces the last bytes of a list, from `start` on, by what the rules make of them, in place:
 * no rule makes a text longer. */
static void clean_up(struct pieces *pieces, size_t start, bool whole_text) {
    char *text = pieces->bytes + start;
    size_t bytes = pieces->bytes_count - start;
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
        struct view pattern = view_of(RULES[i].pattern), content = view_of(RULES[i].content);
        if (whole_text && !RULES[i].whole_text)
            continue;
        size_t from = 0, to = 0;
        const char *hit;
        while (from < bytes &&
               (hit = memmem(text + from, bytes - from, pattern.data, pattern.bytes)) != NULL) {
            size_t before = (size_t)(hit - text) - from;
            memmove(text + to, text + from, before);
            memcpy(text + to + before, content.data, content.bytes);
            from += before + pattern.bytes;
            to += before + content.bytes;
        }
        memmove(text + to, text + from, bytes - from);
        bytes = to + (bytes - from);
    }
    pieces->bytes_count = start + bytes;
}

enum status decoder_clean_up(struct pieces *text) {
    if (text->bytes_count > 0)
        clean_up(text, 0, true);
    text->count = 0;
    return pieces_close(text);
}

/* ---- steps: each reads `from` and fills `to` ---- */

static enum status step_wordpiece(const struct decoder_step *step, const struct pieces *from,
                                  struct pieces *to) {
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < from->count; i++) {
        struct view piece = pieces_at(from, i);
        size_t start = to->bytes_count;
        if (i > 0 && starts_with(piece, step->pattern))
            piece = rest_of(piece, step->pattern.bytes);
        else if (i > 0)
            status = pieces_append(to, BLANK);
        if (status == STATUS_OK)
            status = pieces_append(to, piece);
        if (status == STATUS_OK && step->flag && to->bytes_count > start)
            clean_up(to, start, false);
        if (status == STATUS_OK)
            status = pieces_close(to);
    }
    return status;
}

/* Appends bytes as text: a longest run that could have begun a character and did not end as one
 * becomes one U+FFFD (Unicode 3.9, substitution of maximal subparts). */
static enum status append_lossy(struct pieces *to, struct view bytes) {
    enum status status = STATUS_OK;
    size_t fault;
    while (status == STATUS_OK && !utf8_check(bytes, &fault)) {
        status = pieces_append(to, (struct view){bytes.data, fault});
        if (status == STATUS_OK)
            status = pieces_append(to, view_of("\xEF\xBF\xBD"));
        bytes = rest_of(bytes, fault);
        bytes = rest_of(bytes, utf8_subpart(bytes));
    }
    return status == STATUS_OK ? pieces_append(to, bytes) : status;
}

/* Writes the bytes that a piece's characters stand for; false when one stands for none. */
static bool bytes_of(struct view piece, char *out, size_t *count) {
    *count = 0;
    for (size_t at = 0; at < piece.bytes; at += utf8_length((unsigned char)piece.data[at])) {
        int byte = byte_alphabet_byte(utf8_decode(piece.data + at));
        if (byte < 0)
            return false;
        out[(*count)++] = (char)byte;
    }
    return true;
}

static enum status step_byte_level(const struct decoder_step *step, const struct pieces *from,
                                   struct pieces *to) {
    (void)step;
    char *bytes = malloc(from->bytes_count + 1);
    if (bytes == NULL)
        return STATUS_NO_MEMORY;
    size_t filled = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct view piece = pieces_at(from, i);
        size_t count;
        if (!bytes_of(piece, bytes + filled, &count)) {
            memcpy(bytes + filled, piece.data, piece.bytes);
            count = piece.bytes;
        }
        filled += count;
    }
    enum status status = append_lossy(to, (struct view){bytes, filled});
    free(bytes);
    return status == STATUS_OK ? pieces_close(to) : status;
}

static enum status step_metaspace(const struct decoder_step *step, const struct pieces *from,
                                  struct pieces *to) {
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < from->count; i++) {
        struct view blank = i == 0 && step->flag ? (struct view){NULL, 0} : BLANK;
        status = append_replaced(to, pieces_at(from, i), step->pattern, blank);
        if (status == STATUS_OK)
            status = pieces_close(to);
    }
    return status;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The byte that "<0xE2>" spells, or -1. */
static int spelled_byte(struct view piece) {
    if (piece.bytes != 6 || memcmp(piece.data, "<0x", 3) != 0 || piece.data[5] != '>')
        return -1;
    int high = piece.data[3] == '+' ? 0 : hex_digit(piece.data[3]), low = hex_digit(piece.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Appends one run of bytes: its text, or as many U+FFFD, each a piece of its own. */
static enum status append_run(struct pieces *to, struct view run) {
    bool valid = utf8_check(run, NULL);
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < (valid ? run.bytes > 0 : run.bytes); i++) {
        status = pieces_append(to, valid ? run : view_of("\xEF\xBF\xBD"));
        if (status == STATUS_OK)
            status = pieces_close(to);
    }
    return status;
}

static enum status step_byte_fallback(const struct decoder_step *step, const struct pieces *from,
                                      struct pieces *to) {
    (void)step;
    char *run = malloc(from->count + 1);
    if (run == NULL)
        return STATUS_NO_MEMORY;
    enum status status = STATUS_OK;
    size_t length = 0;
    for (size_t i = 0; status == STATUS_OK && i < from->count; i++) {
        struct view piece = pieces_at(from, i);
        int byte = spelled_byte(piece);
        if (byte >= 0) {
            run[length++] = (char)byte;
            continue;
        }
        status = append_run(to, (struct view){run, length});
        length = 0;
        if (status == STATUS_OK)
            status = pieces_append(to, piece);
        if (status == STATUS_OK)
            status = pieces_close(to);
    }
    if (status == STATUS_OK)
        status = append_run(to, (struct view){run, length});
    free(run);
    return status;
}

static enum status step_fuse(const struct decoder_step *step, const struct pieces *from,
                             struct pieces *to) {
    (void)step;
    enum status status = pieces_append(to, (struct view){from->bytes, from->bytes_count});
    return status == STATUS_OK ? pieces_close(to) : status;
}

static bool ends_with(struct view text, struct view suffix) {
    return text.bytes >= suffix.bytes &&
           starts_with(rest_of(text, text.bytes - suffix.bytes), suffix);
}

static enum status step_strip(const struct decoder_step *step, const struct pieces *from,
                              struct pieces *to) {
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < from->count; i++) {
        struct view piece = pieces_at(from, i);
        for (uint64_t n = 0; n < step->start && starts_with(piece, step->pattern); n++)
            piece = rest_of(piece, step->pattern.bytes);
        for (uint64_t n = 0; n < step->stop && ends_with(piece, step->pattern); n++)
            piece.bytes -= step->pattern.bytes;
        status = pieces_append(to, piece);
        if (status == STATUS_OK)
            status = pieces_close(to);
    }
    return status;
}

static enum status step_replace(const struct decoder_step *step, const struct pieces *from,
                                struct pieces *to) {
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < from->count; i++) {
        struct view piece = pieces_at(from, i);
        if (piece.bytes > 0) /* the library finds nothing in an empty piece, not even nothing */
            status = append_replaced(to, piece, step->pattern, step->content);
        if (status == STATUS_OK)
            status = pieces_close(to);
    }
    return status;
}

/* Appends `text` with each match as `content`. */
static enum status append_matches(struct pieces *to, struct view text, struct normal_text *chars,
                                  const struct decoder_step *step) {
    struct pattern_search search;
    size_t copied = 0, start, end;
    bool found = true;
    enum status status = normal_text_set(chars, text, 0, text.bytes);
    if (status == STATUS_OK)
        status = pattern_search_start(&search, step->regex, &chars->search, chars->now.chars,
                                      chars->now.count);
    while (status == STATUS_OK && found) {
        status = pattern_search_next(&search, &found, &start, &end);
        if (status != STATUS_OK || !found)
            break;
        size_t from = start < chars->now.count ? chars->now.chars[start].start : text.bytes;
        status = pieces_append(to, (struct view){text.data + copied, from - copied});
        if (status == STATUS_OK)
            status = pieces_append(to, step->content);
        copied = end < chars->now.count ? chars->now.chars[end].start : text.bytes;
    }
    return status == STATUS_OK ? pieces_append(to, rest_of(text, copied)) : status;
}

static enum status step_replace_regex(const struct decoder_step *step, const struct pieces *from,
                                      struct pieces *to) {
    struct normal_text chars;
    normal_text_init(&chars);
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < from->count; i++) {
        struct view piece = pieces_at(from, i);
        if (piece.bytes > 0)
            status = append_matches(to, piece, &chars, step);
        if (status == STATUS_OK)
            status = pieces_close(to);
    }
    normal_text_free(&chars);
    return status;
}

static enum status step_bpe(const struct decoder_step *step, const struct pieces *from,
                            struct pieces *to) {
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < from->count; i++) {
        struct view blank = i + 1 == from->count ? (struct view){NULL, 0} : BLANK;
        status = append_replaced(to, pieces_at(from, i), step->pattern, blank);
        if (status == STATUS_OK)
            status = pieces_close(to);
    }
    return status;
}

typedef enum status step_apply(const struct decoder_step *step, const struct pieces *from,
                               struct pieces *to);

static step_apply *const STEPS[DECODER_KINDS] = {
    [DECODER_WORDPIECE] = step_wordpiece,
    [DECODER_BYTE_LEVEL] = step_byte_level,
    [DECODER_METASPACE] = step_metaspace,
    [DECODER_BYTE_FALLBACK] = step_byte_fallback,
    [DECODER_FUSE] = step_fuse,
    [DECODER_STRIP] = step_strip,
    [DECODER_REPLACE] = step_replace,
    [DECODER_REPLACE_REGEX] = step_replace_regex,
    [DECODER_BPE] = step_bpe,
};

/* ---- the list of steps ---- */

void decoder_init(struct decoder *decoder) {
    memset(decoder, 0, sizeof *decoder);
}

static void view_free(struct view *view) {
    free((void *)(uintptr_t)view->data); /* a copy that copy_view() made */
    *view = (struct view){NULL, 0};
}

void decoder_free(struct decoder *decoder) {
    if (decoder == NULL)
        return;
    for (uint32_t i = 0; i < decoder->steps_count; i++) {
        view_free(&decoder->steps[i].pattern);
        view_free(&decoder->steps[i].content);
        pattern_close(decoder->steps[i].regex);
    }
    decoder_init(decoder);
}

static bool copy_view(struct view *view) {
    char *copy = malloc(view->bytes + 1);
    if (copy != NULL && view->bytes > 0)
        memcpy(copy, view->data, view->bytes);
    view->data = copy;
    return copy != NULL;
}

enum status decoder_add(struct decoder *decoder, const struct decoder_step *step) {
    if (decoder->steps_count == DECODER_STEPS_MAX)
        return STATUS_UNSUPPORTED;
    struct decoder_step own = *step;
    bool copied = copy_view(&own.pattern);
    copied = copy_view(&own.content) && copied;
    if (!copied) {
        view_free(&own.pattern);
        view_free(&own.content);
        return STATUS_NO_MEMORY;
    }
    decoder->steps[decoder->steps_count++] = own;
    return STATUS_OK;
}

/* Without a decoder: the tokens with blanks between. */
static enum status join_with_blanks(const struct pieces *from, struct pieces *to) {
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < from->count; i++) {
        if (i > 0)
            status = pieces_append(to, BLANK);
        if (status == STATUS_OK)
            status = pieces_append(to, pieces_at(from, i));
    }
    return status;
}

enum status decoder_apply(const struct decoder *decoder, struct pieces *pieces) {
    struct pieces built;
    pieces_init(&built);
    enum status status = STATUS_OK;
    uint32_t count = decoder->present ? decoder->steps_count : 1;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++) {
        pieces_clear(&built);
        status = decoder->present
                     ? STEPS[decoder->steps[i].kind](&decoder->steps[i], pieces, &built)
                     : join_with_blanks(pieces, &built);
        struct pieces read = *pieces;
        *pieces = built;
        built = read;
    }
    pieces_free(&built);
    return status;
}
