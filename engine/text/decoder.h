/* decoder.h: the tokens of some ids into one text. The way back; owned by the tokenizer, immutable
 * after open.
 *
 * A decoder is a list of steps, each of which rewrites the list of pieces that the one before left;
 * the text is the join of the last list. Each kind is a row of the table in decoder.c. The steps
 * are those of the pinned library's `decoders`, these quirks of it included:
 * - WordPiece keeps its prefix on the first piece, and cleans up within each piece, never across
 *   two, so that "do" "not" stays; of a piece that is "'" with blanks around only "'" is left.
 * - ByteLevel takes a piece as it stands when one of its characters stands for no byte.
 * - ByteFallback reads "<0x+F>" as a byte too; of bytes that are not UTF-8 together each becomes
 *   one U+FFFD.
 * - Metaspace drops every mark of the first piece, not only a leading one.
 * - BPEDecoder turns each suffix into a blank, wherever it stands, but in the last piece into
 *   nothing.
 * Where Strip makes the library panic (more to cut than there is) the piece ends up empty. */
#ifndef BERTD_TEXT_DECODER_H
#define BERTD_TEXT_DECODER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/text/pattern.h"
#include "engine/text/pieces.h"

enum { DECODER_STEPS_MAX = 32 };

enum decoder_kind {
    DECODER_WORDPIECE,     /* pattern: the prefix; flag: clean up */
    DECODER_BYTE_LEVEL,    /* characters that stand for bytes -> bytes, then lossy UTF-8 */
    DECODER_METASPACE,     /* pattern: the mark; flag: the first piece loses its marks */
    DECODER_BYTE_FALLBACK, /* runs of <0xE2> pieces -> characters */
    DECODER_FUSE,          /* all pieces become one */
    DECODER_STRIP,         /* pattern: one character, at most `start` and `stop` times */
    DECODER_REPLACE,       /* pattern -> content */
    DECODER_REPLACE_REGEX, /* regex -> content */
    DECODER_BPE,           /* pattern: the suffix */
    DECODER_KINDS
};

/* One step. Fields that its kind does not name are zero. */
struct decoder_step {
    enum decoder_kind kind;
    struct view pattern, content;
    struct pattern *regex;
    uint64_t start, stop;
    bool flag;
};

struct decoder {
    struct decoder_step steps[DECODER_STEPS_MAX]; /* their views and regexes are owned */
    uint32_t steps_count;
    bool present; /* false: tokens are joined with blanks, as the library does without a decoder */
};

void decoder_init(struct decoder *decoder);
void decoder_free(struct decoder *decoder);

/* Appends a step, copies what its views show, and takes its regex over unless it fails. Errors:
 * UNSUPPORTED when there are too many, NO_MEMORY. */
enum status decoder_add(struct decoder *decoder, const struct decoder_step *step);

/* Rewrites a list of tokens until its bytes are the text. Linear in tokens plus text. Errors:
 * INPUT_TOO_LONG (over LIMIT_DECODED_BYTES, or too much work for a regex), NO_MEMORY. */
enum status decoder_apply(const struct decoder *decoder, struct pieces *pieces);

/* Removes the blanks that stand in front of punctuation and English contractions, in one text,
 * as `transformers` does when clean_up_tokenization_spaces is set. Errors: as decoder_apply(). */
enum status decoder_clean_up(struct pieces *text);

#endif
