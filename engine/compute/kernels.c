/* kernels.c: which version of the kernels this CPU runs. */
#include "engine/compute/kernels.h"

const struct kernels *kernels_best(void) {
    const struct kernels *best = kernels_avx512();
    if (!best)
        best = kernels_avx2();
    return best ? best : kernels_base();
}
