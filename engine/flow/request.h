/* request.h: the two records of a call: what the client gave, and what flows through the model.
 * Both live in the call's block (call.h). */
#ifndef BERTD_FLOW_REQUEST_H
#define BERTD_FLOW_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/ranking.h"
#include "engine/base/view.h"
#include "engine/flow/fair.h"

struct call;

/* What struct request.replica holds while the request is in the hands of that replica's stages. */
#define REQUEST_IN_REPLICA(replica) ((replica) + 1)

/* One sequence of token ids: an input, or one window of a long one. Set by the tokenizer thread,
 * read by stage 0; its logits are set by the last stage. */
struct request {
    struct fair_item item; /* in the batcher; weight: tokens */
    struct call *call;
    const int32_t *ids;      /* [tokens] */
    const uint8_t *type_ids; /* [tokens] */
    uint32_t tokens;
    /* [reads_count] tokens that the head reads, ascending; NULL: the first */
    const uint32_t *reads;
    uint32_t reads_count;
    _Atomic uint32_t replica; /* 0: in nobody's; see REQUEST_IN_REPLICA */
    float *outputs;           /* [outputs_width] what the head computed */
    /* Of a head that ranks the vocabulary: what is asked of each read, and its answers one after
     * the other, which the head writes here, since their room is the call's own choice. */
    const struct ranking *ranking;
    struct ranked *ranked; /* [reads_count, ranking->kept] */
};

/* One input of a call as the client gave it, and its answer. */
struct input {
    struct fair_item item; /* in the tokenizers' queue; weight: bytes */
    struct call *call;
    struct view text, text_pair; /* text_pair.data NULL: no pair */
    const int32_t *ids;          /* not NULL: token ids used as given; text is ignored */
    uint32_t ids_count;
    uint32_t requests_max; /* room at `requests` */
    uint32_t requests_count;
    struct request *requests;
    uint32_t tokens; /* of all its requests */
    bool truncated;
    float *scores; /* [outputs_width] the answer */
};

#endif
