/* probe.h: where the time of a forward pass goes, for `bertd bench --budget`.
 *
 * A thread's time is always of one kind. Who begins some work enters its kind and goes back to the
 * kind that was before, so that no time counts twice. A kind also counts the least work that it
 * stands for: useful arithmetic, and bytes that must come and go.
 *
 * It costs nothing unless it is asked for: kernels are watched by a table of their own
 * (kernels_probed()), products only where linear_set_probe() was called, and both only on a thread
 * between probe_begin() and probe_end(). */
#ifndef BERTD_COMPUTE_PROBE_H
#define BERTD_COMPUTE_PROBE_H

#include <stdint.h>

struct kernels;

enum probe_kind {
    PROBE_OTHER, /* what nobody has entered a kind for */
    PROBE_EMBEDDING,
    PROBE_QKV, /* from here on products: */
    PROBE_ATTENTION_OUTPUT,
    PROBE_UP,
    PROBE_DOWN,
    PROBE_POOLER,     /* or the transform of a masked-language model */
    PROBE_CLASSIFIER, /* or the decoder */
    PROBE_SCORES,     /* query * key^T, and packing both */
    PROBE_SOFTMAX,
    PROBE_CONTEXT, /* softmax * value, and packing the values */
    PROBE_ACTIVATION,
    PROBE_NORM,
    PROBE_QUANTISE, /* rows to bytes, and sums of bytes back */
    PROBE_CONVERT,  /* rows to bf16 */
    PROBE_KINDS
};

struct probe_part {
    uint64_t ns;
    uint64_t turns;      /* stretches of time that `ns` is the sum of */
    double flops, bytes; /* useful operations, a multiplication and an addition each counting one */
};

struct probe {
    struct probe_part parts[PROBE_KINDS];
    enum probe_kind kind; /* of the time that runs now */
    uint64_t since_ns;
};

/* The calling thread's time counts in `probe`, zeroed here, until probe_end(). */
void probe_begin(struct probe *probe);
void probe_end(void);

/* Time is of this kind from here on; returns the kind that it was. Nothing happens on a thread
 * without a probe. */
enum probe_kind probe_enter(enum probe_kind kind);

/* Work of the kind that runs now. */
void probe_count(double flops, double bytes);

/* What looking at the clock adds to each turn, in nanoseconds: the least of a few trials. */
double probe_measure_cost(void);

/* kernels_best(), watched. On a thread without a probe they do the same as those. The first call
 * may not run beside another. */
const struct kernels *kernels_probed(void);

#endif
