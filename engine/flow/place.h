/* place.h: where in the machine a thread of the pipeline works: the CPU set of its virtual graph,
 * and the memory of the set's NUMA node. */
#ifndef BERTD_FLOW_PLACE_H
#define BERTD_FLOW_PLACE_H

#include "engine/base/memory_node.h"
#include "engine/flow/plan.h"

/* The node whose memory the virtual graph of a stage uses in a replica; MEMORY_NODE_ANY: its CPUs
 * are of several. */
int place_get_node(const struct plan *plan, uint32_t replica, uint32_t stage);

/* Pins the calling thread to that CPU set, if the plan pins, and returns the node. What the system
 * refuses, since the CPUs have gone since the plan was made, is logged: the thread then runs where
 * it may. A thread that this one starts inherits the set. */
int place_enter(const struct plan *plan, uint32_t replica, uint32_t stage);

#endif
