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

/* What a plan loses by, one after the other: `mark` stands before the next. */
struct losses {
    struct plan *plan; /* whose reason it is */
    const char *mark;
};

__attribute__((format(printf, 2, 3))) static void say_loss(struct losses *losses,
                                                           const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(losses->plan, "%s%s", losses->mark, text);
    losses->mark = "; ";
}

static uint32_t threads_count(const struct plan *plan) {
    return plan->vgs_count * plan->replicas * plan->stage_threads;
}

/* Cores that may be busy at a time, of those that are there. */
static uint32_t cores_of(const struct plan_work *work) {
    const uint32_t cores = work->wishes->machine->cores;
    return work->cores_count < cores ? work->cores_count : cores;
}

/* Whether it is the number of microbatches in flight that holds a pipeline back. */
static bool flight_limits(const struct plan *plan) {
    double sum = 0, longest = 0;
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        sum += plan->stages[i].service_ns;
        if (plan->stages[i].service_ns > longest)
            longest = plan->stages[i].service_ns;
    }
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++) {
        const double load = plan_vg_load(plan, vg) / plan_get_place(plan, 0, vg)->cores;
        longest = load > longest ? load : longest;
    }
    return sum / plan->max_in_flight > longest * 1.002;
}

static void say_flight(const struct plan *loser, bool no_pipelining, struct losses *losses) {
    if (no_pipelining)
        say_loss(losses, "--no-pipelining lets one stage work at a time");
    else if (loser->max_in_flight == 1)
        say_loss(losses, "--max-in-flight 1 lets one stage work at a time");
    else
        say_loss(losses, "--max-in-flight %u lets no more of %u stages work at a time",
                 loser->max_in_flight, loser->stages_count);
}

static void say_handover(const struct plan *loser, struct losses *losses) {
    double handover = 0, services = 0;
    for (uint32_t i = 0; i < loser->stages_count; i++) {
        services += loser->stages[i].service_ns;
        if (i > 0)
            handover += plan_handover_ns(&loser->parts[loser->stages[i].first_part - 1],
                                         loser->predicted_tokens);
    }
    say_loss(losses, "hand-over takes %.1f %%", services > 0 ? handover / services * 100 : 0);
}

/* Why a plan does not make the most of so many cores. `given`: the wishes that made it. */
static void say_losses(const struct plan *loser, const struct plan_wishes *given, uint32_t cores,
                       struct losses *losses) {
    const uint32_t used = threads_count(loser), team = loser->stage_threads;
    const double even = 1.0 / loser->vgs_count;
    const bool waits = flight_limits(loser);
    if (waits)
        say_flight(loser, given->no_pipelining, losses);
    else if (loser->bottleneck_share > even * 1.002)
        say_loss(losses, "%s leave VG %u %.1f %% of the work, where %.1f %% would be even",
                 given->layers_per_stage ? "the borders as given"
                                         : "borders fall at thirds of layers and",
                 loser->bottleneck_vg, loser->bottleneck_share * 100, even * 100);
    if (used < cores)
        say_loss(losses, "%u of %u cores %s no stage", cores - used, cores,
                 cores - used == 1 ? "has" : "have");
    if (used > cores)
        say_loss(losses, "%u threads share %u core%s", used, cores, plan_plural(cores));
    if (team > 1)
        say_loss(losses,
                 "a team of %u threads does the work of %.3g, since they wait for each other in "
                 "every layer",
                 team, plan_team_gain(team));
    if (loser->stages_count > 1)
        say_handover(loser, losses);
}

static void say_kind(struct plan *plan, const struct plan *of) {
    char kind[PLAN_KIND_BYTES];
    plan_kind_describe(of, kind);
    say(plan, "%s", kind);
}

static void say_choice(const struct plan_work *work, struct plan *plan) {
    const struct plan_wishes *wishes = work->wishes;
    const uint32_t sets = work->hand.sets_count;
    say_kind(plan, plan);
    if (work->hand.stages > 0 && wishes->replicas > 0)
        say(plan, ": as given\n");
    else if (work->hand.stages > 0)
        say(plan, ": stages as given, in as many replicas as %s\n",
            sets > 0 ? "the CPU sets are good for" : "find cores");
    else if (sets > 0)
        say(plan, ": the most tokens a second of all that goes with %u CPU set%s\n", sets,
            plan_plural(sets));
    else if (work->choices_count > 1)
        say(plan, ": the most tokens a second of 1 to %u stages%s\n", work->stages_max,
            wishes->replicas > 0 ? " in replicas as given" : " in as many replicas as find cores");
    else if (wishes->layers_count == 1)
        say(plan, ": the model has one layer\n");
    else
        say(plan, ": more stages would have no cores\n");
}

/* With one stage for each core that is to be had; the best pipeline is the other kind then. */
static bool is_replicas_alone(const struct plan *plan, uint32_t replicas_most) {
    return plan->encoder_stages == 1 && plan->stage_threads == 1 && plan->replicas >= replicas_most;
}

/* The machine alone: the wishes that ruled out other plans are gone. */
static void say_comparison(struct plan_work *work, const struct plan_wishes *given,
                           struct plan *plan) {
    struct plan *other = &work->draft;
    const uint32_t cores = cores_of(work);
    const uint32_t most = cores < LIMIT_REPLICAS ? cores : LIMIT_REPLICAS;
    const bool pipeline = is_replicas_alone(plan, most);
    struct losses losses = {plan, ": "};
    if (pipeline) {
        const struct plan_choice *choice = plan_choose(work, 2);
        if (!choice)
            return;
        plan_draft_make(work, choice->stages, choice->replicas, other);
        say(plan, "a pipeline, ");
    } else {
        plan_draft_make(work, 1, most, other);
    }
    const double ratio = other->tokens_per_second / plan->tokens_per_second;
    say_kind(plan, other);
    say(plan, "%s would reach %.1f %% of it", pipeline ? "," : "", ratio * 100);
    if (ratio > 1.005) {
        if (plan->stages_count > 1 && plan->max_in_flight > 1)
            losses.mark = ", the pipeline loses: ";
        say_losses(plan, given, cores, &losses);
    } else if (pipeline) {
        say_losses(other, work->wishes, cores, &losses);
    } else if (most < cores) {
        say(plan, ": no more than %u are allowed", LIMIT_REPLICAS);
    }
    say(plan, "\n");
}

/* Whether an encoder stage other than `stage` runs on the same virtual graph. */
static bool stage_shares(const struct plan *plan, uint32_t stage) {
    for (uint32_t i = 0; i < plan->encoder_stages; i++)
        if (i != stage && plan->stages[i].vg == plan->stages[stage].vg)
            return true;
    return false;
}

/* Which threads have which cores of a plan that is pinned here. */
static void say_pinning(const struct plan_work *work, struct plan *plan) {
    const uint32_t team = plan->stage_threads;
    bool encoder_shares = false;
    for (uint32_t i = 0; i < plan->encoder_stages; i++)
        encoder_shares |= stage_shares(plan, i);
    if (encoder_shares && team > 1)
        say(plan, "%u physical cores for each virtual graph, which its stages share", team);
    else if (encoder_shares)
        say(plan, "a physical core for each virtual graph, which its stages share");
    else if (team > 1)
        say(plan, "a physical core for each of the %u threads of a stage", team);
    else
        say(plan, "one stage thread a physical core");
    if (!encoder_shares && plan->encoder_stages > 1 && stage_shares(plan, plan->encoder_stages))
        say(plan, ", the head shares %s with its VG", team > 1 ? "those" : "one");
    if (plan->machine->cpus_count > work->cores_count)
        say(plan, ", SMT siblings left free");
    say(plan, "\n");
}

static void say_cores(const struct plan_work *work, struct plan *plan) {
    const struct topology *machine = plan->machine;
    const uint32_t threads = threads_count(plan);
    if (work->hand.sets_count > 0 && work->pinned.cores < cores_of(work))
        say(plan, "CPU sets as given by --pin, on %u of %u cores%s\n", work->pinned.cores,
            cores_of(work), work->pinned.cores > 1 ? "; plans are compared on these" : "");
    else if (work->hand.sets_count > 0)
        say(plan, "CPU sets as given by --pin\n");
    else if (plan->pinned)
        say_pinning(work, plan);
    else if (work->cores_count > machine->cores)
        say(plan, "not pinned: the quota of %u core%s may be spent on any of %u\n", machine->cores,
            plan_plural(machine->cores), work->cores_count);
    else
        say(plan, "not pinned: %u thread%s for %u core%s\n", threads, plan_plural(threads),
            machine->cores, plan_plural(machine->cores));
    say(plan, "%s", machine->reason);
}

/* The machine as if it had no CPUs but those of --pin. */
static void machine_pin(const struct plan_hand *hand, const struct topology *machine,
                        struct topology *out) {
    *out = *machine;
    out->cpus_count = out->cores_count = 0;
    for (uint32_t i = 0; i < machine->cpus_count; i++) {
        struct topology_cpu cpu = machine->cpus[i];
        bool named = false;
        for (uint32_t k = 0; k < hand->cpus_count; k++)
            named |= hand->cpus[k] == cpu.cpu;
        if (!named)
            continue;
        cpu.sibling = 0;
        for (uint32_t k = 0; k < out->cpus_count; k++)
            if (out->cpus[k].core == cpu.core)
                cpu.sibling++;
        out->cores_count += cpu.sibling == 0;
        out->cpus[out->cpus_count++] = cpu;
    }
    out->cores = out->cores_count < machine->cores ? out->cores_count : machine->cores;
}

/* Compares on the machine that is there, or on what --pin leaves of it. */
static void compare(struct plan_work *work, struct plan *plan) {
    const struct plan_wishes *given = work->wishes;
    const struct plan_hand hand = work->hand;
    struct plan_wishes open = {
        .parts = given->parts,
        .parts_count = given->parts_count,
        .layers_count = given->layers_count,
        .machine = given->machine,
        .microbatch_tokens = given->microbatch_tokens,
    };
    if (hand.sets_count > 0) {
        machine_pin(&hand, given->machine, &work->pinned);
        open.machine = &work->pinned;
    }
    if (open.machine->cores < 2 || open.layers_count < 2)
        return;
    work->wishes = &open;
    memset(&work->hand, 0, sizeof work->hand);
    plan_cores_find(work);
    say_comparison(work, given, plan);
    work->wishes = given;
    work->hand = hand;
    plan_cores_find(work);
}

void plan_reason_set(struct plan_work *work, struct plan *plan) {
    plan->reason[0] = '\0';
    say_choice(work, plan);
    compare(work, plan);
    say_cores(work, plan);
}
