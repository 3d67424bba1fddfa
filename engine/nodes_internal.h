/* nodes_internal.h: what the nodes' own files share. nodes.c opens them and lists the parts;
 * nodes_pack.c packs their weights; nodes_measure.c measures what they cost, nodes_budget.c where
 * the time goes; nodes_run.c runs parts in a stage's scratch; nodes_head.c knows what differs
 * between tasks. */
#ifndef BERTD_NODES_INTERNAL_H
#define BERTD_NODES_INTERNAL_H

#include "engine/compute/embedding.h"
#include "engine/compute/encoder.h"
#include "engine/compute/head.h"
#include "engine/compute/mask_decoder.h"
#include "engine/nodes.h"

enum { PART_NAME_BYTES = 32, PARTS_AROUND = 3 /* Embedding, two of the head */ };

/* Immutable once the weights are packed. */
struct nodes {
    const struct model *model;
    enum gemm_dtype dtype; /* of the encoder's products */
    struct linear_set *linears;
    struct embedding embedding;
    struct encoder_layer *layers; /* [L] */
    uint32_t layers_count;        /* those that are open */
    struct pooler pooler;         /* of text classification, as the classifier: */
    struct linear *classifier;
    struct transform transform; /* of fill-mask, as the decoder: */
    struct mask_decoder *decoder;
    uint32_t decoder_chunks; /* 0: chosen */
    struct part *parts;      /* [L * ENCODER_THIRDS + PARTS_AROUND] */
    char (*names)[PART_NAME_BYTES];
    uint32_t parts_count;
    bool all_rows; /* of the last layer */
    uint32_t hidden_size, intermediate_size;
};

/* nodes.c: nodes_open() with kernels of the caller's choice, which must outlive the nodes. */
enum status nodes_open_with(const struct model *model, const char *dtype,
                            const struct kernels *kernels, struct nodes **out, struct error *err);

/* nodes.c: adds to the list a part that hands over hidden states only. */
struct part *nodes_add_part(struct nodes *nodes, const char *name, uint64_t weights_bytes);

/* nodes_pack.c: packs one part in the memory of a node that is usable, or of MEMORY_NODE_ANY.
 * Errors: NO_MEMORY, INTERNAL. */
enum status nodes_pack_part(struct nodes *nodes, uint32_t part, int node, struct error *err);

/* nodes_head.c: the two parts after the layers, by the model's task. */

/* Working memory of one thread for the head alone. */
struct head_scratch {
    struct mask_decoder_scratch *decoder; /* NULL: the task needs none */
};

/* Errors: NO_MEMORY, UNSUPPORTED (too many shapes), INTERNAL. */
enum status nodes_head_open(struct nodes *nodes, const struct kernels *kernels, struct error *err);
void nodes_head_close(struct nodes *nodes);

/* Adds both to the list of parts. */
void nodes_head_list(struct nodes *nodes);

/* What is to be packed of part 0 or 1 of the head; NULL: nothing. */
struct linear *nodes_head_get_linear(const struct nodes *nodes, uint32_t part);

/* Opened on the thread that uses it. Errors: NO_MEMORY, INTERNAL. */
enum status nodes_head_scratch_open(const struct nodes *nodes, struct head_scratch *out,
                                    struct error *err);
void nodes_head_scratch_close(struct head_scratch *scratch);

/* Part 0 or 1 of the head. */
void nodes_head_run(const struct nodes *nodes, uint32_t part, const struct encoder_scratch *encoder,
                    const struct head_scratch *scratch, struct microbatch *microbatch);

#endif
