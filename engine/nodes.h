/* nodes.h: the model as a list of parts that stages can run. With engine.c the only place that
 * sees both the flow and the compute side.
 *
 * Parts in order: Embedding, Encoder 0 … Encoder L-1, Pooler, Classifier. Each part's weights are
 * packed once, at open, and shared by all replicas. */
#ifndef BERTD_NODES_H
#define BERTD_NODES_H

#include <stdbool.h>

#include "engine/base/status.h"
#include "engine/flow/microbatch.h"
#include "engine/model/model.h"

struct nodes;

/* Packs the weights and makes the matrix product primitives. `dtype`: "f32" or "auto". The model
 * must outlive the nodes. Errors: UNSUPPORTED (dtype, named), NO_MEMORY, INTERNAL. */
enum status nodes_open(const struct model *model, const char *dtype, struct nodes **out,
                       struct error *err);
void nodes_close(struct nodes *nodes);

/* The parts in order; lives as long as the nodes. */
const struct part *nodes_parts(const struct nodes *nodes, uint32_t *count);

/* For tests: the last encoder layer computes all rows, although the head reads first tokens only.
 * The first tokens' bytes are the same either way. By default the other rows keep what the layer
 * before left in them. Call before the parts run. */
void nodes_set_all_rows(struct nodes *nodes, bool all_rows);

/* Working memory of one stage thread for microbatches of up to `tokens_max` tokens. Must be opened
 * and used on the thread that runs the stage. Errors: NO_MEMORY, INTERNAL. */
enum status nodes_scratch_open(const struct nodes *nodes, uint32_t tokens_max, void **out,
                               struct error *err);
void nodes_scratch_close(const struct nodes *nodes, void *scratch);

#endif
