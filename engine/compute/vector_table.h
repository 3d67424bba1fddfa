/* vector_table.h: the table of one version of the kernels. Included by kernels_*.c only, last. */
#ifndef BERTD_COMPUTE_VECTOR_TABLE_H
#define BERTD_COMPUTE_VECTOR_TABLE_H

#include "engine/compute/vector_attention.h"
#include "engine/compute/vector_logits.h"
#include "engine/compute/vector_quantise.h"
#include "engine/compute/vector_rows.h"

static const struct kernels table = {
    .name = KERNELS_NAME,
    .widen = widen,
    .narrow = narrow,
    .quantise = quantise,
    .dequantise = dequantise,
    .add = add,
    .activate = activate,
    .norm = norm,
    .logits = logits,
    .attend = attend,
    .attend_probed = attend_probed,
    .attend_scratch = attend_scratch,
};

#endif
