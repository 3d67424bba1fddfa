/* fill_mask.h: one input's filled masks as the answer that people see: an item of `data` (POST
 * /v1/fill_mask, `bertd fill-mask --json`), all at once or in slices; and what is said of targets
 * that are no tokens. */
#ifndef BERTD_FILL_MASK_H
#define BERTD_FILL_MASK_H

#include "engine/engine.h"
#include "server/json_write.h"

/* How far an item is written; zero at its start. */
struct fill_mask_place {
    uint32_t mask, entry;
    bool begun;
};

/* Writes on until the item ends or at least `slice_bytes` bytes are added; whether more is to come.
 * A text that cannot be made marks the writer as failed. */
bool fill_mask_write(struct json_writer *json, const struct engine *engine,
                     const struct call_answer *answer, uint64_t index,
                     struct fill_mask_place *place, size_t slice_bytes);

enum { FILL_MASK_WARNING_BYTES = 512, FILL_MASK_WARNINGS_MAX = 100 };

/* Leaves the first of equal targets, in their order. False: no memory. */
bool fill_mask_distinct(struct view *targets, uint32_t *count);

/* The next of the warnings about a call's targets: why one does not compete as it stands. Both
 * numbers are 0 at first; `said` counts. False: that was all. After FILL_MASK_WARNINGS_MAX one more
 * counts the rest. The text is valid UTF-8. */
bool fill_mask_warn_next(const struct call *call, uint32_t *next, uint32_t *said,
                         char out[FILL_MASK_WARNING_BYTES]);

#endif
