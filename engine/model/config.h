/* config.h: config.json and the small files beside it as checked settings.
 *
 * Read are config.json, thresholds.json (a label's own threshold), and for the limit in tokens the
 * sentence-transformers file and tokenizer_config.json. */
#ifndef BERTD_MODEL_CONFIG_H
#define BERTD_MODEL_CONFIG_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/view.h"
#include "engine/model/family.h"
#include "engine/model/model.h"

struct config {
    struct model_config values;     /* strings and arrays live in the arena */
    const struct family *family;    /* NULL: could not be found out */
    const struct family_head *head; /* NULL: config.json names no architecture */
};

/* Reads and checks all files of the directory. On failure `out` holds what was found before it.
 * Errors: IO, BAD_FILE, UNSUPPORTED, NO_MEMORY. */
enum status config_open(const char *dir, struct arena *arena, struct config *out,
                        struct error *err);

/* Reads config.json alone from its text; `path` is for messages. tokens_max is the model's own
 * limit. Errors: BAD_FILE, UNSUPPORTED, NO_MEMORY. */
enum status config_parse(struct view text, const char *path, struct arena *arena,
                         struct config *out, struct error *err);

#endif
