/* nodes_budget.h: a forward pass, part by part against the machine's peaks; see budget.h. */
#ifndef BERTD_NODES_BUDGET_H
#define BERTD_NODES_BUDGET_H

#include "engine/budget.h"
#include "engine/flow/microbatch.h"
#include "engine/model/model.h"

/* Runs the microbatches on the calling thread through nodes of its own, and sets all of *out that
 * is about the pass and the peaks. Errors: UNSUPPORTED (dtype), NO_MEMORY, INTERNAL. */
enum status nodes_measure_budget(const struct model *model, const char *dtype,
                                 struct microbatch *const *microbatches, uint32_t count,
                                 uint64_t duration_ns, struct budget *out, struct error *err);

#endif
