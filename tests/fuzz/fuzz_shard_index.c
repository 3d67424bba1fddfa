/* fuzz_shard_index.c: any bytes as the index of a sharded checkpoint. What is accepted must name
 * files of the directory only, and every tensor one of them. */
#include <stdlib.h>
#include <string.h>

#include "engine/model/shard_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct shard_index index;
    struct error err;
    if (shard_index_parse((struct view){(const char *)data, bytes}, "fuzz", &index, &err) !=
        STATUS_OK)
        return 0;
    for (uint32_t i = 0; i < index.entries_count; i++) {
        if (index.entries[i].file >= index.files_count)
            abort();
    }
    for (uint32_t i = 0; i < index.files_count; i++) {
        if (index.files[i][0] == '\0' || strchr(index.files[i], '/') != NULL)
            abort();
    }
    shard_index_free(&index);
    return 0;
}
