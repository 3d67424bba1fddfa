/* nodes.h: the model as a list of parts that stages can run. With engine.c the only place that
 * sees both the flow and the compute side.
 *
 * Parts in order: Embedding, the thirds of Encoder 0 … Encoder L-1, then Pooler and Classifier, or
 * Transform and Decoder of a masked-language model. A tied decoder reads the embedding's matrix.
 *
 * Phases, all on one thread: nodes_open() says what there is and what it weighs; nodes_measure()
 * what it costs here; nodes_pack() puts the weights where the plan wants them, once in the memory
 * of each NUMA node, shared by all replicas there. Norms, and the embedding tables in the mapped
 * files, are shared by all nodes. */
#ifndef BERTD_NODES_H
#define BERTD_NODES_H

#include <stdbool.h>

#include "engine/base/memory_node.h"
#include "engine/base/status.h"
#include "engine/flow/microbatch.h"
#include "engine/flow/plan.h"
#include "engine/flow/team_run.h"
#include "engine/model/model.h"

struct nodes;

/* Makes the matrix product primitives and the list of parts, without costs. `dtype`: "f32",
 * "bf16" or "int8" (encoder products in that; sums, attention, norms and the head in fp32), or
 * "auto": bf16 where the CPU has it. The model must outlive the nodes. Errors: UNSUPPORTED (dtype,
 * named), NO_MEMORY, INTERNAL. */
enum status nodes_open(const struct model *model, const char *dtype, struct nodes **out,
                       struct error *err);
void nodes_close(struct nodes *nodes);
const char *nodes_get_dtype(const struct nodes *nodes); /* "f32", "bf16", "int8" */

/* The parts in order; lives as long as the nodes. */
const struct part *nodes_parts(const struct nodes *nodes, uint32_t *count);

/* Runs the embedding, the first layer, the last layer and the head on PLAN_COST_TOKENS tokens
 * (texts of PLAN_COST_TEXT_TOKENS or of the model's limit, each read at its first token), one after
 * the other as a stage does, a few times with warm caches, and sets the cost of each part from its
 * best time; the layers between cost what the first does. Packs those parts anywhere, where
 * nodes_pack() leaves them if it can. Takes about 15 ms for a layer of 7 MB. Errors: NO_MEMORY,
 * INTERNAL. */
enum status nodes_measure(struct nodes *nodes, struct error *err);

/* A NUMA node, or MEMORY_NODE_ANY, from whose memory some parts are read. */
struct parts_place {
    uint32_t first_part, parts_count;
    int node;
};

/* Packs the parts of the places, each once for each node; without places, all parts anywhere. No
 * scratch may be open. Errors: NO_MEMORY, INTERNAL. */
enum status nodes_pack(struct nodes *nodes, const struct parts_place *places, uint32_t count,
                       struct error *err);

/* Copies of the weights, and the bytes of memory that they take. */
uint32_t nodes_get_copies(const struct nodes *nodes, uint64_t *bytes);

/* Runs parts first_part..first_part+parts_count-1 on the microbatch in place, as a stage does.
 * Where consecutive thirds of a layer are run together, they share what is in the cache; the bytes
 * are the same as one by one. `nodes` is a struct nodes, `scratch` one of the calling thread.
 * With a seat, all members of its run call this with the same parts and microbatch, and share out
 * the rows; what they share lies in the run's scratch. The bytes are the same as alone (NULL). */
void nodes_run(const void *nodes, uint32_t first_part, uint32_t parts_count, void *scratch,
               struct microbatch *microbatch, struct team_seat *seat);

/* Width of the intermediate state that a microbatch needs room for when a stage ends inside a
 * layer's feed-forward part. */
uint32_t nodes_intermediate_width(const struct nodes *nodes);

/* Numbers that a microbatch needs room for as the head's outputs of one text; 0 of a head that
 * writes into the requests. */
uint32_t nodes_outputs_width(const struct nodes *nodes);

/* Into how many slices the decoder over the vocabulary is cut; 0: chosen. No byte depends on it.
 * Call before scratch is opened. */
void nodes_set_decoder_chunks(struct nodes *nodes, uint32_t chunks);

/* For tests and for measuring: the last encoder layer computes all rows, although the head reads
 * only those that the microbatch lists. The bytes of these are the same either way. By default the
 * other rows keep what the layer before left in them. Call before costs are measured. */
void nodes_set_all_rows(struct nodes *nodes, bool all_rows);

/* Working memory of one stage thread for microbatches of up to `tokens_max` tokens, in the memory
 * of `node` (or MEMORY_NODE_ANY), from where the thread then reads weights. Must be opened after
 * packing, and be used on the thread that opens it. Errors: NO_MEMORY, INTERNAL. */
enum status nodes_scratch_open(const struct nodes *nodes, uint32_t tokens_max, int node, void **out,
                               struct error *err);
void nodes_scratch_close(const struct nodes *nodes, void *scratch);

#endif
