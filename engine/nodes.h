/* nodes.h: the model as a list of parts that stages can run. With engine.c the only place that
 * sees both the flow and the compute side.
 *
 * Parts in order: Embedding, the thirds of Encoder 0 … Encoder L-1, then Pooler and Classifier, or
 * Transform and Decoder of a masked-language model. Each part's weights are packed once, at open,
 * and shared by all replicas; a tied decoder reads the embedding's matrix. */
#ifndef BERTD_NODES_H
#define BERTD_NODES_H

#include <stdbool.h>

#include "engine/base/status.h"
#include "engine/flow/microbatch.h"
#include "engine/flow/plan.h"
#include "engine/model/model.h"

struct nodes;

/* Packs the weights and makes the matrix product primitives. `dtype`: "f32" or "auto". The model
 * must outlive the nodes. Errors: UNSUPPORTED (dtype, named), NO_MEMORY, INTERNAL. */
enum status nodes_open(const struct model *model, const char *dtype, struct nodes **out,
                       struct error *err);
void nodes_close(struct nodes *nodes);

/* The parts in order; lives as long as the nodes. */
const struct part *nodes_parts(const struct nodes *nodes, uint32_t *count);

/* Runs parts first_part..first_part+parts_count-1 on the microbatch in place, as a stage does.
 * Where consecutive thirds of a layer are run together, they share what is in the cache; the bytes
 * are the same as one by one. `nodes` is a struct nodes, `scratch` one of the calling thread. */
void nodes_run(const void *nodes, uint32_t first_part, uint32_t parts_count, void *scratch,
               struct microbatch *microbatch);

/* Width of the intermediate state that a microbatch needs room for when a stage ends inside a
 * layer's feed-forward part. */
uint32_t nodes_intermediate_width(const struct nodes *nodes);

/* Numbers that a microbatch needs room for as the head's outputs of one text; 0 of a head that
 * writes into the requests. */
uint32_t nodes_outputs_width(const struct nodes *nodes);

/* Into how many slices the decoder over the vocabulary is cut; 0: chosen. No byte depends on it.
 * Call before scratch is opened. */
void nodes_set_decoder_chunks(struct nodes *nodes, uint32_t chunks);

/* For tests: the last encoder layer computes all rows, although the head reads only those that the
 * microbatch lists. The bytes of these are the same either way. By default the other rows keep
 * what the layer before left in them. Call before the parts run. */
void nodes_set_all_rows(struct nodes *nodes, bool all_rows);

/* Working memory of one stage thread for microbatches of up to `tokens_max` tokens. Must be opened
 * and used on the thread that runs the stage. Errors: NO_MEMORY, INTERNAL. */
enum status nodes_scratch_open(const struct nodes *nodes, uint32_t tokens_max, void **out,
                               struct error *err);
void nodes_scratch_close(const struct nodes *nodes, void *scratch);

#endif
