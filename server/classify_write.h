/* classify_write.h: the answer of POST /v1/classify, all at once or in slices. */
#ifndef BERTD_CLASSIFY_WRITE_H
#define BERTD_CLASSIFY_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "engine/engine.h"
#include "server/classify_read.h"
#include "server/json_write.h"

/* What is written, and how far it is. `call` is answered with OK and is not owned. */
struct classify_writer {
    const struct call *call;
    const struct engine_info *info;
    const char *model_name;
    char id[24]; /* "cls-…" */
    time_t created;
    uint32_t inputs_count, top_k;
    enum activation activation; /* never AUTO */
    enum threshold_kind threshold_kind;
    float threshold;

    uint32_t *order;    /* [top_k] labels of the current input, best first; owned */
    uint32_t order_count;
    uint32_t input;     /* the current one */
    uint32_t rank;      /* next place of `order` to write */
    bool begun, inside; /* the head is written; the current input's object is open */
};

/* Allocates `order`; the rest of the fields above it must be set. Error: false, no memory. */
bool classify_writer_init(struct classify_writer *writer);
void classify_writer_free(struct classify_writer *writer);

/* Appends about `slice_bytes` bytes, whole predictions. Returns whether more is to come. */
bool classify_writer_slice(struct classify_writer *writer, size_t slice_bytes,
                           struct json_writer *out);

/* The best labels under the threshold rules: fills order[] (room for top_k) with label indexes, by
 * score, then by index, and returns how many there are. */
uint32_t classify_rank(const struct classify_writer *writer, const float *scores, uint32_t *order);

#endif
