/* linear.h: y[N, out] = x[N, in] * W^T + b for any N, over weights of the checkpoint.
 *
 * N rows are cut into blocks of 64, 32, ... 1 rows. When the first linear of a shape is opened, a
 * self-test makes sure that a row's bits depend neither on the block's row count nor on the row's
 * place in it; row counts that break this on a CPU are not used there, and rows that no count in
 * use can take are padded. So the same row gives the same bytes whatever is packed beside it.
 *
 * Opening a linear makes its shape; packing puts its weights into memory, at most once in that of
 * each NUMA node. A scratch says from which node's memory its thread reads.
 *
 * Open and pack on one thread; run from any thread with a scratch that was opened on it. */
#ifndef BERTD_COMPUTE_LINEAR_H
#define BERTD_COMPUTE_LINEAR_H

#include <stdint.h>

#include "engine/base/status.h"
#include "engine/compute/gemm.h"
#include "engine/compute/kernels.h"
#include "engine/compute/probe.h"
#include "engine/model/model.h"

enum { LINEAR_SHAPES_MAX = 32, LINEAR_JOINED_MAX = 3, LINEAR_MEMORIES_MAX = MEMORY_NODES_MAX + 1 };

struct linear_set;     /* what linears share: shapes with their primitives, memory */
struct linear_scratch; /* one thread's working memory for all linears of a set */
struct linear;         /* immutable once it is packed */

/* Bit i of `blocks` allows blocks of 2^i rows: GEMM_ALL_BLOCKS, or fewer for tests.
 * Errors: those of gemm_open(). */
enum status linear_set_open(enum gemm_dtype dtype, const struct kernels *kernels, uint32_t blocks,
                            struct linear_set **out, struct error *err);

/* The type of the linears that are opened from here on. */
void linear_set_use(struct linear_set *set, enum gemm_dtype dtype);

/* All linears and scratches of it must be closed before. NULL is allowed. */
void linear_set_close(struct linear_set *set);

/* Takes `count` (1..LINEAR_JOINED_MAX) weights with the same input width as one product: their
 * outputs side by side. An absent bias counts as zeros. The weights must live as long as
 * it may be packed.
 * Errors: NO_MEMORY, UNSUPPORTED (too many shapes), INTERNAL. */
enum status linear_open(struct linear_set *set, const struct linear_weights *const *weights,
                        uint32_t count, enum gemm_mode mode, struct linear **out,
                        struct error *err);
void linear_close(struct linear *linear);

/* Packs the weights into the memory of a node (or of MEMORY_NODE_ANY), unless they are there. The
 * checkpoint's are read then and not afterwards. Errors: NO_MEMORY, INTERNAL. */
enum status linear_pack(struct linear *linear, int node, struct error *err);

/* Undoes all packing of the set's linears. No scratch may be open. */
void linear_set_unpack(struct linear_set *set);

/* How many nodes' memories hold packed weights of the set, and the bytes of their arenas. */
uint32_t linear_set_get_memories(const struct linear_set *set, uint64_t *bytes);

uint32_t linear_get_inputs(const struct linear *linear);
uint32_t linear_get_outputs(const struct linear *linear);
uint32_t linear_get_blocks(const struct linear *linear); /* in use after the self-test */
uint64_t linear_get_bytes(const struct linear *linear);  /* packed weights and bias, once */

/* The weights that it was opened with. */
const struct linear_weights *const *linear_get_sources(const struct linear *linear,
                                                       uint32_t *count);

/* Its runs are of this kind from here on, for threads with a probe. */
void linear_set_probe(struct linear *linear, enum probe_kind kind);

/* For all linears of the set that are packed now, read from the memory of `node` where they are
 * there, else from another. The calling thread is the one that will use it.
 * Errors: NO_MEMORY, INTERNAL. */
enum status linear_scratch_open(const struct linear_set *set, int node, struct linear_scratch **out,
                                struct error *err);
void linear_scratch_close(struct linear_scratch *scratch);

/* x [rows, in], y [rows, out], dense and apart; no row beyond `rows` is read or written. */
void linear_run(const struct linear *linear, struct linear_scratch *scratch, const float *x,
                uint32_t rows, float *y);

#endif
