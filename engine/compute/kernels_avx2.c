/* kernels_avx2.c: the kernels in eight lanes, for CPUs with AVX2, FMA and F16C. */
#include "engine/compute/kernels.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

#include <cpuid.h>

#if defined(__clang__)
#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#include <immintrin.h>
#endif

#define VEC_LANES   8
#define VEC_ROWS    6
#define VEC_COLUMNS 2

typedef __m256 vec;
typedef uint32_t vec_bits __attribute__((vector_size(32)));
typedef uint16_t vec_half __attribute__((vector_size(16)));
typedef int32_t vec_integers __attribute__((vector_size(32)));
typedef uint8_t vec_bytes __attribute__((vector_size(8)));

#define VEC_INLINE static inline __attribute__((always_inline))

VEC_INLINE vec vec_set(float x) {
    return _mm256_set1_ps(x);
}

VEC_INLINE vec vec_load(const float *p) {
    return _mm256_loadu_ps(p);
}

VEC_INLINE void vec_store(float *p, vec v) {
    _mm256_storeu_ps(p, v);
}

VEC_INLINE vec vec_fma(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}

VEC_INLINE vec vec_max(vec a, vec b) {
    return _mm256_max_ps(a, b);
}

VEC_INLINE vec vec_min(vec a, vec b) {
    return _mm256_min_ps(a, b);
}

VEC_INLINE vec vec_load_f16(const unsigned char *source) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const void *)source));
}

VEC_INLINE vec vec_load_bf16(const unsigned char *source) {
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)source));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

#define KERNELS_NAME "avx2"
#include "engine/compute/vector_attention.h"
#include "engine/compute/vector_math.h"
#include "engine/compute/vector_rows.h"
#include "engine/compute/vector_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const struct kernels *kernels_avx2(void) {
    unsigned a, b, c = 0, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C); /* clang 14 has no name for it */
    bool has = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has ? &table : NULL;
}

#else

const struct kernels *kernels_avx2(void) {
    return NULL;
}

#endif
