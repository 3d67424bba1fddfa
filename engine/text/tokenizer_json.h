/* tokenizer_json.h: what the readers of tokenizer.json share (internal to engine/text).
 *
 * tokenizer_json.c reads the document and its top-level fields and calls, in this order, the
 * readers below: _split.c (normalizer, pre-tokenizer), _model.c (model), _post.c (added tokens,
 * post-processor, truncation), _decoder.c (decoder). A new kind of part is one more row of the
 * table that its section has; what has no row is refused by name. */
#ifndef BERTD_TEXT_TOKENIZER_JSON_H
#define BERTD_TEXT_TOKENIZER_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/status.h"
#include "engine/text/json_field.h"
#include "engine/text/tokenizer_parts.h"

enum { TOKENIZER_JSON_PLACE_BYTES = 96 };

/* One part of the file, read by the row of its type; `kind` is the row's. */
typedef enum status part_reader(struct tokenizer *tokenizer, struct json_place place, int kind);

struct part_type {
    const char *name;
    part_reader *read;
    int kind; /* of the step that the type stands for, where it is one step without fields */
};

/* Reads the object at `place` by the row that its "type" names. Errors: BAD_FILE, UNSUPPORTED (no
 * such row; the message lists the rows), NO_MEMORY, those of the row's reader. */
enum status tokenizer_json_read_part(struct tokenizer *tokenizer, struct json_place place,
                                     const struct part_type *types, size_t count);

/* Reads each part of a Sequence, the array `field` of `place`, in turn. */
enum status tokenizer_json_read_sequence(struct tokenizer *tokenizer, struct json_place place,
                                         const char *field, const struct part_type *types,
                                         size_t count);

/* Reads a part that may be absent or null; *found says whether it is there. */
enum status tokenizer_json_read_optional(struct tokenizer *tokenizer, struct json_place document,
                                         const char *field, const struct part_type *types,
                                         size_t count, bool *found);

/* Before the document is parsed: takes the pieces of a Unigram out of its text. *rest receives what
 * is left, which the caller frees; NULL when there was nothing to take. Errors:
 * BAD_FILE, NO_MEMORY. */
enum status tokenizer_json_take_pieces(struct tokenizer *tokenizer, struct view json, char **rest,
                                       size_t *rest_bytes, struct error *err);

/* Enters the tokens of an object {"token": id, ...}. Error: BAD_FILE (no whole number, and what
 * vocabulary_add() refuses), UNSUPPORTED, NO_MEMORY; the message names the token only. */
enum status tokenizer_json_read_ids(struct tokenizer *tokenizer, struct json_place vocab);

/* The fields of the document. */
enum status tokenizer_json_read_normalizer(struct tokenizer *tokenizer, struct json_place document);
enum status tokenizer_json_read_pretokenizer(struct tokenizer *tokenizer,
                                             struct json_place document);
enum status tokenizer_json_read_model(struct tokenizer *tokenizer, struct json_place document);
enum status tokenizer_json_read_added_tokens(struct tokenizer *tokenizer,
                                             struct json_place document);
enum status tokenizer_json_read_decoder(struct tokenizer *tokenizer, struct json_place document);
enum status tokenizer_json_read_post_processor(struct tokenizer *tokenizer,
                                               struct json_place document);
enum status tokenizer_json_read_truncation(struct tokenizer *tokenizer, struct json_place document);

#endif
