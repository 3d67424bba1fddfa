/* classify_read.h: the body of POST /v1/classify (api.md §2) as a plain call. */
#ifndef BERTD_CLASSIFY_READ_H
#define BERTD_CLASSIFY_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/engine.h"
#include "server/api_error.h"
#include "server/classification.h"

/* What the reader must know about the server and its model. */
struct classify_rules {
    const char *model_name;
    const struct engine_info *info;
    uint32_t inputs_max;
    bool truncate; /* when the body does not say */
};

/* Names of enum activation, in its order, ended by NULL. */
extern const char *const classify_activation_words[];

struct classify_call {
    json_t *document;   /* owns the texts */
    struct arena arena; /* owns the inputs and token ids */
    struct engine_input *inputs;
    uint32_t inputs_count;
    bool many; /* the input was an array of inputs */
    struct classification_cut cut;
    uint32_t activation, side, aggregate; /* enums of engine.h */
    bool truncate, window;
    uint32_t window_stride;
};

/* Reads the body. On success the call is to be freed. Errors: every 400
 * and 413 of a body, model_not_found, internal. */
bool classify_read(struct view body, const struct classify_rules *rules, struct classify_call *out,
                   struct api_error *err);

/* Frees the document, the inputs and their texts; the options stay readable. NULL is allowed. */
void classify_call_free(struct classify_call *call);

#endif
