/* safetensors.h: one safetensors file, mapped read-only and checked once.
 *
 * The format (Hugging Face safetensors): 8 bytes little-endian header length, a JSON header
 * {"name": {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {…}}, then the data.
 * As the reference reader does, and stricter where that one is lax: the data is covered without
 * holes or overlaps to the end of the file, each size matches shape and type, no name stands
 * twice. What the header claims is never allocated before it has been compared with the file. */
#ifndef BERTD_MODEL_SAFETENSORS_H
#define BERTD_MODEL_SAFETENSORS_H

#include <stdbool.h>

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/model/tensor.h"

struct safetensors {
    void *map; /* the whole file; NULL when it was parsed from memory */
    size_t map_bytes;
    struct tensor *tensors; /* in the order of their data; names live in the arena */
    uint32_t count;
    struct arena arena;
};

/* Maps and checks the file at `path`. On failure `out` holds nothing and `err` names the file, the
 * tensor and the value. Errors: IO (also for what is not a regular file), BAD_FILE, NO_MEMORY. */
enum status safetensors_open(const char *path, struct safetensors *out, struct error *err);
void safetensors_close(struct safetensors *file); /* NULL and zeroed structs are allowed */

/* The checks of safetensors_open() on bytes that the caller keeps alive until safetensors_close().
 */
enum status safetensors_parse(const unsigned char *bytes, size_t bytes_count, const char *path,
                              struct safetensors *out, struct error *err);

/* Whether the tensor's bytes are in this file's map. */
bool safetensors_holds(const struct safetensors *file, const struct tensor *tensor);

#endif
