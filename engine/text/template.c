/* template.c: working out what post-processors make of a text or a pair; laying tokens into it. */
#include "engine/text/template.h"

#include <string.h>

static enum status form_add(struct template_form *form, struct template_piece piece) {
    if (form->pieces_count == TEMPLATE_PIECES_MAX)
        return STATUS_UNSUPPORTED;
    form->pieces[form->pieces_count++] = piece;
    return STATUS_OK;
}

/* The group of a form's next piece. */
static uint8_t next_group(const struct template_form *form, bool join) {
    uint32_t count = form->pieces_count;
    return (uint8_t)(count == 0 ? 0 : form->pieces[count - 1].group + !join);
}

enum status template_form_special(struct template_form *form, int32_t id, uint8_t type_id,
                                  bool join) {
    return form_add(form, (struct template_piece){.id = id,
                                                  .group = next_group(form, join),
                                                  .owner = TEMPLATE_NO_SEGMENT,
                                                  .type_id = type_id,
                                                  .window_type_id = type_id,
                                                  .special = true});
}

enum status template_form_segment(struct template_form *form, uint8_t segment, uint8_t type_id) {
    return form_add(form, (struct template_piece){.id = -1,
                                                  .segment = segment,
                                                  .group = next_group(form, false),
                                                  .type_id = type_id});
}

void template_begin(struct token_template *template, bool pair) {
    memset(template, 0, sizeof *template);
    template->pair = pair;
    template->pieces_count = template->groups_count = pair ? 2 : 1;
    for (uint8_t i = 0; i < template->pieces_count; i++)
        template->pieces[i] = (struct template_piece){
            .id = -1, .segment = i, .owner = i, .group = i, .type_id = i, .window_type_id = i};
}

static enum status append(struct token_template *template, struct template_piece piece) {
    if (template->pieces_count == TEMPLATE_PIECES_MAX)
        return STATUS_UNSUPPORTED;
    template->pieces[template->pieces_count++] = piece;
    return STATUS_OK;
}

/* The special tokens on both sides of a group; -1: none. */
struct wrapping {
    int32_t before, after;
    uint8_t type_id;
};

/* Wraps the first group in one way and each other group in another. */
static enum status wrap(struct token_template *template, struct wrapping first,
                        struct wrapping other) {
    struct token_template old = *template;
    enum status status = STATUS_OK;
    template->pieces_count = 0;
    for (uint32_t i = 0; status == STATUS_OK && i < old.pieces_count;) {
        uint8_t group = old.pieces[i].group;
        struct wrapping how = group == 0 ? first : other;
        struct template_piece mark = {.id = how.before,
                                      .owner = old.pieces[i].owner,
                                      .group = group,
                                      .type_id = how.type_id,
                                      .window_type_id = how.type_id,
                                      .special = true};
        if (mark.id >= 0)
            status = append(template, mark);
        for (; status == STATUS_OK && i < old.pieces_count && old.pieces[i].group == group; i++) {
            old.pieces[i].special = false;
            status = append(template, old.pieces[i]);
        }
        mark.id = how.after;
        if (status == STATUS_OK && mark.id >= 0)
            status = append(template, mark);
    }
    return status;
}

enum status template_bert(struct token_template *template, int32_t cls, int32_t sep, bool add) {
    template->reserved += template->pair ? 3 : 2;
    return add ? wrap(template, (struct wrapping){cls, sep, 0}, (struct wrapping){-1, sep, 1})
               : STATUS_OK;
}

enum status template_roberta(struct token_template *template, int32_t cls, int32_t sep, bool add) {
    template->reserved += template->pair ? 4 : 2;
    for (uint32_t i = 0; i < template->pieces_count; i++) {
        template->pieces[i].type_id = 0;
        if (add) /* else windows keep theirs, another quirk */
            template->pieces[i].window_type_id = 0;
    }
    return add ? wrap(template, (struct wrapping){cls, sep, 0}, (struct wrapping){sep, sep, 0})
               : STATUS_OK;
}

enum status template_trim(struct token_template *template, bool prefix_space) {
    for (uint32_t i = 0; i < template->pieces_count; i++) {
        struct template_piece *piece = &template->pieces[i];
        if (piece->id >= 0)
            continue;
        if (piece->trims_count == TEMPLATE_TRIMS_MAX)
            return STATUS_UNSUPPORTED;
        bool first = i == 0 || template->pieces[i - 1].group != piece->group;
        piece->trims[piece->trims_count++] = (uint8_t)((prefix_space ? TEMPLATE_TRIM_PREFIX : 0) |
                                                       (first ? TEMPLATE_TRIM_FIRST : 0));
    }
    return STATUS_OK;
}

static uint32_t form_special_count(const struct template_form *form) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < form->pieces_count; i++)
        count += form->pieces[i].id >= 0;
    return count;
}

/* Appends the pieces of one group, with the type that the form gives them all. */
static enum status append_group(struct token_template *template, const struct token_template *old,
                                const struct template_piece *form, uint8_t group) {
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < old->pieces_count; i++) {
        struct template_piece piece = old->pieces[i];
        if (piece.group != form->segment)
            continue;
        piece.type_id = form->type_id;
        piece.group = group;
        status = append(template, piece);
    }
    return status;
}

enum status template_form_apply(struct token_template *template, const struct template_form *single,
                                const struct template_form *pair, bool add) {
    struct token_template old = *template;
    const struct template_form *form = old.groups_count == 2 ? pair : single;
    if (old.groups_count != 1 && old.groups_count != 2)
        return STATUS_UNSUPPORTED;
    template->reserved += form_special_count(template->pair ? pair : single);
    template->pieces_count = template->groups_count = 0;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < form->pieces_count; i++) {
        struct template_piece piece = form->pieces[i];
        if (piece.id >= 0 && !add)
            continue;
        bool join = i > 0 && form->pieces[i - 1].group == piece.group;
        template->groups_count += !join;
        uint8_t group = (uint8_t)(template->groups_count - 1);
        if (piece.id < 0 && piece.segment >= old.groups_count)
            return STATUS_UNSUPPORTED;
        if (piece.id < 0) {
            status = append_group(template, &old, &piece, group);
        } else {
            piece.group = group;
            status = append(template, piece);
        }
    }
    return status;
}

void template_end(struct token_template *template) {
    uint8_t segment = 0;
    template->special_count = 0;
    for (uint32_t i = 0; i < template->pieces_count; i++) {
        struct template_piece *piece = &template->pieces[i];
        if (piece->id < 0) {
            segment = piece->segment;
        } else {
            piece->segment = segment;
            template->special_count++;
        }
    }
}

uint32_t template_segment_count(const struct token_template *template, uint8_t segment) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < template->pieces_count; i++)
        count += template->pieces[i].id < 0 && template->pieces[i].segment == segment;
    return count;
}

static void put(struct encoding *out, struct token token, const struct template_piece *piece,
                uint8_t type_id) {
    uint32_t at = out->count++;
    out->ids[at] = token.id;
    out->type_ids[at] = type_id;
    out->segments[at] = piece->segment;
    out->specials[at] = piece->id >= 0 && piece->special;
    out->starts[at] = token.start;
    out->ends[at] = token.end;
}

enum status template_apply(const struct token_template *template,
                           const struct template_segment segments[2], struct encoding *out) {
    uint64_t total = template->special_count;
    for (uint8_t s = 0; s < 2; s++)
        total += (uint64_t)segments[s].count * template_segment_count(template, s);
    out->count = 0;
    enum status status =
        total > UINT32_MAX ? STATUS_NO_MEMORY : encoding_reserve(out, (uint32_t)total);
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < template->pieces_count; i++) {
        const struct template_piece *piece = &template->pieces[i];
        bool later = piece->owner < 2 && segments[piece->owner].later_window;
        uint8_t type_id = later ? piece->window_type_id : piece->type_id;
        if (piece->id >= 0)
            put(out, (struct token){.id = piece->id}, piece, type_id);
        for (uint32_t k = 0; piece->id < 0 && k < segments[piece->segment].count; k++)
            put(out, segments[piece->segment].tokens[k], piece, type_id);
    }
    return STATUS_OK;
}
