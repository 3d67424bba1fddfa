/* fill_mask_read.h: the body of POST /v1/fill_mask (api.md §3) as a plain call. */
#ifndef BERTD_FILL_MASK_READ_H
#define BERTD_FILL_MASK_READ_H

#include "server/call_read.h"

enum { FILL_MASK_TOP_K = 5 }; /* unless the body says */

struct fill_mask_call {
    struct call_body body;
    struct fill_mask_options options; /* the targets live with the body */
};

/* Reads the body. On success call->body is to be freed. Errors: every 400 and 413 of a body,
 * model_not_found, internal. */
bool fill_mask_read(struct view body, const struct call_rules *rules, struct fill_mask_call *out,
                    struct api_error *err);

#endif
