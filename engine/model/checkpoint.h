/* checkpoint.h: all tensors of a model directory, from one safetensors file or from shards. */
#ifndef BERTD_MODEL_CHECKPOINT_H
#define BERTD_MODEL_CHECKPOINT_H

#include <stdint.h>

#include "engine/base/status.h"
#include "engine/model/tensor.h"

struct checkpoint;

/* Opens DIR/model.safetensors, else the shards of DIR/model.safetensors.index.json. The index and
 * the shards must agree on every tensor. On failure *out is NULL and `err` names the file.
 * Errors: IO, BAD_FILE, UNSUPPORTED (only other formats are there), NO_MEMORY. */
enum status checkpoint_open(const char *dir, struct checkpoint **out, struct error *err);
void checkpoint_close(struct checkpoint *checkpoint); /* NULL is allowed */

/* The tensors, sorted by name. */
const struct tensor *checkpoint_tensors(const struct checkpoint *checkpoint, uint32_t *count);

/* The tensor of that name, or NULL. */
const struct tensor *checkpoint_find(const struct checkpoint *checkpoint, const char *name);

/* The file that messages about a tensor name. */
const char *checkpoint_path(const struct checkpoint *checkpoint);

#endif
