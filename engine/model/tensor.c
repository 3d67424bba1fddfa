/* tensor.c: names and sizes of number formats, and shapes as text for messages. Any thread. */
#include "engine/model/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t bits;
} types[TENSOR_TYPES_COUNT] = {
#define TENSOR_ROW(name, bits) {#name, bits},
    TENSOR_TYPE_TABLE(TENSOR_ROW)
#undef TENSOR_ROW
};

const char *tensor_type_name(enum tensor_type type) {
    return types[type].name;
}

uint32_t tensor_type_bits(enum tensor_type type) {
    return types[type].bits;
}

enum tensor_type tensor_type_find(const char *name) {
    for (unsigned i = 0; i < TENSOR_TYPES_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0)
            return (enum tensor_type)i;
    }
    return TENSOR_TYPES_COUNT;
}

void tensor_shape_format(const uint64_t *shape, uint32_t rank, char text[TENSOR_SHAPE_TEXT_BYTES]) {
    static const char tail[] = "…]";
    size_t used = (size_t)snprintf(text, TENSOR_SHAPE_TEXT_BYTES, "[");
    for (uint32_t i = 0; i < rank; i++) {
        char item[32];
        size_t bytes =
            (size_t)snprintf(item, sizeof item, "%s%" PRIu64, i > 0 ? ", " : "", shape[i]);
        if (used + bytes + sizeof tail > TENSOR_SHAPE_TEXT_BYTES) {
            memcpy(text + used, tail, sizeof tail);
            return;
        }
        memcpy(text + used, item, bytes + 1);
        used += bytes;
    }
    memcpy(text + used, "]", 2);
}
