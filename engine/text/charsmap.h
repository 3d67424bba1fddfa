/* charsmap.h: the precompiled character map of sentencepiece: a double-array trie from byte
 * sequences to replacements. Checked whole at open, so that no search can leave it; immutable
 * afterwards. */
#ifndef BERTD_TEXT_CHARSMAP_H
#define BERTD_TEXT_CHARSMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

struct charsmap;

/* Opens the base64 text of a tokenizer file: the trie's bytes as uint32, the trie's units as
 * uint32, then the replacements, each ended by NUL; all little-endian. Errors: BAD_FILE,
 * NO_MEMORY. */
enum status charsmap_open(struct view base64, struct charsmap **out, struct error *err);

/* The same from the bytes themselves, which are copied. */
enum status charsmap_open_bytes(struct view bytes, struct charsmap **out, struct error *err);
void charsmap_close(struct charsmap *map);

/* The replacement of the shortest key that `text` starts with (which stands for all of `text` in
 * the pinned library); false when no key fits. The view belongs to the map. */
bool charsmap_find(const struct charsmap *map, struct view text, struct view *replacement);

#endif
