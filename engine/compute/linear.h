/* linear.h: y[N, out] = x[N, in] * W^T + b for any N, over weights of the checkpoint.
 *
 * N rows are cut into blocks of 64, 32, ... 1 rows. When the first linear of a shape is opened, a
 * self-test makes sure that a row's bits depend neither on the block's row count nor on the row's
 * place in it; row counts that break this on a CPU are not used there, and rows that no count in
 * use can take are padded. So the same row gives the same bytes whatever is packed beside it.
 *
 * Open everything on one thread; run from any thread with a scratch that was opened on it. */
#ifndef BERTD_COMPUTE_LINEAR_H
#define BERTD_COMPUTE_LINEAR_H

#include <stdint.h>

#include "engine/base/status.h"
#include "engine/compute/gemm.h"
#include "engine/compute/kernels.h"
#include "engine/model/model.h"

enum { LINEAR_SHAPES_MAX = 32, LINEAR_JOINED_MAX = 3 };

struct linear_set;     /* what linears share: shapes with their primitives */
struct linear_scratch; /* one thread's working memory for all linears of a set */
struct linear;         /* immutable after open */

/* Bit i of `blocks` allows blocks of 2^i rows: GEMM_ALL_BLOCKS, or fewer for tests.
 * Errors: INTERNAL, NO_MEMORY. */
enum status linear_set_open(enum gemm_dtype dtype, const struct kernels *kernels, uint32_t blocks,
                            struct linear_set **out, struct error *err);

/* All linears and scratches of it must be closed before. NULL is allowed. */
void linear_set_close(struct linear_set *set);

/* Packs `count` (1..LINEAR_JOINED_MAX) weights with the same input width as one product: their
 * outputs side by side. An absent bias counts as zeros. The tensors are not needed afterwards.
 * Errors: NO_MEMORY, UNSUPPORTED (too many shapes), INTERNAL. */
enum status linear_open(struct linear_set *set, const struct linear_weights *const *weights,
                        uint32_t count, enum gemm_mode mode, struct linear **out,
                        struct error *err);
void linear_close(struct linear *linear);

uint32_t linear_get_inputs(const struct linear *linear);
uint32_t linear_get_outputs(const struct linear *linear);
uint32_t linear_get_blocks(const struct linear *linear); /* in use after the self-test */
uint64_t linear_get_bytes(const struct linear *linear);  /* packed weights and bias */

/* For all linears of the set that are open now. The calling thread is the one that will use it.
 * Errors: NO_MEMORY, INTERNAL. */
enum status linear_scratch_open(const struct linear_set *set, struct linear_scratch **out,
                                struct error *err);
void linear_scratch_close(struct linear_scratch *scratch);

/* x [rows, in], y [rows, out], dense and apart; no row beyond `rows` is read or written. */
void linear_run(const struct linear *linear, struct linear_scratch *scratch, const float *x,
                uint32_t rows, float *y);

#endif
