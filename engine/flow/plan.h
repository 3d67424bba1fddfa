/* plan.h: which parts of the model run in which stage, on which virtual graph, in how many
 * replicas. Made once at start from the parts' costs, then immutable.
 *
 * Parts come in the model's order: the embedding, L encoder layers of PLAN_THIRDS parts each, the
 * parts of the head. Encoder
 * stage i runs on virtual graph (VG) i; the embedding belongs to stage 0. With several encoder
 * stages the head is one more stage on VG 0, where it finds the weights it may share with the
 * embedding; with one it is fused into it. */
#ifndef BERTD_FLOW_PLAN_H
#define BERTD_FLOW_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/limits.h"
#include "engine/base/status.h"
#include "engine/base/thread.h"

enum { PLAN_THIRDS = 3 };

/* The least piece of the model that can be placed. */
struct part {
    const char *name;  /* "Embedding", "Encoder 0", "Pooler", "Classifier" */
    const char *third; /* of an encoder layer: "attention", "intermediate", "output"; else NULL */
    uint64_t weights_bytes;
    double cost; /* multiply-adds a token, for the share of the work */
};

/* What is to be planned. Zero and NULL mean "choose". */
struct plan_wishes {
    const struct part *parts; /* embedding, layers, head; must outlive the plan */
    uint32_t parts_count, layers_count;
    uint32_t cores;     /* 1 or more */
    const char *cpus;   /* the CPUs that the threads may use, "0-3"; must outlive the plan */
    const char *reason; /* why there are so many cores; must outlive the plan */
    uint32_t stages;    /* of the encoder */
    const char *layers_per_stage; /* "2,2,-1" or "2.3,-1": .3 and .6 are one and two thirds of a
                                     layer, one -1 takes what is left */
    uint32_t replicas;
    bool no_pipelining;
    uint32_t max_in_flight;
};

struct plan_stage {
    char name[THREAD_NAME_BYTES]; /* "stage 0" or "head" */
    uint32_t first_part, parts_count;
    uint32_t vg;
    uint64_t weights_bytes;
    double share; /* of the work of one token, 0..1 */
};

struct plan {
    const struct part *parts;
    uint32_t parts_count, cores;
    const char *cpus, *reason;
    uint32_t stages_count; /* threads of one replica, the head's included */
    uint32_t vgs_count;    /* encoder stages */
    uint32_t replicas;
    bool pipelining;
    uint32_t max_in_flight; /* microbatches of one replica */
    struct plan_stage stages[LIMIT_STAGES + 1];
    uint32_t bottleneck_vg; /* the one with the most work */
    double bottleneck_share;
    uint64_t weights_bytes;
    bool splits_feed_forward; /* a stage ends after an intermediate third */
};

/* Left to itself it takes as many stages as there are cores while each has a layer at least, with
 * borders that make the virtual graph with the most work as light as can be, and as many replicas
 * as the cores then allow. Error: INVALID_VALUE (says what was given and what is allowed). */
enum status plan_make(const struct plan_wishes *wishes, struct plan *out, struct error *err);

/* The allocation table for people, and as one line of JSON. free() them. NULL: no memory. */
char *plan_to_text(const struct plan *plan);
char *plan_to_json(const struct plan *plan);

#endif
