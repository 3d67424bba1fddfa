/* gemm.h: the one thin wrapper over the library that multiplies: y[N, out] = x[N, in] * W^T + b for
 * fixed row counts N = 1, 2, 4, ... 64, over weights packed once. linear.h cuts any N into such
 * blocks. Behind it is, as the program was built, oneDNN 2.6 to 3.x (gemm_onednn*.c) or, for fp32
 * only, OpenBLAS (gemm_cblas.c).
 *
 * A shape holds the primitives; all weights of that shape share them, and so do all threads. Once
 * open, shapes and weights are only read; what a library changes while it runs (oneDNN's memory
 * handles, scratchpad, stream) is in each thread's own gemm_scratch.
 *
 * A product runs on its calling thread alone. oneDNN uses OpenMP and blocks for the thread count it
 * sees; gemm_open() and gemm_scratch_open() set it to 1 for the calling thread, and gemm_open()
 * sets OpenBLAS's to 1 for the process. Open on one thread. */
#ifndef BERTD_COMPUTE_GEMM_H
#define BERTD_COMPUTE_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/compute/kernels.h"
#include "engine/compute/weights_arena.h"

/* Of inputs and weights; biases and results are fp32 in all of them, and what gemm_run() gets is
 * fp32 too and is converted row by row.
 *
 * INT8: weights have one scale for each output, w = s_o q, q in -127..127. Inputs have a scale and
 * a zero point for each row, x = s_r (u - z_r), u in 0..255, from the row's own range. Sums of u q
 * are exact in 32 bits, so y = s_r s_o (sum(u q) - z_r sum(q)) + b depends on nothing but the row.
 */
enum gemm_dtype { GEMM_F32, GEMM_BF16, GEMM_INT8 };

enum { GEMM_INT8_INPUTS_MAX = 65536 }; /* 255 * 127 * this many still fit into 32 bits */

/* NULL where the library has products of that type and the CPU multiplies its numbers in hardware;
 * else what is lacking, for a message. */
const char *gemm_get_refusal(enum gemm_dtype dtype);

static inline bool gemm_has_dtype(enum gemm_dtype dtype) {
    return gemm_get_refusal(dtype) == NULL;
}

/* ADD: y += x * W^T + b, for residual sums. TURNED: as STORE, but the weights are W^T [in, out],
 * row-major, not packed: for a right-hand side that changes from call to call. */
enum gemm_mode { GEMM_STORE, GEMM_ADD, GEMM_TURNED };

enum {
    GEMM_BLOCKS = 7, /* block i has 2^i rows */
    GEMM_ROWS_MAX = 1 << (GEMM_BLOCKS - 1),
    GEMM_ALL_BLOCKS = (1 << GEMM_BLOCKS) - 1,
};

struct gemm;
struct gemm_shape;
struct gemm_weights;
struct gemm_scratch;

/* The kernels must outlive it. Errors: UNSUPPORTED (an OpenBLAS that only one thread may call),
 * INTERNAL, NO_MEMORY. */
enum status gemm_open(const struct kernels *kernels, struct gemm **out, struct error *err);

/* Name and version of the library behind it, NUL-terminated. */
void gemm_get_library(char *out, size_t room);
void gemm_close(struct gemm *gemm);

/* Bit i of `blocks` asks for the block of 2^i rows; the largest is always made, since it chooses
 * the layout of the weights. Errors: UNSUPPORTED (the dtype, or int8 of too many inputs), INTERNAL,
 * NO_MEMORY. */
enum status gemm_shape_open(const struct gemm *gemm, enum gemm_dtype dtype, uint32_t inputs,
                            uint32_t outputs, enum gemm_mode mode, uint32_t blocks,
                            struct gemm_shape **out, struct error *err);
void gemm_shape_close(struct gemm_shape *shape);

/* Blocks that were made, and of them those for which the library has more than reference code. */
uint32_t gemm_shape_get_blocks(const struct gemm_shape *shape);
uint32_t gemm_shape_get_fast_blocks(const struct gemm_shape *shape);

/* Of weights of that shape, packed, with their bias. */
uint64_t gemm_shape_get_bytes(const struct gemm_shape *shape);

/* Packed weights, undefined, and a bias of zeros. They lie in the arena and outlive the close.
 * Errors: NO_MEMORY, INTERNAL. */
enum status gemm_weights_open(const struct gemm *gemm, const struct gemm_shape *shape,
                              struct weights_arena *arena, struct gemm_weights **out,
                              struct error *err);
void gemm_weights_close(struct gemm_weights *weights);

/* Weights in memory of the caller's, of a shape with GEMM_TURNED: `turned` [in, out] and `bias`
 * [out] are read by each gemm_run() and must outlive the close. Errors: NO_MEMORY, INTERNAL. */
enum status gemm_weights_wrap(const struct gemm *gemm, const struct gemm_shape *shape,
                              float *turned, float *bias, struct gemm_weights **out,
                              struct error *err);

/* Converts and reorders `wide` [out, in], row-major; it is not needed afterwards. A row that is not
 * finite gives results that are not. Error: INTERNAL, NO_MEMORY. */
enum status gemm_weights_pack(const struct gemm *gemm, struct gemm_weights *weights,
                              const float *wide, struct error *err);
float *gemm_weights_get_bias(struct gemm_weights *weights); /* [out], to be filled */

/* Working memory of one thread for `count` shapes; shape i is called by that index afterwards.
 * Opened on the thread that uses it. Errors: NO_MEMORY, INTERNAL. */
enum status gemm_scratch_open(const struct gemm *gemm, struct gemm_shape *const *shapes,
                              uint32_t count, struct gemm_scratch **out, struct error *err);
void gemm_scratch_close(struct gemm_scratch *scratch);

/* One product of 2^block rows: x [2^block, in], y [2^block, out], dense, at any address. False
 * when the library refuses. */
bool gemm_run(const struct gemm_weights *weights, struct gemm_scratch *scratch,
              uint32_t shape_index, uint32_t block, const float *x, float *y);

#endif
