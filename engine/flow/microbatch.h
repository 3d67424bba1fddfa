/* microbatch.h: the unit that moves through the pipeline: a few requests packed end to end.
 *
 * It comes from a pool that is made at start and has exactly one owner at a time; pushing it into
 * a queue gives it away. B rows (sequences), N tokens. No padding. The arrays have room for
 * `tokens_max` tokens and `rows_max` rows. A row that only warms the pipeline up has no request. */
#ifndef BERTD_FLOW_MICROBATCH_H
#define BERTD_FLOW_MICROBATCH_H

#include <stdint.h>

#include "engine/base/status.h"

struct request;

struct microbatch {
    uint64_t number; /* running number within its replica */
    uint32_t rows;   /* B */
    uint32_t tokens; /* N */
    uint32_t tokens_max, rows_max;
    uint32_t *starts;  /* [B + 1] cumulative lengths: row b is tokens starts[b]..starts[b + 1] */
    int32_t *ids;      /* [N] */
    uint8_t *type_ids; /* [N] */
    struct request **requests; /* [B] */
    float *hidden;             /* [N, width] hidden state between parts; 64-byte aligned */
    float *outputs;            /* [B, outputs_width] what the head computes (logits) */
};

/* One part of the model as the flow sees it: a function that works on a microbatch in place.
 * `context` is the part's packed weights, `scratch` the stage's working memory. */
struct part {
    const char *name; /* "Embedding", "Encoder 0", "Pooler", "Classifier" */
    void (*run)(const void *context, void *scratch, struct microbatch *microbatch);
    const void *context;
    uint64_t weights_bytes;
    double cost; /* multiply-adds a token, for the share of the work */
};

/* Room for `tokens_max` tokens of `width` hidden values in `rows_max` rows of `outputs_width`
 * outputs. Error: NO_MEMORY. */
enum status microbatch_open(uint32_t tokens_max, uint32_t rows_max, uint32_t width,
                            uint32_t outputs_width, struct microbatch **out);
void microbatch_free(struct microbatch *microbatch);

#endif
