/* fuzz_safetensors.c: any bytes as a safetensors file. What opens must be readable to its ends. */
#include <stdlib.h>

#include "engine/model/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct safetensors file;
    struct error err;
    volatile unsigned char sink = 0;
    if (safetensors_parse(data, bytes, "fuzz", &file, &err) != STATUS_OK)
        return 0;
    for (uint32_t i = 0; i < file.count; i++) {
        const struct tensor *tensor = &file.tensors[i];
        if (tensor->data < data || tensor->data + tensor->bytes > data + bytes)
            abort();
        for (size_t k = 0; k < tensor->bytes; k++)
            sink = (unsigned char)(sink ^ tensor->data[k]);
    }
    safetensors_close(&file);
    return 0;
}
