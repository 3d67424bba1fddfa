/* plan_internal.h: what the planner's own files share. The order of work: plan_hand_read(), then
 * for each number of stages and replicas plan_draft_make(), which is borders, places, prediction.
 */
#ifndef BERTD_FLOW_PLAN_INTERNAL_H
#define BERTD_FLOW_PLAN_INTERNAL_H

#include <stdio.h>

#include "engine/flow/plan.h"

enum { PLAN_THIRDS_MAX = LIMIT_LAYERS * PLAN_THIRDS, PLAN_KIND_BYTES = 64 };

/* A CPU set of --pin: cpus[first .. first + count - 1] of plan_hand. */
struct plan_set {
    uint16_t first, count;
};

/* The lists that were given by hand, read and checked as far as they can be alone. */
struct plan_hand {
    uint32_t stages; /* encoder stages that lists or the option fix; 0: free */
    bool has_thirds;
    uint32_t thirds[LIMIT_STAGES];  /* of each stage */
    uint32_t vgs_count;             /* 0: by default */
    uint32_t vgs[LIMIT_STAGES + 1]; /* of each stage and the head */
    uint32_t sets_count;            /* 0: none */
    struct plan_set sets[(LIMIT_STAGES + 1) * LIMIT_REPLICAS];
    uint16_t cpus[CPUS_MAX];
    uint32_t cpus_count;
};

/* One way to count; what it predicts. */
struct plan_choice {
    uint32_t stages, replicas, threads;
    uint64_t memory_bytes;
    double rate;
};

/* Working memory of plan_make(), for all drafts. */
struct plan_work {
    const struct plan_wishes *wishes;
    struct plan_hand hand;
    double before[PLAN_THIRDS_MAX + 1]; /* before[t]: cost of thirds 0..t-1 */
    double best[2][PLAN_THIRDS_MAX + 1];
    uint16_t cut[LIMIT_STAGES][PLAN_THIRDS_MAX + 1];
    uint32_t cut_stages;      /* rows of `cut` that are filled */
    uint32_t stages_max;      /* that may be asked for */
    uint16_t cores[CPUS_MAX]; /* indices into machine->cpus: the first CPU of each core */
    uint32_t cores_count;
    struct topology pinned; /* the machine without the CPUs that --pin leaves out */
    struct plan draft;
    struct plan_choice choices[LIMIT_STAGES * LIMIT_REPLICAS];
    uint32_t choices_count;
};

/* plan_wishes.c: INVALID_VALUE with the option, what was given and what is allowed. */
enum status plan_hand_read(const struct plan_wishes *wishes, struct plan_hand *out,
                           struct error *err);

/* plan_places.c */

/* The physical cores, next to each other where they share a node and an L3. */
void plan_cores_find(struct plan_work *work);

/* The machine's entry of a CPU that is in a set of the plan. */
const struct topology_cpu *plan_cpu_find(const struct plan *plan, uint16_t cpu);

/* Gives every VG of every replica its CPU set. The plan's counts are set. */
void plan_places_set(const struct plan_work *work, struct plan *plan);

/* plan_borders.c: thirds of each stage, for the plan's counts, graphs and places. */
void plan_borders_find(struct plan_work *work, struct plan *plan, uint32_t *thirds);

/* plan_predict.c */

/* Fills the stages' parts, weights and names from the thirds of each encoder stage. */
void plan_stages_set(struct plan *plan, const uint32_t *thirds);

/* Fills what is predicted. Needs stages and places. */
void plan_predict(const struct plan_wishes *wishes, struct plan *plan);

/* Nanoseconds a token to take over what the stage before leaves when it ends with `part`. */
double plan_handover_ns(const struct part *part, uint32_t microbatch_tokens);

/* Nanoseconds a token of a stage where a replica runs it, with the core for itself. */
double plan_stage_period(const struct plan *plan, uint32_t replica, const struct plan_stage *stage);

/* plan_contention.c: lengthens the replicas' periods, which are what full cores would allow, by
 * what threads that share a set's cores wait for each other; up to 16 threads. */
void plan_contention_apply(const struct plan *plan, double *periods);

/* What the threads of a team do, in the work of one alone. */
double plan_team_gain(uint32_t threads);

/* Core time a token of all stages of a virtual graph. */
double plan_vg_load(const struct plan *plan, uint32_t vg);

/* Bytes of weights a second that do not stay in a core's own L2. */
double plan_weights_traffic(const struct plan *plan);

/* What microbatches read of all graphs that have a CPU under the same L3 as this one's first. */
uint64_t plan_l3_reads(const struct plan *plan, uint32_t vg);

/* plan.c: the plan with so many stages and replicas, and all else as wished. */
void plan_draft_make(struct plan_work *work, uint32_t stages, uint32_t replicas, struct plan *out);

/* plan.c: the best of all plans that the wishes allow, with so many stages or more; lives in
 * work->choices. NULL: there is none. */
const struct plan_choice *plan_choose(struct plan_work *work, uint32_t stages_min);

/* plan_reason.c: writes plan->reason. Forgets the wishes: it compares with what they ruled out, on
 * the CPUs that --pin allows. */
void plan_reason_set(struct plan_work *work, struct plan *plan);

/* plan_print.c */

/* CPU numbers as text, "0-3,8"; cut to its room. */
void plan_cpus_describe(const uint16_t *cpus, uint32_t count, char *out, size_t room);

/* "2 replicas of one stage", "1 replica of 2 stages and the head". */
void plan_kind_describe(const struct plan *plan, char *out /* [PLAN_KIND_BYTES] */);

/* "s" of more or less than one. */
const char *plan_plural(uint32_t count);

/* The virtual graph of a part. */
uint32_t plan_part_vg(const struct plan *plan, uint32_t part);

/* What `body` writes, as a string to free(). NULL: no memory. */
char *plan_print(const struct plan *plan, void (*body)(const struct plan *, FILE *));

#endif
