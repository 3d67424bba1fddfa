/* gemm.h: matrix products y[N, out] = x[N, in] * W^T + b over weights packed once. The one thin
 * wrapper over oneDNN.
 *
 * N rows are cut into blocks of fixed row counts (64, 32, ... 1), for each of which a primitive is
 * made at open and shared by all linears of the same shape and all threads. At open a self-test
 * makes sure that a row's bits depend neither on the row count nor on the row's place; counts that
 * break this on a CPU are not used, and rows that no other count can take are padded. So the same
 * row gives the same bytes whatever is packed beside it.
 *
 * oneDNN uses OpenMP and blocks for the thread count that it sees; gemm_open() and
 * gemm_scratch_open() set it to 1 for the calling thread. Open on one thread; run from any thread
 * with a scratch that was opened on it. */
#ifndef BERTD_COMPUTE_GEMM_H
#define BERTD_COMPUTE_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/compute/kernels.h"
#include "engine/model/model.h"

enum gemm_dtype { GEMM_F32 };

struct gemm;         /* engine and primitives by shape */
struct gemm_scratch; /* one thread's stream, memory objects and scratchpad */
struct linear;       /* packed weights [out, in] and bias [out] */

/* What becomes of y. ADD: y += x * W^T + b, for residual sums. */
enum linear_mode { LINEAR_STORE, LINEAR_ADD };

/* `counts_mask` bit i allows blocks of 2^i rows (i = 0..6); GEMM_ALL_COUNTS in normal use, fewer
 * for tests. Bit 6 must be set. Error: INTERNAL, NO_MEMORY. */
enum { GEMM_ALL_COUNTS = 0x7F, GEMM_ROWS_MAX = 64 };
enum status gemm_open(enum gemm_dtype dtype, const struct kernels *kernels, uint32_t counts_mask,
                      struct gemm **out, struct error *err);

/* All linears and scratches of it must be closed before. NULL is allowed. */
void gemm_close(struct gemm *gemm);

/* Packs `count` (1..3) weights with the same input width as one product: their outputs side by
 * side. An absent bias counts as zeros. The tensors are not needed afterwards.
 * Errors: NO_MEMORY, INTERNAL. */
enum status linear_open(struct gemm *gemm, const struct linear_weights *const *weights,
                        uint32_t count, enum linear_mode mode, struct linear **out,
                        struct error *err);
void linear_close(struct linear *linear);

uint32_t linear_get_inputs(const struct linear *linear);
uint32_t linear_get_outputs(const struct linear *linear);
uint64_t linear_get_bytes(const struct linear *linear); /* of packed weights and bias */

/* Row counts that passed the self-test for this linear's shape, as a mask like counts_mask. */
uint32_t linear_get_counts(const struct linear *linear);

/* For all linears that are open now; one opened later needs a new scratch. The calling thread is
 * the one that will use it. Errors: NO_MEMORY, INTERNAL. */
enum status gemm_scratch_open(const struct gemm *gemm, struct gemm_scratch **out,
                              struct error *err);
void gemm_scratch_close(struct gemm_scratch *scratch);

/* x [rows, in], y [rows, out], both dense; no row beyond `rows` is read or written. */
void linear_run(const struct linear *linear, struct gemm_scratch *scratch, const float *x,
                uint32_t rows, float *y);

#endif
