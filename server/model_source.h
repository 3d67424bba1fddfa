/* model_source.h: from what --model says to a directory: a path, a Hub id in the local cache, or
 * the demo model. Shared by all commands that open a model; no network. */
#ifndef BERTD_MODEL_SOURCE_H
#define BERTD_MODEL_SOURCE_H

#include "engine/base/status.h"

enum { MODEL_SOURCE_PATH_BYTES = 4096, MODEL_SOURCE_NAME_BYTES = 128 };

struct model_source {
    char dir[MODEL_SOURCE_PATH_BYTES];
    char name[MODEL_SOURCE_NAME_BYTES]; /* the NAME of NAME=, or a Hub id; else empty */
};

/* `given` is "DIR", "ORG/NAME" or "NAME=" with either behind it; NULL is the demo model, which is
 * looked for in the working directory and beside the program. The cache is where HF_HUB_CACHE,
 * HF_HOME, XDG_CACHE_HOME or HOME say, in the layout of huggingface_hub. Whether the directory is
 * a good checkpoint is not looked at. Errors: IO (names what was looked for and where),
 * INVALID_VALUE. */
enum status model_source_find(const char *given, struct model_source *out, struct error *err);

#endif
