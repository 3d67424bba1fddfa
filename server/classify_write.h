/* classify_write.h: the answer of POST /v1/classify, all at once or in slices. */
#ifndef BERTD_CLASSIFY_WRITE_H
#define BERTD_CLASSIFY_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "server/call_write.h"
#include "server/classification.h"
#include "server/json_write.h"

/* What is written, and how far it is. `call` is answered with OK and is not owned. */
struct classify_writer {
    struct call_head head;
    const struct call *call;
    const struct engine_info *info;
    uint32_t inputs_count;
    enum activation activation; /* never AUTO */
    struct classification_cut cut;

    struct ranked_label *ranked; /* [K] working memory, owned */
    uint32_t input;              /* the next one */
    uint64_t tokens;             /* of those before it */
};

/* Allocates the working memory; the fields above it must be set. False: no memory. */
bool classify_writer_init(struct classify_writer *writer);
void classify_writer_free(struct classify_writer *writer);

/* Appends whole items until at least `slice_bytes` bytes are added. Returns whether more is to
 * come. */
bool classify_writer_slice(struct classify_writer *writer, size_t slice_bytes,
                           struct json_writer *out);

#endif
