/* classify_read.h: the body of POST /v1/classify (api.md §2) as a plain call. */
#ifndef BERTD_CLASSIFY_READ_H
#define BERTD_CLASSIFY_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "server/call_read.h"
#include "server/classification.h"

/* Names of enum activation, in its order, ended by NULL. */
extern const char *const classify_activation_words[];

enum { CLASSIFY_STRIDE_DEFAULT = 64 }; /* of windows whose overlap is not given */

struct classify_call {
    struct call_body body;
    struct classification_cut cut;
    uint32_t activation, aggregate; /* enums of tasks.h */
    bool window;
    uint32_t window_stride;
};

/* Reads the body. On success call->body is to be freed. Errors: every 400 and 413 of a body,
 * model_not_found, internal. */
bool classify_read(struct view body, const struct call_rules *rules, struct classify_call *out,
                   struct api_error *err);

#endif
