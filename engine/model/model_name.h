/* model_name.h: what a model is called, by the directory that it is in. */
#ifndef BERTD_MODEL_MODEL_NAME_H
#define BERTD_MODEL_MODEL_NAME_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

/* *name: the last part of the directory; in the Hugging Face cache, whose directories are
 * …/models--ORG--NAME/snapshots/REVISION, it is ORG/NAME. *revision: that REVISION, or "". The
 * path counts as it was given; one that ends in "." or ".." is resolved first. Both live in the
 * arena. Errors: IO, NO_MEMORY. */
enum status model_name_find(const char *dir, struct arena *arena, const char **name,
                            const char **revision, struct error *err);

#endif
