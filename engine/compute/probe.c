/* probe.c: a thread's running account, and the kernels that write into it. */
#include "engine/compute/probe.h"

#include <stddef.h>

#include "engine/base/clock.h"
#include "engine/compute/kernels.h"

static _Thread_local struct probe *current; /* NULL: nobody asks */

/* Those that are watched. Found once: asking the CPU what it has takes microseconds in a virtual
 * machine. */
static const struct kernels *best;

void probe_begin(struct probe *probe) {
    *probe = (struct probe){.kind = PROBE_OTHER, .since_ns = clock_now_ns()};
    current = probe;
}

void probe_end(void) {
    probe_enter(PROBE_OTHER);
    current = NULL;
}

enum probe_kind probe_enter(enum probe_kind kind) {
    struct probe *probe = current;
    if (!probe)
        return PROBE_OTHER;
    const uint64_t now_ns = clock_now_ns();
    const enum probe_kind before = probe->kind;
    probe->parts[before].ns += now_ns - probe->since_ns;
    probe->parts[before].turns++;
    probe->kind = kind;
    probe->since_ns = now_ns;
    return before;
}

void probe_count(double flops, double bytes) {
    if (!current)
        return;
    struct probe_part *part = &current->parts[current->kind];
    part->flops += flops;
    part->bytes += bytes;
}

double probe_measure_cost(void) {
    enum { TRIALS = 20, TURNS = 1000 };
    struct probe *const before = current;
    struct probe probe;
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < TRIALS; i++) {
        probe_begin(&probe);
        for (int k = 0; k < TURNS; k++)
            probe_enter(PROBE_NORM);
        probe_end();
        const uint64_t ns = probe.parts[PROBE_NORM].ns;
        best_ns = ns < best_ns ? ns : best_ns;
    }
    current = before;
    return (double)best_ns / TURNS;
}

/* Enters a kind, counts `bytes` of it and calls the kernel. */
#define WATCH(kind, bytes, call)                                                                   \
    do {                                                                                           \
        const enum probe_kind before = probe_enter(kind);                                          \
        probe_count(0, bytes);                                                                     \
        call;                                                                                      \
        probe_enter(before);                                                                       \
    } while (0)

static void narrow(const float *x, size_t count, uint16_t *out) {
    WATCH(PROBE_CONVERT, 6.0 * (double)count, best->narrow(x, count, out));
}

static void quantise(const float *x, size_t width, uint8_t *out, float *scale, float *zero) {
    WATCH(PROBE_QUANTISE, 5.0 * (double)width, best->quantise(x, width, out, scale, zero));
}

static void dequantise(const struct dequantise_args *args, const int32_t *integers, size_t width,
                       float row_scale, float row_zero, float *y) {
    WATCH(PROBE_QUANTISE, (args->add ? 12.0 : 8.0) * (double)width,
          best->dequantise(args, integers, width, row_scale, row_zero, y));
}

static void activate(enum activation_function function, float *x, size_t count) {
    WATCH(PROBE_ACTIVATION, 8.0 * (double)count, best->activate(function, x, count));
}

static void norm(float *x, size_t rows, size_t width, const float *gamma, const float *beta,
                 float eps) {
    WATCH(PROBE_NORM, 8.0 * (double)(rows * width), best->norm(x, rows, width, gamma, beta, eps));
}

/* The kernel itself enters the kinds of its three steps. */
static void attend(const struct attend_args *args) {
    const enum probe_kind before = probe_enter(PROBE_SCORES);
    (current ? best->attend_probed : best->attend)(args);
    probe_enter(before);
}

const struct kernels *kernels_probed(void) {
    static struct kernels table;
    if (!best) {
        best = kernels_best();
        table = *best;
        table.narrow = narrow;
        table.quantise = quantise;
        table.dequantise = dequantise;
        table.activate = activate;
        table.norm = norm;
        table.attend = attend;
    }
    return &table;
}
