/* sentencepiece_file.c: a reader of the protobuf wire format, just wide enough; see
 * sentencepiece_file.h. Field numbers are those of sentencepiece_model.proto. */
#include "engine/text/sentencepiece_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/text/utf8.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { MODEL_PIECES = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum { TRAINER_MODEL_TYPE = 3, TRAINER_UNK_ID = 40 };
enum { NORMALIZER_CHARSMAP = 2 };

/* One field of a message: `number` is set for VARINT, 32 and 64; `bytes` for BYTES. */
struct field {
    uint64_t id;
    unsigned wire;
    uint64_t number;
    struct view bytes;
};

static bool take_varint(struct view *message, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; shift < 64 && message->bytes > 0; shift += 7) {
        unsigned char byte = (unsigned char)*message->data++;
        message->bytes--;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take_fixed(struct view *message, size_t bytes, uint64_t *out) {
    if (message->bytes < bytes)
        return false;
    *out = 0;
    for (size_t i = 0; i < bytes; i++)
        *out |= (uint64_t)(unsigned char)message->data[i] << (8 * i);
    message->data += bytes;
    message->bytes -= bytes;
    return true;
}

/* Takes the next field off a message that is not empty; false: it is damaged. */
static bool take_field(struct view *message, struct field *field) {
    uint64_t tag;
    if (!take_varint(message, &tag) || tag >> 3 == 0)
        return false;
    *field = (struct field){.id = tag >> 3, .wire = (unsigned)(tag & 7)};
    switch (field->wire) {
    case WIRE_VARINT:
        return take_varint(message, &field->number);
    case WIRE_64:
        return take_fixed(message, 8, &field->number);
    case WIRE_32:
        return take_fixed(message, 4, &field->number);
    case WIRE_BYTES:
        if (!take_varint(message, &field->number) || field->number > message->bytes)
            return false;
        field->bytes = (struct view){message->data, (size_t)field->number};
        message->data += field->bytes.bytes;
        message->bytes -= field->bytes.bytes;
        return true;
    default: /* groups, which this file does not have */
        return false;
    }
}

static bool parse_piece(struct view message, struct sentencepiece_piece *piece) {
    struct field field;
    *piece = (struct sentencepiece_piece){.text = {"", 0}, .type = SENTENCEPIECE_NORMAL};
    while (message.bytes > 0) {
        if (!take_field(&message, &field))
            return false;
        if (field.id == PIECE_TEXT && field.wire == WIRE_BYTES) {
            piece->text = field.bytes;
        } else if (field.id == PIECE_SCORE && field.wire == WIRE_32) {
            uint32_t bits = (uint32_t)field.number;
            memcpy(&piece->score, &bits, sizeof bits);
        } else if (field.id == PIECE_TYPE && field.wire == WIRE_VARINT) {
            piece->type = (int32_t)(uint32_t)field.number;
        }
    }
    return isfinite(piece->score) && utf8_check(piece->text, NULL);
}

static bool parse_trainer(struct view message, struct sentencepiece_file *file) {
    struct field field;
    while (message.bytes > 0) {
        if (!take_field(&message, &field))
            return false;
        if (field.id == TRAINER_MODEL_TYPE && field.wire == WIRE_VARINT)
            file->model_type = (int32_t)(uint32_t)field.number;
        else if (field.id == TRAINER_UNK_ID && field.wire == WIRE_VARINT)
            file->unknown_id = (int32_t)(uint32_t)field.number;
    }
    return true;
}

static bool parse_normalizer(struct view message, struct sentencepiece_file *file) {
    struct field field;
    while (message.bytes > 0) {
        if (!take_field(&message, &field))
            return false;
        if (field.id == NORMALIZER_CHARSMAP && field.wire == WIRE_BYTES)
            file->charsmap = field.bytes;
    }
    return true;
}

static enum status add_piece(struct sentencepiece_file *file, uint32_t *capacity,
                             struct view message, struct error *err) {
    if (file->pieces_count == LIMIT_VOCABULARY)
        return error_set(err, STATUS_BAD_FILE, "more than %u pieces", LIMIT_VOCABULARY);
    if (file->pieces_count == *capacity) {
        uint32_t grown = *capacity == 0 ? 1024 : *capacity * 2;
        struct sentencepiece_piece *pieces = reallocarray(file->pieces, grown, sizeof *pieces);
        if (pieces == NULL)
            return error_set(err, STATUS_NO_MEMORY, "no memory for the pieces");
        file->pieces = pieces;
        *capacity = grown;
    }
    if (!parse_piece(message, &file->pieces[file->pieces_count]))
        return error_set(err, STATUS_BAD_FILE,
                         "piece %u is damaged, no UTF-8 or without a finite score",
                         file->pieces_count);
    file->pieces_count++;
    return STATUS_OK;
}

enum status sentencepiece_file_parse(struct view bytes, struct sentencepiece_file *out,
                                     struct error *err) {
    *out = (struct sentencepiece_file){.model_type = SENTENCEPIECE_UNIGRAM, .charsmap = {"", 0}};
    struct view rest = bytes;
    struct field field;
    uint32_t capacity = 0;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && rest.bytes > 0) {
        bool right = take_field(&rest, &field);
        if (right && field.id == MODEL_PIECES && field.wire == WIRE_BYTES)
            status = add_piece(out, &capacity, field.bytes, err);
        else if (right && field.id == MODEL_TRAINER && field.wire == WIRE_BYTES)
            right = parse_trainer(field.bytes, out);
        else if (right && field.id == MODEL_NORMALIZER && field.wire == WIRE_BYTES)
            right = parse_normalizer(field.bytes, out);
        if (!right)
            status = error_set(err, STATUS_BAD_FILE, "not a sentencepiece model, at byte %zu",
                               bytes.bytes - rest.bytes);
    }
    if (status == STATUS_OK && out->pieces_count == 0)
        status = error_set(err, STATUS_BAD_FILE, "not a sentencepiece model: it has no pieces");
    if (status != STATUS_OK)
        sentencepiece_file_free(out);
    return status;
}

void sentencepiece_file_free(struct sentencepiece_file *file) {
    if (file != NULL) {
        free(file->pieces);
        *file = (struct sentencepiece_file){.charsmap = {"", 0}};
    }
}
