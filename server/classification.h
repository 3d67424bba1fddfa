/* classification.h: one input's scores as the answer that people see: ranked labels, cut by top_k
 * and threshold, and written as an item of `data` (POST /v1/classify, `bertd classify --json`). */
#ifndef BERTD_CLASSIFICATION_H
#define BERTD_CLASSIFICATION_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "server/json_write.h"

enum threshold_kind {
    THRESHOLD_NONE,
    THRESHOLD_VALUE, /* one value for all labels */
    THRESHOLD_MODEL  /* each label's own; a label without one is never dropped */
};

struct classification_cut {
    uint32_t top_k; /* 0: all labels */
    enum threshold_kind kind;
    float threshold;
};

struct ranked_label {
    float score;
    uint32_t index; /* of the label */
};

/* Fills ranked[] (room for all K labels) with the labels that the cut leaves, by score, then by
 * index, and returns their count. *top is the best label even when the cut drops it. With
 * THRESHOLD_MODEL and a model without thresholds nothing is dropped. */
uint32_t classification_rank(const struct engine_info *info, const struct call_answer *answer,
                             const struct classification_cut *cut, struct ranked_label *ranked,
                             struct ranked_label *top);

/* Writes the item; `ranked` is working memory as above. */
void classification_write(struct json_writer *json, const struct engine_info *info,
                          const struct call_answer *answer, const struct classification_cut *cut,
                          uint64_t index, struct ranked_label *ranked);

#endif
