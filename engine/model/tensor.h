/* tensor.h: a tensor inside a checkpoint: its number format, its shape and where its bytes are. */
#ifndef BERTD_MODEL_TENSOR_H
#define BERTD_MODEL_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/limits.h"

/* Number formats of safetensors files, with the bits of one number. Weights may be F32, F16 or
 * BF16; the others may only stand in tensors that nothing reads. */
#define TENSOR_TYPE_TABLE(X)                                                                       \
    X(F32, 32)                                                                                     \
    X(F16, 16)                                                                                     \
    X(BF16, 16)                                                                                    \
    X(I64, 64)                                                                                     \
    X(I32, 32)                                                                                     \
    X(I16, 16)                                                                                     \
    X(I8, 8)                                                                                       \
    X(U64, 64)                                                                                     \
    X(U32, 32)                                                                                     \
    X(U16, 16)                                                                                     \
    X(U8, 8)                                                                                       \
    X(BOOL, 8)                                                                                     \
    X(F64, 64)                                                                                     \
    X(C64, 64)                                                                                     \
    X(F8_E5M2, 8)                                                                                  \
    X(F8_E4M3, 8)                                                                                  \
    X(F8_E8M0, 8)                                                                                  \
    X(F6_E2M3, 6)                                                                                  \
    X(F6_E3M2, 6)                                                                                  \
    X(F4, 4)

enum tensor_type {
#define TENSOR_ENUM(name, bits) TENSOR_##name,
    TENSOR_TYPE_TABLE(TENSOR_ENUM)
#undef TENSOR_ENUM
        TENSOR_TYPES_COUNT
};

/* A row-major tensor inside a mapped file. `data` may have any alignment. */
struct tensor {
    const char *name; /* NULL: the checkpoint has none (an absent bias counts as zeros) */
    const unsigned char *data;
    size_t bytes;
    enum tensor_type type;
    uint32_t rank;
    uint64_t shape[LIMIT_TENSOR_RANK];
};

/* "F16". */
const char *tensor_type_name(enum tensor_type type);

/* The type of that name, or TENSOR_TYPES_COUNT. */
enum tensor_type tensor_type_find(const char *name);

/* Bits of one number. */
uint32_t tensor_type_bits(enum tensor_type type);

enum { TENSOR_SHAPE_TEXT_BYTES = 96 };

/* "[384, 1536]", cut with "…]" where it does not fit. */
void tensor_shape_format(const uint64_t *shape, uint32_t rank, char text[TENSOR_SHAPE_TEXT_BYTES]);

#endif
