/* nodes_internal.h: what the nodes' own files share. nodes.c opens them and lists the parts;
 * nodes_run.c runs parts in a stage's scratch. */
#ifndef BERTD_NODES_INTERNAL_H
#define BERTD_NODES_INTERNAL_H

#include "engine/compute/embedding.h"
#include "engine/compute/encoder.h"
#include "engine/compute/head.h"
#include "engine/nodes.h"

enum { PART_NAME_BYTES = 32, PARTS_AROUND = 3 /* Embedding, Pooler, Classifier */ };

/* Immutable after open. */
struct nodes {
    const struct model *model;
    struct linear_set *linears;
    struct embedding embedding;
    struct encoder_layer *layers; /* [L] */
    uint32_t layers_count;        /* those that are open */
    struct pooler pooler;
    struct linear *classifier;
    struct part *parts; /* [L * ENCODER_THIRDS + PARTS_AROUND] */
    char (*names)[PART_NAME_BYTES];
    uint32_t parts_count;
    bool all_rows; /* of the last layer */
    uint32_t hidden_size, intermediate_size;
};

#endif
