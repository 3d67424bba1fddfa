/* template.h: the special tokens around one text or a pair. Last step of an encoding. */
#ifndef BERTD_TEXT_TEMPLATE_H
#define BERTD_TEXT_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/text/encoding.h"
#include "engine/text/token_list.h"

enum { TEMPLATE_PIECES_MAX = 64 };

/* A special token, or (id -1) where the tokens of a segment go. */
struct template_piece {
    int32_t id;
    uint8_t segment; /* 0 or 1; of a special token: the segment it follows, 0 at the start */
    uint8_t type_id;
};

struct token_template {
    struct template_piece pieces[TEMPLATE_PIECES_MAX];
    uint32_t pieces_count;
    uint32_t special_count;
};

/* Append to a template. Error: UNSUPPORTED when there are too many pieces. */
enum status template_add_special(struct token_template *template, int32_t id, uint8_t type_id);
enum status template_add_segment(struct token_template *template, uint8_t segment, uint8_t type_id);

/* Times that a segment stands in the template. */
uint32_t template_segment_count(const struct token_template *template, uint8_t segment);

/* Writes the segments' tokens, of which `first[s]` and `kept[s]` say what is left, with the
 * template around them. Everything in `out` but count_whole and truncated is set. Error: NO_MEMORY.
 */
enum status template_apply(const struct token_template *template, bool add_special_tokens,
                           const struct token_list segments[2], const uint32_t first[2],
                           const uint32_t kept[2], struct encoding *out);

#endif
