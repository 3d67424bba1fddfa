/* peak.c: register-only loops of multiplications and additions, and two walks through memory.
 *
 * A loop has CHAINS sums, so that each has time to be ready before it is needed again: twelve are
 * more than the four cycles of latency times two units of today's cores. */
#include "engine/compute/peak.h"

#include <stdint.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/unroll.h"

enum { CHAINS = 12, CHUNK_FLOATS = 2048 };
static const uint64_t trial_ns = 2 * NS_PER_MS;

/* Runs many rounds of the chains; returns the operations of one round. */
typedef double peak_loop(uint32_t rounds);

/* What the compiler cannot see into: sums that look alike would become one, unused ones none. */
#if defined(__aarch64__)
#define HIDE(sum) __asm__ volatile("" : "+w"(sum))
#else
#define HIDE(sum) __asm__ volatile("" : "+x"(sum))
#endif

/* A loop over `type` in which `step` changes sums[i]; `operand` is a value of that type. */
#define LOOP(name, target_, type, init, operand, step, operations)                                 \
    __attribute__((target(target_))) static double name(uint32_t rounds) {                         \
        type sums[CHAINS];                                                                         \
        const type a = operand;                                                                    \
        UNROLL for (int i = 0; i < CHAINS; i++) {                                                  \
            sums[i] = init;                                                                        \
            HIDE(sums[i]);                                                                         \
        }                                                                                          \
        for (uint32_t r = 0; r < rounds; r++) {                                                    \
            UNROLL for (int i = 0; i < CHAINS; i++) sums[i] = step;                                \
        }                                                                                          \
        UNROLL for (int i = 0; i < CHAINS; i++) HIDE(sums[i]);                                     \
        return (operations) * (double)CHAINS;                                                      \
    }

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

/* Sums tend to 1: no number becomes tiny or huge. */
LOOP(loop_avx2, "avx2,fma", __m256, _mm256_set1_ps(0.5f), _mm256_set1_ps(0.5f),
     _mm256_fmadd_ps(sums[i], a, a), 16)
LOOP(loop_avx512, "avx512f", __m512, _mm512_set1_ps(0.5f), _mm512_set1_ps(0.5f),
     _mm512_fmadd_ps(sums[i], a, a), 32)
LOOP(loop_avx512_bf16, "avx512f,avx512bf16", __m512, _mm512_setzero_ps(), _mm512_setzero_ps(),
     _mm512_dpbf16_ps(sums[i], (__m512bh)a, (__m512bh)a), 64)
LOOP(loop_avx512_vnni, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), _mm512_set1_epi8(1),
     _mm512_dpbusd_epi32(sums[i], a, a), 128)

static bool cpu_has_amx(void) {
    unsigned a, b, c, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & (1u << 24));
}

static peak_loop *loop_find(enum gemm_dtype dtype, const char **name) {
    __builtin_cpu_init();
    *name = "";
    if (!gemm_has_dtype(dtype) || (dtype != GEMM_F32 && cpu_has_amx()))
        return NULL;
    if (dtype == GEMM_BF16 && __builtin_cpu_supports("avx512bf16")) {
        *name = "avx512_bf16";
        return loop_avx512_bf16;
    }
    if (dtype == GEMM_INT8 && __builtin_cpu_supports("avx512vnni")) {
        *name = "avx512_vnni";
        return loop_avx512_vnni;
    }
    if (dtype == GEMM_F32 && __builtin_cpu_supports("avx512f")) {
        *name = "avx512f";
        return loop_avx512;
    }
    if (dtype == GEMM_F32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *name = "avx2 fma";
        return loop_avx2;
    }
    return NULL;
}

#elif defined(__aarch64__)
#include <arm_neon.h>

LOOP(loop_asimd, "+simd", float32x4_t, vdupq_n_f32(0.5f), vdupq_n_f32(0.5f),
     vfmaq_f32(a, sums[i], a), 8)

static peak_loop *loop_find(enum gemm_dtype dtype, const char **name) {
    *name = dtype == GEMM_F32 ? "asimd" : "";
    return dtype == GEMM_F32 ? loop_asimd : NULL;
}

#else

static peak_loop *loop_find(enum gemm_dtype dtype, const char **name) {
    (void)dtype;
    *name = "";
    return NULL;
}

#endif

double peak_measure_flops(enum gemm_dtype dtype) {
    const char *name;
    peak_loop *const loop = loop_find(dtype, &name);
    double best = 0;
    if (!loop)
        return 0;
    /* Short turns: one of them is not interrupted. */
    const uint64_t end_ns = clock_now_ns() + trial_ns;
    for (uint64_t now_ns = clock_now_ns(); now_ns < end_ns;) {
        enum { ROUNDS = 50000 };
        const double operations = loop(ROUNDS) * ROUNDS;
        const uint64_t then_ns = clock_now_ns();
        const double rate = operations * (double)NS_PER_S / (double)(then_ns - now_ns);
        best = rate > best ? rate : best;
        now_ns = then_ns;
    }
    return best;
}

const char *peak_name(enum gemm_dtype dtype) {
    const char *name;
    (void)loop_find(dtype, &name);
    return name;
}

double peak_measure_update(const struct kernels *kernels, void *memory, size_t bytes) {
    float *x = memory;
    const size_t half = bytes / sizeof *x / 2;
    double best = 0;
    const uint64_t end_ns = clock_now_ns() + trial_ns;
    memset(memory, 0, bytes);
    for (uint64_t now_ns = clock_now_ns(); now_ns < end_ns;) {
        kernels->add(x, x + half, half);
        kernels->add(x, x + half, half);
        const uint64_t then_ns = clock_now_ns();
        const double moved = 2.0 * 3.0 * sizeof *x * (double)half;
        const double rate = moved * (double)NS_PER_S / (double)(then_ns - now_ns);
        best = rate > best ? rate : best;
        now_ns = then_ns;
    }
    return best;
}

double peak_measure_read(const struct kernels *kernels, const void *memory, size_t bytes) {
    float chunk[CHUNK_FLOATS];
    const unsigned char *from = memory;
    double best = 0;
    for (int walk = 0; walk < 3; walk++) { /* the first one fills the caches */
        const uint64_t now_ns = clock_now_ns();
        for (size_t at = 0; at + sizeof chunk <= bytes; at += sizeof chunk)
            kernels->widen(TENSOR_F32, from + at, CHUNK_FLOATS, chunk);
        const double rate = (double)bytes * (double)NS_PER_S / (double)(clock_now_ns() - now_ns);
        if (walk > 0 && rate > best)
            best = rate;
    }
    return best;
}
