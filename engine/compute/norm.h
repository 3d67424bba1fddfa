/* norm.h: the weights of a layer norm, widened once. H is the width. Immutable after open. */
#ifndef BERTD_COMPUTE_NORM_H
#define BERTD_COMPUTE_NORM_H

#include <stdint.h>

#include "engine/base/status.h"
#include "engine/compute/kernels.h"
#include "engine/model/model.h"

struct norm {
    const struct kernels *kernels;
    float *gamma, *beta; /* [H] */
    uint32_t width;      /* H */
    float eps;
};

/* Error: NO_MEMORY. */
enum status norm_open(const struct kernels *kernels, const struct norm_weights *weights, float eps,
                      struct norm *out, struct error *err);
void norm_close(struct norm *norm);

/* In place over x [rows, H]. */
void norm_run(const struct norm *norm, float *x, uint32_t rows);

/* Of its weights. */
uint64_t norm_get_bytes(const struct norm *norm);

#endif
