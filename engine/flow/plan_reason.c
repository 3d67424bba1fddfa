/* plan_reason.c: says in sentences, a line each, how a plan came about and how it compares with
 * the other kind: a pipeline with replicas of one stage, and the other way round. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/flow/plan_internal.h"

/* Adds to the reason, which is cut to its room. */
__attribute__((format(printf, 2, 3))) static void say(struct plan *plan, const char *format, ...) {
    const size_t used = strlen(plan->reason);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(plan->reason + used, sizeof plan->reason - used, format, arguments);
    va_end(arguments);
}

static const char *plural(uint32_t count) {
    return count == 1 ? "" : "s";
}

static void say_kind(struct plan *plan, uint32_t replicas, uint32_t stages) {
    say(plan, "%u replica%s of ", replicas, plural(replicas));
    if (stages == 1)
        say(plan, "one stage");
    else
        say(plan, "%u stages", stages);
}

/* Why a pipeline does not make the most of the cores. */
static void say_losses(struct plan *plan, const struct plan *pipeline) {
    const uint32_t cores = pipeline->machine->cores,
                   used = pipeline->vgs_count * pipeline->replicas * pipeline->stage_threads;
    const double even = 1.0 / pipeline->vgs_count;
    const char *comma = "";
    double handover = 0, services = 0;
    for (uint32_t i = 0; i < pipeline->stages_count; i++) {
        services += pipeline->stages[i].service_ns;
        if (i > 0)
            handover += plan_handover_ns(&pipeline->parts[pipeline->stages[i].first_part - 1],
                                         pipeline->microbatch_tokens);
    }
    if (pipeline->bottleneck_share > even * 1.002) {
        say(plan,
            "borders fall at thirds of layers and leave VG %u %.1f %% of the work, where "
            "%.1f %% would be even",
            pipeline->bottleneck_vg, pipeline->bottleneck_share * 100, even * 100);
        comma = "; ";
    }
    if (used < cores) {
        say(plan, "%s%u of %u cores have no stage", comma, cores - used, cores);
        comma = "; ";
    }
    if (used > cores) {
        say(plan, "%s%u threads share %u core%s", comma, used, cores, plural(cores));
        comma = "; ";
    }
    say(plan, "%shand-over takes %.1f %%", comma, services > 0 ? handover / services * 100 : 0);
}

static void say_choice(const struct plan_work *work, struct plan *plan) {
    const struct plan_wishes *wishes = work->wishes;
    say_kind(plan, plan->replicas, plan->encoder_stages);
    if (work->hand.stages > 0 && wishes->replicas > 0)
        say(plan, ": as given\n");
    else if (work->hand.stages > 0)
        say(plan, ": stages as given, in as many replicas as find cores\n");
    else if (work->choices_count > 1)
        say(plan, ": the most tokens a second of 1 to %u stages%s\n", work->stages_max,
            wishes->replicas > 0 ? " in replicas as given" : " in as many replicas as find cores");
    else
        say(plan, ": more stages would have no cores\n");
}

/* The machine alone: the wishes that ruled out other plans are gone. */
static void say_comparison(struct plan_work *work, struct plan *plan) {
    struct plan *other = &work->draft;
    const struct plan_choice *choice;
    if (plan->encoder_stages == 1) {
        choice = plan_choose(work, 2);
        if (!choice)
            return;
        plan_draft_make(work, choice->stages, choice->replicas, other);
        say(plan, "a pipeline, ");
        say_kind(plan, other->replicas, other->encoder_stages);
        say(plan, ", would reach %.1f %% of it: ",
            other->tokens_per_second / plan->tokens_per_second * 100);
        say_losses(plan, other);
        say(plan, "\n");
        return;
    }
    const uint32_t cores =
        work->cores_count < plan->machine->cores ? work->cores_count : plan->machine->cores;
    const uint32_t most = cores < LIMIT_REPLICAS ? cores : LIMIT_REPLICAS;
    plan_draft_make(work, 1, most, other);
    const double ratio = other->tokens_per_second / plan->tokens_per_second;
    say_kind(plan, most, 1);
    say(plan, " would reach %.1f %% of it", ratio * 100);
    if (ratio > 1.005) {
        say(plan, ", the pipeline loses: ");
        say_losses(plan, plan);
    } else if (most < cores) {
        say(plan, ": no more than %u are allowed", LIMIT_REPLICAS);
    }
    say(plan, "\n");
}

static void say_cores(const struct plan_work *work, bool by_hand, struct plan *plan) {
    const struct topology *machine = plan->machine;
    const uint32_t threads = plan->vgs_count * plan->replicas * plan->stage_threads;
    if (by_hand)
        say(plan, "CPU sets as given by --pin\n");
    else if (plan->pinned)
        say(plan, "one stage thread a physical core%s%s\n",
            plan->encoder_stages > 1 ? ", the head shares one with its VG" : "",
            machine->cpus_count > work->cores_count ? ", SMT siblings left free" : "");
    else if (work->cores_count > machine->cores)
        say(plan, "not pinned: the quota of %u core%s may be spent on any of %u\n", machine->cores,
            plural(machine->cores), work->cores_count);
    else
        say(plan, "not pinned: %u threads for %u core%s\n", threads, machine->cores,
            plural(machine->cores));
    say(plan, "%s", machine->reason);
}

void plan_reason_set(struct plan_work *work, struct plan *plan) {
    const struct plan_wishes *given = work->wishes;
    const struct plan_wishes open = {
        .parts = given->parts,
        .parts_count = given->parts_count,
        .layers_count = given->layers_count,
        .machine = given->machine,
        .microbatch_tokens = given->microbatch_tokens,
    };
    plan->reason[0] = '\0';
    say_choice(work, plan);
    const bool by_hand = work->hand.sets_count > 0;
    work->wishes = &open;
    memset(&work->hand, 0, sizeof work->hand);
    if (plan->machine->cores > 1 && given->layers_count > 1)
        say_comparison(work, plan);
    say_cores(work, by_hand, plan);
    work->wishes = given;
}
