/* encoding.h: what the tokenizer makes of one input. Plain data that other layers may read.
 *
 * N is the count of tokens, special tokens included. Offsets are byte ranges of the text that the
 * token came from (segment 0: the text, segment 1: its pair); (0, 0) for tokens that the template
 * added. The arrays belong to the encoding and grow on demand up to a maximum. */
#ifndef BERTD_TEXT_ENCODING_H
#define BERTD_TEXT_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"

struct encoding {
    uint32_t count;       /* N */
    uint32_t capacity;    /* room of the arrays */
    int32_t *ids;         /* [N] */
    uint8_t *type_ids;    /* [N] */
    uint8_t *segments;    /* [N] 0 or 1 */
    uint8_t *specials;    /* [N] 1: added by the template */
    uint32_t *starts;     /* [N] first byte in the segment's text */
    uint32_t *ends;       /* [N] one past the last byte */
    uint32_t count_whole; /* tokens before truncation, special tokens included */
    bool truncated;
};

/* An empty encoding holds no memory; encoding_free() makes it empty again. */
void encoding_init(struct encoding *encoding);
void encoding_free(struct encoding *encoding);

/* Makes room for `count` tokens and keeps what is there. Error: NO_MEMORY. */
enum status encoding_reserve(struct encoding *encoding, uint32_t count);

#endif
