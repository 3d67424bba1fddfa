/* kernels_avx512.c: the kernels in sixteen lanes, for CPUs with AVX-512 F, DQ, BW and VL. */
#include "engine/compute/kernels.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

#if defined(__clang__)
#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))),    \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma")
#include <immintrin.h>
#endif

#define VEC_LANES   16
#define VEC_ROWS    6
#define VEC_COLUMNS 4

typedef __m512 vec;
typedef uint32_t vec_bits __attribute__((vector_size(64)));
typedef uint16_t vec_half __attribute__((vector_size(32)));
typedef int32_t vec_integers __attribute__((vector_size(64)));
typedef uint8_t vec_bytes __attribute__((vector_size(16)));

#define VEC_INLINE static inline __attribute__((always_inline))

VEC_INLINE vec vec_set(float x) {
    return _mm512_set1_ps(x);
}

VEC_INLINE vec vec_load(const float *p) {
    return _mm512_loadu_ps(p);
}

VEC_INLINE void vec_store(float *p, vec v) {
    _mm512_storeu_ps(p, v);
}

VEC_INLINE vec vec_fma(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}

VEC_INLINE vec vec_max(vec a, vec b) {
    return _mm512_max_ps(a, b);
}

VEC_INLINE vec vec_min(vec a, vec b) {
    return _mm512_min_ps(a, b);
}

VEC_INLINE vec vec_load_f16(const unsigned char *source) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)source));
}

VEC_INLINE vec vec_load_bf16(const unsigned char *source) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)source));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

#define KERNELS_NAME "avx512"
#include "engine/compute/vector_attention.h"
#include "engine/compute/vector_math.h"
#include "engine/compute/vector_rows.h"
#include "engine/compute/vector_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const struct kernels *kernels_avx512(void) {
    bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return has ? &table : NULL;
}

#else

const struct kernels *kernels_avx512(void) {
    return NULL;
}

#endif
