/* plan.h: which parts of the model run in which stage, on which virtual graph, on which cores, in
 * how many replicas, and what comes of it. Made once at start from the parts' measured costs and
 * the machine, then immutable. Pure: it looks at nothing but its input.
 *
 * Parts come in the model's order: the embedding, L encoder layers of PLAN_THIRDS parts each, the
 * parts of the head. By default encoder stage i runs on virtual graph (VG) i; the embedding belongs
 * to stage 0. With several encoder stages the head is one more stage on VG 0, where it finds the
 * weights it may share with the embedding; with one it is fused into it.
 *
 * The prediction, for microbatches of T tokens, R replicas and M microbatches in flight in each:
 *   service of a stage = its parts' costs, divided by what a team of its threads gains, and the
 *                        hand-over from the stage before it; longer on a core that is not the
 *                        machine's fastest
 *   rate of a replica  = the least of 1 / its longest service, M / the sum of its services, and
 *                        for each of its CPU sets (cores of the set) / (core time of all stages,
 *                        of all replicas, that run there)
 * and, where stages share a CPU set, what they wait for each other (plan_contention.c).
 * Files: plan_wishes.c reads what was given by hand; plan_places.c shares out the cores;
 * plan_borders.c finds borders; plan_predict.c computes the above; plan.c chooses;
 * plan_reason.c says why; plan_print.c and plan_json.c show it. */
#ifndef BERTD_FLOW_PLAN_H
#define BERTD_FLOW_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/limits.h"
#include "engine/base/status.h"
#include "engine/base/thread.h"
#include "engine/base/topology.h"

enum { PLAN_THIRDS = 3, PLAN_REASON_BYTES = 1024, PLAN_NODES_MAX = 64 };

/* What costs are measured with: a microbatch of so many tokens, in texts of so many. */
enum { PLAN_COST_TOKENS = 64, PLAN_COST_TEXT_TOKENS = 32 };

/* The automatic budget of a microbatch is a multiple of STEP between MIN and MAX. Below the least,
 * packed rows fill the products' blocks of 64 rows badly: 64 tokens gave 5 to 15 % fewer tokens for
 * each second of work than 192. In steps, it is the same from one start to the next. */
enum {
    PLAN_MICROBATCH_TOKENS_STEP = 64,
    PLAN_MICROBATCH_TOKENS_MIN = 128,
    PLAN_MICROBATCH_TOKENS_MAX = 512,
};

/* The least piece of the model that can be placed. */
struct part {
    const char *name;  /* "Embedding", "Encoder 0", "Pooler", "Classifier" */
    const char *third; /* of an encoder layer: "attention", "intermediate", "output"; else NULL */
    uint64_t weights_bytes;
    double cost;             /* nanoseconds a token on one core */
    uint32_t handover_bytes; /* a token, to the next stage when a stage ends with this part */
    bool shares_first; /* reads the first part's matrix too, which is in neither weight twice */
    uint32_t chunks;   /* in which it reads its matrix; 0: it is no decoder over a vocabulary */
};

/* What is to be planned. Zero and NULL mean "choose". */
struct plan_wishes {
    const struct part *parts; /* embedding, layers, head; must outlive the plan */
    uint32_t parts_count, layers_count;
    const struct topology *machine; /* must outlive the plan */
    uint32_t stages;                /* of the encoder */
    const char *layers_per_stage;   /* "2,2,-1" or "2.3,-1": .3 and .6 are one and two thirds of a
                                       layer, one -1 takes what is left */
    const char *virtual_graphs;     /* "0,1,0": of each encoder stage and of the head */
    const char *pin; /* "0-3;4-7": a CPU set of each VG, or of each VG of each replica */
    uint32_t replicas;
    uint32_t stage_threads; /* the team of each stage */
    bool no_pipelining;
    uint32_t max_in_flight;
    uint32_t microbatch_tokens;
};

struct plan_stage {
    char name[THREAD_NAME_BYTES]; /* "stage 0" or "head" */
    uint32_t first_part, parts_count;
    uint32_t vg;
    uint64_t weights_bytes;
    double cost;       /* nanoseconds a token of its parts, on one core */
    double share;      /* of the work of one token, 0..1 */
    double service_ns; /* a token, as its team runs it and with the hand-over */
    double busy;       /* predicted utilisation, 0..1 */
};

/* The CPU set of one virtual graph in one replica: plan.cpus[first .. first + count - 1]. Equal
 * sets are the same range. */
struct plan_place {
    uint16_t first, count;
    uint16_t cores; /* of these CPUs that may be busy at a time */
    uint16_t speed; /* of its slowest CPU, of TOPOLOGY_SPEED_MAX */
    int32_t node;   /* NUMA node of all its CPUs, or -1 */
};

struct plan {
    const struct part *parts;
    uint32_t parts_count;
    const struct topology *machine;
    uint32_t stages_count;   /* threads' groups of one replica, the head's included */
    uint32_t encoder_stages; /* the same without a head of its own */
    uint32_t vgs_count;
    uint32_t replicas;
    uint32_t stage_threads;     /* of each stage */
    bool pipelining;            /* not --no-pipelining */
    uint32_t max_in_flight;     /* microbatches of one replica */
    uint32_t microbatch_tokens; /* the budget */
    uint32_t predicted_tokens;  /* of the microbatches that the prediction is for */
    struct plan_stage stages[LIMIT_STAGES + 1];
    uint64_t weights_bytes;   /* of the model, once */
    bool splits_feed_forward; /* a stage ends after an intermediate third */

    uint16_t cpus[2 * CPUS_MAX];                                   /* what the places point into */
    struct plan_place places[(LIMIT_STAGES + 1) * LIMIT_REPLICAS]; /* [replicas][vgs_count] */
    bool own_cores;                                                /* no set is used twice */
    bool pinned;     /* the sets are there to be kept to; else every set is all CPUs */
    uint32_t copies; /* of the weights: NUMA nodes that the sets are on, 1 or more */

    double cost;              /* nanoseconds a token of all parts */
    double tokens_per_second; /* predicted, all replicas */
    uint32_t bottleneck_vg;   /* the one with the most work for each of its cores */
    double bottleneck_share;  /* its part of the work of one token */
    char reason[PLAN_REASON_BYTES];
};

/* Chooses what was not given so that the predicted throughput is greatest; among plans within
 * half a per cent of each other, the one with the fewest threads, then with the least memory.
 * Error: INVALID_VALUE (says what was given and what is allowed). */
enum status plan_make(const struct plan_wishes *wishes, struct plan *out, struct error *err);

/* Where virtual graph `vg` of a replica runs. */
static inline const struct plan_place *plan_get_place(const struct plan *plan, uint32_t replica,
                                                      uint32_t vg) {
    return &plan->places[replica * plan->vgs_count + vg];
}

/* Bytes of the weights of a virtual graph; shared matrices count once. */
uint64_t plan_vg_weights(const struct plan *plan, uint32_t vg);

/* Those that every microbatch reads, which is what caches are good for: of the embedding it reads
 * a few rows only, unless a part of the graph shares its matrix. */
uint64_t plan_vg_reads(const struct plan *plan, uint32_t vg);

/* The allocation table for people, and as one line of JSON. free() them. NULL: no memory. */
char *plan_to_text(const struct plan *plan);
char *plan_to_json(const struct plan *plan);

#endif
