/* template.c: building a template and laying tokens into it. */
#include "engine/text/template.h"

static enum status add(struct token_template *template, struct template_piece piece) {
    if (template->pieces_count == TEMPLATE_PIECES_MAX)
        return STATUS_UNSUPPORTED;
    template->pieces[template->pieces_count++] = piece;
    return STATUS_OK;
}

enum status template_add_special(struct token_template *template, int32_t id, uint8_t type_id) {
    uint32_t count = template->pieces_count;
    uint8_t segment = count == 0 ? 0 : template->pieces[count - 1].segment;
    enum status status = add(template, (struct template_piece){id, segment, type_id});
    if (status == STATUS_OK)
        template->special_count++;
    return status;
}

enum status template_add_segment(struct token_template *template, uint8_t segment,
                                 uint8_t type_id) {
    return add(template, (struct template_piece){-1, segment, type_id});
}

uint32_t template_segment_count(const struct token_template *template, uint8_t segment) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < template->pieces_count; i++)
        count += template->pieces[i].id < 0 && template->pieces[i].segment == segment;
    return count;
}

static void put(struct encoding *out, struct token token, const struct template_piece *piece) {
    uint32_t at = out->count++;
    out->ids[at] = token.id;
    out->type_ids[at] = piece->type_id;
    out->segments[at] = piece->segment;
    out->specials[at] = piece->id >= 0;
    out->starts[at] = token.start;
    out->ends[at] = token.end;
}

enum status template_apply(const struct token_template *template, bool add_special_tokens,
                           const struct token_list segments[2], const uint32_t first[2],
                           const uint32_t kept[2], struct encoding *out) {
    out->count = 0;
    enum status status = encoding_reserve(out, kept[0] + kept[1] + template->special_count);
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < template->pieces_count; i++) {
        const struct template_piece *piece = &template->pieces[i];
        if (piece->id >= 0) {
            if (add_special_tokens)
                put(out, (struct token){piece->id, 0, 0}, piece);
            continue;
        }
        const struct token *tokens = segments[piece->segment].tokens;
        uint32_t start = first[piece->segment];
        for (uint32_t k = 0; k < kept[piece->segment]; k++)
            put(out, tokens[start + k], piece);
    }
    return STATUS_OK;
}
