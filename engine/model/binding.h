/* binding.h: puts a checkpoint's tensors into struct model_weights by the family's tables, and
 * keeps account of what was used and what is missing. */
#ifndef BERTD_MODEL_BINDING_H
#define BERTD_MODEL_BINDING_H

#include "engine/base/arena.h"
#include "engine/model/checkpoint.h"
#include "engine/model/config.h"

struct binding {
    bool *used;           /* [tensors of the checkpoint], in their order */
    const char **missing; /* names that the family asks for and the checkpoint has not */
    uint32_t missing_count, missing_capacity;
    const char *prefix; /* of the base model's tensors in this checkpoint: the family's, or "" */
};

/* Fills `weights` for config->head. Goes on after a fault, so that `out` lists all of them; the
 * error is the first. Shapes must be those of the configuration, types F32, F16 or BF16. Everything
 * lives in the arena. Errors: BAD_FILE, UNSUPPORTED, NO_MEMORY. */
enum status binding_open(const struct config *config, const struct checkpoint *checkpoint,
                         struct arena *arena, struct model_weights *weights, struct binding *out,
                         struct error *err);

/* The head that the tensors speak for, when config.json names none; or NULL. */
const struct family_head *binding_guess_head(const struct family *family,
                                             const struct checkpoint *checkpoint);

/* Why a tensor that is not used may stand in the checkpoint; NULL when nothing is known of it. */
const char *binding_ignored_reason(const struct family *family, const struct binding *binding,
                                   const char *name);

#endif
