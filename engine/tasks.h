/* tasks.h: what a call asks of each task and what it answers; a part of engine.h, which includes
 * it. Plain data. A task that is added brings its options, its answer and an enumerator. */
#ifndef BERTD_TASKS_H
#define BERTD_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/ranking.h"
#include "engine/base/view.h"

/* What the model's head answers; a model has one task. */
enum engine_task { ENGINE_TEXT_CLASSIFICATION, ENGINE_FILL_MASK };

enum activation { ACTIVATION_AUTO, ACTIVATION_SOFTMAX, ACTIVATION_SIGMOID, ACTIVATION_NONE };
enum aggregate { AGGREGATE_MAX, AGGREGATE_MEAN };

struct classify_options {
    enum activation activation; /* logits to scores */
    enum aggregate aggregate;   /* how the windows' scores become one */
};

struct fill_mask_options {
    uint32_t top_k;             /* 1 or more; above what competes: all of it */
    const struct view *targets; /* NULL: the whole vocabulary competes; copied */
    uint32_t targets_count;     /* 1 or more with targets */
};

/* What became of one target, in the order they were given. */
struct fill_mask_target {
    struct view text;
    int32_t id;         /* -1: it has no token, and does not compete */
    struct view token;  /* of the id */
    bool is_vocabulary; /* false: not itself a token; its first one stands for it */
};

/* The masks of one input, in its order. */
struct fill_mask_answer {
    const int32_t *ids; /* [ids_count] what the model saw */
    uint32_t ids_count;
    const uint32_t *positions; /* [masks_count] of the masks in ids */
    uint32_t masks_count;
    const struct ranked *ranked; /* [masks_count, ranked_count] best first, score: probability */
    uint32_t ranked_count;
};

/* How a filled mask reads: the token alone, and the whole text. */
struct fill_mask_texts {
    char *token, *sequence; /* NUL-terminated, but may have NUL inside */
    size_t token_bytes, sequence_bytes;
};

#endif
