/* encode_finish.c: truncation, template and offsets of one input; the templates of a tokenizer. */
#include "engine/text/encode_finish.h"

#include "engine/text/offset_trim.h"
#include "engine/text/truncation.h"

static const struct token_template *template_of(const struct tokenizer *tokenizer,
                                                const struct finish *finish) {
    return &tokenizer->templates[finish->pair][finish->options.add_special_tokens];
}

/* The blanks of a token as it was made: the vocabulary's spelling counts for one of the model's,
 * also where an added token has the same id and another form. `surface` goes along. */
static struct token_blanks blanks_of(const struct tokenizer *tokenizer,
                                     const struct token_list *list, size_t index, size_t *surface) {
    if (*surface < list->surfaces_count && list->surfaces[*surface].token == index)
        return list->surfaces[(*surface)++].blanks;
    return offset_trim_count(vocabulary_token(&tokenizer->vocabulary, list->tokens[index].id));
}

/* Trims the offsets of one piece of the template, which stands at `at` of the encoding. */
static void trim_piece(const struct tokenizer *tokenizer, const struct template_piece *piece,
                       const struct finish_segment *segment, uint32_t first, uint32_t length,
                       struct encoding *out, uint32_t at) {
    size_t surface = token_list_find_surface(segment->tokens, first);
    for (uint32_t k = 0; k < length; k++) {
        struct token_blanks blanks = blanks_of(tokenizer, segment->tokens, first + k, &surface);
        if (blanks.leading == 0 && blanks.trailing == 0)
            continue;
        for (uint32_t t = 0; t < piece->trims_count; t++)
            offset_trim_apply(segment->text, blanks, (piece->trims[t] & TEMPLATE_TRIM_PREFIX) != 0,
                              k == 0 && (piece->trims[t] & TEMPLATE_TRIM_FIRST) != 0,
                              &out->starts[at + k], &out->ends[at + k]);
    }
}

/* Writes the windows with these numbers of both segments. */
static enum status write(const struct finish *finish, const struct tokenizer *tokenizer,
                         const uint32_t windows[2], struct encoding *out, struct error *err) {
    const struct token_template *template = template_of(tokenizer, finish);
    struct template_segment laid[2] = {{NULL, 0, false}, {NULL, 0, false}};
    uint32_t first[2] = {0, 0}, at = 0;
    for (int s = 0; s < 2; s++) {
        const struct finish_segment *segment = &finish->segments[s];
        if (segment->tokens == NULL)
            continue;
        truncation_window(finish->options.side, segment->count, segment->kept,
                          finish->options.stride, windows[s], &first[s], &laid[s].count);
        if (laid[s].count > 0) /* an empty list has no memory to point into */
            laid[s].tokens = segment->tokens->tokens + first[s];
        laid[s].later_window = windows[s] > 0;
    }
    enum status status = template_apply(template, laid, out);
    if (status != STATUS_OK)
        return error_set(err, status, "no memory for the encoding");
    for (uint32_t i = 0; i < template->pieces_count; i++) {
        const struct template_piece *piece = &template->pieces[i];
        uint32_t length = piece->id >= 0 ? 1 : laid[piece->segment].count;
        if (piece->trims_count > 0 && length > 0)
            trim_piece(tokenizer, piece, &finish->segments[piece->segment], first[piece->segment],
                       length, out, at);
        at += length;
    }
    return STATUS_OK;
}

/* Lowers what is kept of both segments to the limit. */
static enum status cut(struct finish *finish, const struct tokenizer *tokenizer,
                       struct error *err) {
    const struct tokenizer_options *options = &finish->options;
    const struct token_template *template = template_of(tokenizer, finish);
    uint32_t reserved = options->add_special_tokens ? template->reserved : 0;
    uint32_t kept[2] = {finish->segments[0].count, finish->segments[1].count};
    if (options->tokens_max == 0)
        return STATUS_OK;
    if (options->tokens_max < reserved)
        return error_set(err, STATUS_INVALID_VALUE,
                         "a limit of %u tokens leaves no room for the %u special tokens",
                         options->tokens_max, reserved);
    enum status status = truncation_apply(options->strategy, options->tokens_max - reserved,
                                          finish->pair, kept, err);
    for (int s = 0; status == STATUS_OK && s < 2; s++)
        finish->segments[s].kept = kept[s];
    return status;
}

/* Counts the windows of the segments that the template has. */
static enum status count_windows(struct finish *finish, const struct tokenizer *tokenizer,
                                 struct error *err) {
    const struct token_template *template = template_of(tokenizer, finish);
    uint64_t windows = 1;
    for (uint8_t s = 0; s < 2; s++) {
        struct finish_segment *segment = &finish->segments[s];
        uint32_t times = template_segment_count(template, s);
        if (segment->kept == segment->count || times == 0)
            continue;
        if (times > 1)
            return error_set(err, STATUS_INVALID_VALUE,
                             "a template that repeats a text has no overflowing windows");
        if (segment->kept > 0 && finish->options.stride >= segment->kept)
            return error_set(err, STATUS_INVALID_VALUE,
                             "a stride of %u is not below the %u tokens of a window",
                             finish->options.stride, segment->kept);
        segment->windows =
            truncation_windows_kept(segment->count, segment->kept, finish->options.stride);
        windows *= segment->windows;
    }
    finish->overflow_count = windows - 1;
    return STATUS_OK;
}

enum status finish_encode(struct finish *finish, const struct tokenizer *tokenizer,
                          struct encoding *out, struct error *err) {
    const struct token_template *template = template_of(tokenizer, finish);
    uint64_t whole = template->special_count;
    for (uint8_t s = 0; s < 2; s++) {
        struct finish_segment *segment = &finish->segments[s];
        segment->count = segment->kept =
            segment->tokens == NULL ? 0 : (uint32_t)segment->tokens->count;
        segment->windows = 1;
        whole += (uint64_t)segment->count * template_segment_count(template, s);
    }
    finish->overflow_count = 0;
    enum status status = cut(finish, tokenizer, err);
    if (status == STATUS_OK && finish->options.keep_overflow)
        status = count_windows(finish, tokenizer, err);
    if (status == STATUS_OK)
        status = write(finish, tokenizer, (uint32_t[]){0, 0}, out, err);
    if (status != STATUS_OK)
        return status;
    const struct finish_segment *segments = finish->segments;
    out->count_whole = whole < UINT32_MAX ? (uint32_t)whole : UINT32_MAX;
    out->truncated = segments[0].kept != segments[0].count || segments[1].kept != segments[1].count;
    return STATUS_OK;
}

/* Which segment stands first in the template. */
static int leading_segment(const struct token_template *template) {
    for (uint32_t i = 0; i < template->pieces_count; i++)
        if (template->pieces[i].id < 0)
            return template->pieces[i].segment;
    return 0;
}

enum status finish_overflow(const struct finish *finish, const struct tokenizer *tokenizer,
                            uint64_t index, struct encoding *out, struct error *err) {
    int lead = leading_segment(template_of(tokenizer, finish));
    uint64_t others = finish->segments[1 - lead].windows;
    uint64_t later = (uint64_t)(finish->segments[lead].windows - 1) * others;
    uint32_t windows[2];
    /* First the leading segment's later windows, each with all of the other's; then its first. */
    windows[lead] = index < later ? (uint32_t)(1 + index / others) : 0;
    windows[1 - lead] = (uint32_t)(index < later ? index % others : 1 + index - later);
    enum status status = write(finish, tokenizer, windows, out, err);
    out->truncated = true;
    out->count_whole = out->count;
    return status;
}

/* ---- the templates ---- */

void tokenizer_begin_templates(struct tokenizer *tokenizer) {
    for (int pair = 0; pair < 2; pair++)
        for (int add = 0; add < 2; add++)
            template_begin(&tokenizer->templates[pair][add], pair);
}

enum status tokenizer_add_bert_templates(struct tokenizer *tokenizer, int32_t cls, int32_t sep) {
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < 4; i++)
        status = template_bert(&tokenizer->templates[i / 2][i % 2], cls, sep, i % 2);
    return status;
}

enum status tokenizer_add_roberta_templates(struct tokenizer *tokenizer, int32_t cls, int32_t sep) {
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < 4; i++)
        status = template_roberta(&tokenizer->templates[i / 2][i % 2], cls, sep, i % 2);
    return status;
}

enum status tokenizer_add_form_templates(struct tokenizer *tokenizer,
                                         const struct template_form *single,
                                         const struct template_form *pair) {
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < 4; i++)
        status = template_form_apply(&tokenizer->templates[i / 2][i % 2], single, pair, i % 2);
    return status;
}

enum status tokenizer_add_offset_trim(struct tokenizer *tokenizer, bool prefix_space) {
    enum status status = STATUS_OK;
    tokenizer->trims_offsets = true;
    for (int i = 0; status == STATUS_OK && i < 4; i++)
        status = template_trim(&tokenizer->templates[i / 2][i % 2], prefix_space);
    return status;
}

void tokenizer_end_templates(struct tokenizer *tokenizer) {
    for (int i = 0; i < 4; i++)
        template_end(&tokenizer->templates[i / 2][i % 2]);
}

uint32_t tokenizer_special_count(const struct tokenizer *tokenizer, bool pair) {
    return tokenizer->templates[pair][1].special_count;
}

bool tokenizer_keeps_limit(const struct tokenizer *tokenizer) {
    for (int pair = 0; pair < 2; pair++) {
        const struct token_template *template = &tokenizer->templates[pair][1];
        if (template->special_count > template->reserved ||
            template_segment_count(template, 0) > 1 || template_segment_count(template, 1) > 1)
            return false;
    }
    return true;
}
