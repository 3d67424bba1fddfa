/* shard_index.h: model.safetensors.index.json, which says in which file of a sharded checkpoint
 * each tensor is. Only the map counts; the metadata beside it (total size) is not read. */
#ifndef BERTD_MODEL_SHARD_INDEX_H
#define BERTD_MODEL_SHARD_INDEX_H

#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/view.h"

struct shard_entry {
    const char *tensor;
    uint32_t file; /* index into files[] */
};

/* Names live in the arena. Files are plain names without a directory, each once, sorted. */
struct shard_index {
    struct shard_entry *entries; /* sorted by tensor */
    uint32_t entries_count;
    const char **files;
    uint32_t files_count;
    struct arena arena;
};

/* Reads the index from its text; `path` is for messages. On failure `out` holds nothing.
 * Errors: BAD_FILE (the message names the tensor and the file), NO_MEMORY. */
enum status shard_index_parse(struct view text, const char *path, struct shard_index *out,
                              struct error *err);
void shard_index_free(struct shard_index *index); /* NULL and zeroed structs are allowed */

#endif
