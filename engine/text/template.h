/* template.h: the special tokens around one text or a pair, as post-processors make them. Last step
 * of an encoding.
 *
 * The pinned library runs post-processors one after the other on a list of encodings. What they do
 * does not depend on the text, so it is worked out once, at load: template_begin(), a function for
 * each processor in turn, template_end(). While that goes on the template is a list of groups, one
 * for each encoding of the library's list; at the end they are joined.
 *
 * Quirks that are followed: RobertaProcessing gives every token the type 0; wrapping a group a
 * second time makes its inner special tokens ordinary ones; a TemplateProcessing behind another
 * processor wraps what that one made; the types that a TemplateProcessing gives count for the first
 * window of a segment only, its overflowing windows keep the types that they had before. */
#ifndef BERTD_TEXT_TEMPLATE_H
#define BERTD_TEXT_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/text/encoding.h"
#include "engine/text/token_list.h"

enum { TEMPLATE_PIECES_MAX = 64, TEMPLATE_TRIMS_MAX = 4, TEMPLATE_NO_SEGMENT = 2 };

/* How blanks at a token's ends are taken out of its offsets (see offset_trim.h). */
enum {
    TEMPLATE_TRIM_PREFIX = 1, /* the blank that add_prefix_space put there stays */
    TEMPLATE_TRIM_FIRST = 2   /* the segment stands first in its group */
};

/* A special token, or (id -1) where the tokens of a segment go. */
struct template_piece {
    int32_t id;
    uint8_t segment;        /* 0 or 1; of a special token: the segment it follows, 0 at the start */
    uint8_t owner;          /* the segment of its group, or TEMPLATE_NO_SEGMENT */
    uint8_t group;          /* while the template is made */
    uint8_t type_id;        /* in the first window of its owner */
    uint8_t window_type_id; /* in the others */
    bool special;           /* counts as one for special_tokens_mask */
    uint8_t trims_count;
    uint8_t trims[TEMPLATE_TRIMS_MAX]; /* in their order, of TEMPLATE_TRIM_… */
};

struct token_template {
    struct template_piece pieces[TEMPLATE_PIECES_MAX];
    uint32_t pieces_count;
    uint32_t special_count; /* tokens that the template adds */
    uint32_t reserved;      /* tokens that truncation leaves room for, as the library counts */
    uint32_t groups_count;  /* while the template is made */
    bool pair;
};

/* A template of the file: special tokens and segments with their types. */
struct template_form {
    struct template_piece pieces[TEMPLATE_PIECES_MAX];
    uint32_t pieces_count;
};

/* Append to a form; a special token may be several ids, of which all but the first `join`. Error:
 * UNSUPPORTED when there are too many pieces. */
enum status template_form_special(struct template_form *form, int32_t id, uint8_t type_id,
                                  bool join);
enum status template_form_segment(struct template_form *form, uint8_t segment, uint8_t type_id);

/* The bare segments: their tokens with the types 0 and 1. */
void template_begin(struct token_template *template, bool pair);

/* The processors. With `add` false they leave out the special tokens and do the rest. Errors:
 * UNSUPPORTED (too many pieces or trims; a form where the library would panic). */
enum status template_bert(struct token_template *template, int32_t cls, int32_t sep, bool add);
enum status template_roberta(struct token_template *template, int32_t cls, int32_t sep, bool add);
enum status template_trim(struct token_template *template, bool prefix_space);
enum status template_form_apply(struct token_template *template, const struct template_form *single,
                                const struct template_form *pair, bool add);

/* Says which segment each special token stands with, and counts them. */
void template_end(struct token_template *template);

/* Times that a segment stands in the template. */
uint32_t template_segment_count(const struct token_template *template, uint8_t segment);

/* The tokens of a segment that are laid into the template. */
struct template_segment {
    const struct token *tokens;
    uint32_t count;
    bool later_window; /* not the first one */
};

/* Writes the segments' tokens with the template around them. Everything in `out` but count_whole
 * and truncated is set. Error: NO_MEMORY. */
enum status template_apply(const struct token_template *template,
                           const struct template_segment segments[2], struct encoding *out);

#endif
