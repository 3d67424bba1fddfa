/* microbatch.h: the unit that moves through the pipeline: a few requests packed end to end.
 *
 * It comes from a pool that is made at start and has exactly one owner at a time; pushing it into
 * a queue gives it away. B rows (sequences), N tokens. No padding. The arrays have room for
 * `tokens_max` tokens and `rows_max` rows. A row that only warms the pipeline up has no request. */
#ifndef BERTD_FLOW_MICROBATCH_H
#define BERTD_FLOW_MICROBATCH_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/base/memory_node.h"
#include "engine/base/status.h"

struct request;

struct microbatch {
    uint64_t number;             /* running number within its replica */
    uint32_t rows;               /* B */
    uint32_t tokens;             /* N */
    _Atomic uint64_t parts_done; /* for ever growing: what a watchdog takes for progress */
    uint32_t tokens_max, rows_max;
    uint32_t *starts;  /* [B + 1] cumulative lengths: row b is tokens starts[b]..starts[b + 1] */
    int32_t *ids;      /* [N] */
    uint8_t *type_ids; /* [N] */
    struct request **requests; /* [B] */
    /* The tokens whose hidden state the head reads, as indices into the N, ascending: text b's are
     * reads[reads_starts[b]..reads_starts[b + 1]]. */
    uint32_t *reads;        /* [R], R at most N */
    uint32_t *reads_starts; /* [B + 1] */
    float *hidden;          /* [N, width] hidden state between parts; 64-byte aligned */
    float *intermediate; /* [N, intermediate_width] inside a layer whose thirds are in two stages;
                            NULL when no stage begins or ends there */
    float *outputs;      /* [B, outputs_width] what the head computes (logits) */
};

/* What the arrays of a microbatch have room for. */
struct microbatch_room {
    uint32_t tokens_max, rows_max;
    uint32_t width, intermediate_width, outputs_width; /* intermediate_width 0: none */
};

/* With its large arrays in the memory of the node, or MEMORY_NODE_ANY. Error: NO_MEMORY. */
enum status microbatch_open(const struct microbatch_room *room, int node, struct microbatch **out);
void microbatch_free(struct microbatch *microbatch);

#endif
