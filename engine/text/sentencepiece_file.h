/* sentencepiece_file.h: the protobuf of a sentencepiece `.model` file: of its message ModelProto
 * what a tokenizer needs (pieces; trainer_spec: model_type, unk_id; normalizer_spec:
 * precompiled_charsmap). Other fields are stepped over. */
#ifndef BERTD_TEXT_SENTENCEPIECE_FILE_H
#define BERTD_TEXT_SENTENCEPIECE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/view.h"

enum sentencepiece_type {
    SENTENCEPIECE_NORMAL = 1,
    SENTENCEPIECE_UNKNOWN,
    SENTENCEPIECE_CONTROL,
    SENTENCEPIECE_USER_DEFINED,
    SENTENCEPIECE_UNUSED,
    SENTENCEPIECE_BYTE
};

enum sentencepiece_model { SENTENCEPIECE_UNIGRAM = 1, SENTENCEPIECE_BPE };

struct sentencepiece_piece {
    struct view text; /* UTF-8 */
    float score;      /* finite */
    int32_t type;     /* an enum sentencepiece_type, or a later one */
};

struct sentencepiece_file {
    struct sentencepiece_piece *pieces; /* [pieces_count]; their texts are in the file's bytes */
    uint32_t pieces_count;
    int32_t model_type; /* an enum sentencepiece_model, or a later one */
    int32_t unknown_id;
    struct view charsmap; /* empty: none */
};

/* Reads the bytes of a file, which must outlive the result. Errors: BAD_FILE (no message of this
 * form, a piece that is no UTF-8 or has no finite score, too many pieces), NO_MEMORY. */
enum status sentencepiece_file_parse(struct view bytes, struct sentencepiece_file *out,
                                     struct error *err);
void sentencepiece_file_free(struct sentencepiece_file *file);

#endif
