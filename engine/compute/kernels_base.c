/* kernels_base.c: the kernels in four-lane vectors of the compiler, for every CPU.
 *
 * The vector operations below are what vector_*.h is written in; kernels_avx2.c and
 * kernels_avx512.c define the same names. */
#include "engine/compute/kernels.h"

#include <stdint.h>
#include <string.h>

#define VEC_LANES   4
#define VEC_ROWS    4 /* register block of the matrix kernel: rows x vectors */
#define VEC_COLUMNS 2

typedef float vec __attribute__((vector_size(16)));
typedef uint32_t vec_bits __attribute__((vector_size(16)));
typedef uint16_t vec_half __attribute__((vector_size(8)));
typedef int32_t vec_integers __attribute__((vector_size(16)));
typedef uint8_t vec_bytes __attribute__((vector_size(4)));

#define VEC_INLINE static inline __attribute__((always_inline))

VEC_INLINE vec vec_set(float x) {
    return (vec){x, x, x, x};
}

VEC_INLINE vec vec_load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

VEC_INLINE void vec_store(float *p, vec v) {
    memcpy(p, &v, sizeof v);
}

VEC_INLINE vec vec_fma(vec a, vec b, vec c) {
    return a * b + c;
}

/* a > b ? a : b in each lane, so b where either is NaN. */
VEC_INLINE vec vec_max(vec a, vec b) {
    vec_bits mask = (vec_bits)(a > b);
    return (vec)((mask & (vec_bits)a) | (~mask & (vec_bits)b));
}

/* a < b ? a : b in each lane, so b where either is NaN. */
VEC_INLINE vec vec_min(vec a, vec b) {
    vec_bits mask = (vec_bits)(a < b);
    return (vec)((mask & (vec_bits)a) | (~mask & (vec_bits)b));
}

/* Half precision (IEEE 754 binary16) to single: the exponent is moved by a multiplication, which
 * also makes subnormal numbers right; infinities and NaN get the largest exponent back. */
VEC_INLINE vec vec_load_f16(const unsigned char *source) {
    uint16_t half[4];
    memcpy(half, source, sizeof half);
    vec_bits h = {half[0], half[1], half[2], half[3]};
    vec_bits magnitude = (h & 0x7FFFu) << 13;
    vec scaled = (vec)magnitude * vec_set(0x1p112f);
    vec_bits special = (vec_bits)(magnitude >= (0x7C00u << 13)) & 0x7F800000u;
    return (vec)((vec_bits)scaled | special | ((h & 0x8000u) << 16));
}

VEC_INLINE vec vec_load_bf16(const unsigned char *source) {
    uint16_t half[4];
    memcpy(half, source, sizeof half);
    vec_bits h = {half[0], half[1], half[2], half[3]};
    return (vec)(h << 16);
}

#define KERNELS_NAME "base"
#include "engine/compute/vector_attention.h"
#include "engine/compute/vector_math.h"
#include "engine/compute/vector_rows.h"
#include "engine/compute/vector_table.h"

const struct kernels *kernels_base(void) {
    return &table;
}
