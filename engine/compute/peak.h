/* peak.h: what one core of this machine can do at best, measured in a few milliseconds: the floor
 * that `bertd bench --budget` holds against what the engine needs.
 *
 * Each call is one short trial; the caller keeps the best of several, spread over its own run, so
 * that both see the same clock rate and the same neighbours. Any thread. */
#ifndef BERTD_COMPUTE_PEAK_H
#define BERTD_COMPUTE_PEAK_H

#include <stddef.h>

#include "engine/compute/gemm.h"

/* Operations a second (a multiplication and an addition count two) of the widest instruction that
 * multiplies and adds this type, in independent chains of registers that touch no memory. 0: not
 * known (a CPU with AMX, in other types than F32; a CPU that does not have the type). */
double peak_measure_flops(enum gemm_dtype dtype);

/* The name of that instruction set: "avx2 fma", "avx512_vnni"; "" where the peak is not known. */
const char *peak_name(enum gemm_dtype dtype);

/* Bytes a second that come and go when numbers are added to numbers, all in `memory` [bytes]:
 * two reads and a write for each. A block's worth of bytes shows the core's own caches. */
double peak_measure_update(const struct kernels *kernels, void *memory, size_t bytes);

/* Bytes a second that come in when `memory` [bytes] is read from end to end, again and again. As
 * many bytes as the weights show what feeds the products. */
double peak_measure_read(const struct kernels *kernels, const void *memory, size_t bytes);

#endif
