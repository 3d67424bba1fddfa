/* team.c: starting the helpers, calling them to a run, and their loop. */
#include "engine/flow/team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/futex.h"
#include "engine/flow/pipeline.h"
#include "engine/flow/place.h"
#include "engine/flow/team_run.h"

/* What a helper is called for: a stage's run by its number, or: */
#define CALL_NONE 0u
#define CALL_STOP UINT32_MAX

struct helper {
    struct team *team;
    uint32_t replica, stage; /* to which it belongs, or for which it stands in */
    bool joins;              /* stands in */
    uint32_t rank;           /* of the joiners of its CPU set */
    int node;
    struct thread thread;
    void *scratch;
    atomic_uint call; /* number of the run + 1 */
};

struct team {
    const struct pipeline_options *options;
    struct team_run *runs; /* [replicas * stages] */
    struct helper *helpers;
    uint32_t helpers_count;
    atomic_uint microbatches; /* with requests, in the pipeline */
    _Atomic uint64_t joined, helped_ns;

    pthread_mutex_t lock; /* covers the start */
    pthread_cond_t changed;
    uint32_t ready;
    struct error failed; /* status OK: none */
};

static uint32_t run_number(const struct team *team, uint32_t replica, uint32_t stage) {
    return replica * team->options->plan->stages_count + stage;
}

static const struct plan_place *place_of(const struct team *team, uint32_t replica,
                                         uint32_t stage) {
    const struct plan *plan = team->options->plan;
    return plan_get_place(plan, replica, plan->stages[stage].vg);
}

static bool place_is(const struct plan_place *a, const struct plan_place *b) {
    return a->first == b->first && a->count == b->count;
}

static bool helper_leaves(void *context) {
    const struct helper *helper = context;
    return atomic_load_explicit(&helper->team->microbatches, memory_order_relaxed) > 1;
}

static void helper_help(struct helper *helper, struct team_run *run) {
    struct team *team = helper->team;
    struct team_seat seat = {.run = run, .context = helper};
    if (helper->joins) {
        if (helper_leaves(helper))
            return;
        seat.leaves = helper_leaves;
    }
    if (!team_run_join(run))
        return;
    const uint64_t start = clock_now_ns();
    team->options->run(team->options->context, run->first_part, run->parts_count, helper->scratch,
                       run->microbatch, &seat);
    team_run_leave(run);
    atomic_fetch_add(&team->helped_ns, clock_now_ns() - start);
    if (helper->joins)
        atomic_fetch_add(&team->joined, 1);
}

/* Says that the scratch is there, or not. */
static void helper_ready(struct helper *helper, const struct error *err) {
    struct team *team = helper->team;
    pthread_mutex_lock(&team->lock);
    if (err->status != STATUS_OK && team->failed.status == STATUS_OK)
        team->failed = *err;
    team->ready++;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
}

static void helper_main(void *context) {
    struct helper *helper = context;
    struct team *team = helper->team;
    const struct pipeline_options *options = team->options;
    struct error err = {.status = STATUS_OK};
    place_enter(options->plan, helper->replica, helper->stage);
    options->scratch_open(options->context, options->room.tokens_max, helper->node,
                          &helper->scratch, &err);
    helper_ready(helper, &err);
    for (;;) {
        const uint32_t call = atomic_exchange(&helper->call, CALL_NONE);
        if (call == CALL_STOP)
            break;
        if (call == CALL_NONE)
            futex_wait(&helper->call, CALL_NONE);
        else if (helper->scratch)
            helper_help(helper, &team->runs[call - 1]);
    }
    options->scratch_close(options->context, helper->scratch);
}

static void helper_call(struct helper *helper, uint32_t call) {
    if (atomic_exchange(&helper->call, call) == CALL_NONE)
        futex_wake(&helper->call);
}

/* Whether the helper can be called to a run of the stage. Of the joiners of the stage's own CPU
 * set, those on whose cores its team is are not. */
static bool helper_fits(const struct helper *helper, uint32_t replica, uint32_t stage) {
    const struct team *team = helper->team;
    if (!helper->joins)
        return helper->replica == replica && helper->stage == stage;
    const struct plan_place *own = place_of(team, helper->replica, helper->stage);
    const struct plan_place *place = place_of(team, replica, stage);
    if (helper->node != place_get_node(team->options->plan, replica, stage))
        return false;
    return !place_is(own, place) ||
           helper->rank + team->options->plan->stage_threads < place->cores;
}

/* Whether the one microbatch in the pipeline is all there is to do. */
static bool is_alone(const struct team *team) {
    const struct pipeline_options *options = team->options;
    return atomic_load(&team->microbatches) == 1 && options->waiting(options->source) == 0;
}

/* Opens the run to those who fit, as many as there are rows for, and calls them. */
static void run_open(struct team *team, struct team_run *run, uint32_t replica, uint32_t stage,
                     bool alone) {
    const uint32_t number = run_number(team, replica, stage);
    const uint32_t most = run->microbatch->tokens / TEAM_MEMBER_ROWS_MIN;
    run->members = 1;
    for (uint32_t h = 0; h < team->helpers_count && run->members < most; h++)
        run->members +=
            (alone || !team->helpers[h].joins) && helper_fits(&team->helpers[h], replica, stage);
    team_run_open(run);
    for (uint32_t h = 0, called = 1; h < team->helpers_count && called < run->members; h++) {
        if ((alone || !team->helpers[h].joins) && helper_fits(&team->helpers[h], replica, stage)) {
            helper_call(&team->helpers[h], number + 1);
            called++;
        }
    }
}

void team_run_stage(struct team *team, uint32_t replica, uint32_t stage, void *scratch,
                    struct microbatch *microbatch) {
    const struct pipeline_options *options = team->options;
    const struct plan_stage *planned = &options->plan->stages[stage];
    struct team_run *run = &team->runs[run_number(team, replica, stage)];
    const bool shared = team->helpers_count > 0 && microbatch->tokens >= TEAM_ROWS_MIN;
    const bool alone = shared && is_alone(team);
    struct team_seat seat = {.run = run};
    if (!shared || (!alone && options->plan->stage_threads == 1)) {
        options->run(options->context, planned->first_part, planned->parts_count, scratch,
                     microbatch, NULL);
        return;
    }
    run->first_part = planned->first_part;
    run->parts_count = planned->parts_count;
    run->scratch = scratch;
    run->microbatch = microbatch;
    run_open(team, run, replica, stage, alone);
    options->run(options->context, run->first_part, run->parts_count, scratch, microbatch, &seat);
    team_run_close(run);
}

void team_count_in(struct team *team) {
    atomic_fetch_add(&team->microbatches, 1);
}

void team_count_out(struct team *team) {
    atomic_fetch_sub(&team->microbatches, 1);
}

void team_get_times(struct team *team, struct team_times *out) {
    out->joined = atomic_load(&team->joined);
    out->helped_ns = atomic_load(&team->helped_ns);
}

static void helper_add(struct team *team, uint32_t replica, uint32_t stage, bool joins,
                       uint32_t rank) {
    struct helper *helper = &team->helpers[team->helpers_count++];
    helper->team = team;
    helper->replica = replica;
    helper->stage = stage;
    helper->joins = joins;
    helper->rank = rank;
    helper->node = place_get_node(team->options->plan, replica, stage);
}

/* One joiner for each thread of the stages in the CPU set while the set has cores. A first stage
 * of the set stands for all. What could never be called is left out. */
static void joiners_add(struct team *team, uint32_t replica, uint32_t stage) {
    const struct plan *plan = team->options->plan;
    const struct plan_place *place = place_of(team, replica, stage);
    uint32_t threads = 0;
    bool only = true, first = true;
    for (uint32_t n = 0; n < plan->replicas * plan->stages_count; n++) {
        const uint32_t r = n / plan->stages_count, s = n % plan->stages_count;
        const bool same = place_is(place_of(team, r, s), place);
        threads += same ? plan->stage_threads : 0;
        only = only && same;
        first = first && !(same && n < run_number(team, replica, stage));
    }
    uint32_t count = threads < place->cores ? threads : place->cores;
    if (only)
        count = count > plan->stage_threads ? count - plan->stage_threads : 0;
    for (uint32_t rank = 0; first && rank < count; rank++)
        helper_add(team, replica, stage, true, rank);
}

static void helpers_add(struct team *team) {
    const struct plan *plan = team->options->plan;
    for (uint32_t r = 0; r < plan->replicas; r++) {
        for (uint32_t s = 0; s < plan->stages_count; s++) {
            for (uint32_t i = 1; i < plan->stage_threads; i++)
                helper_add(team, r, s, false, 0);
            if (plan->pipelining && !team->options->no_joining)
                joiners_add(team, r, s);
        }
    }
}

static enum status helpers_start(struct team *team, struct error *err) {
    struct error failed = {.status = STATUS_OK, .input = -1};
    uint32_t started = 0;
    for (; started < team->helpers_count && failed.status == STATUS_OK; started++) {
        struct helper *helper = &team->helpers[started];
        char name[THREAD_NAME_BYTES + 16];
        snprintf(name, sizeof name, "%s %u/%u", helper->joins ? "joiner" : "helper", started,
                 helper->replica);
        if (thread_start(&helper->thread, name, helper_main, helper, &failed) != STATUS_OK)
            break;
    }
    pthread_mutex_lock(&team->lock);
    while (team->ready < started)
        pthread_cond_wait(&team->changed, &team->lock);
    if (failed.status == STATUS_OK)
        failed = team->failed;
    pthread_mutex_unlock(&team->lock);
    if (failed.status != STATUS_OK && err)
        *err = failed;
    return failed.status;
}

enum status team_open(const struct pipeline_options *options, struct team **out,
                      struct error *err) {
    const struct plan *plan = options->plan;
    const size_t stages = (size_t)plan->replicas * plan->stages_count;
    struct team *team = calloc(1, sizeof *team);
    *out = NULL;
    if (!team)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a stage's team");
    team->options = options;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->changed, NULL);
    team->runs = calloc(stages, sizeof *team->runs);
    team->helpers = calloc(2 * stages * plan->stage_threads, sizeof *team->helpers);
    enum status status = STATUS_NO_MEMORY;
    if (team->runs && team->helpers) {
        helpers_add(team);
        status = helpers_start(team, err);
    } else {
        error_set(err, status, "no memory for a stage's team");
    }
    if (status == STATUS_OK)
        *out = team;
    else
        team_close(team);
    return status;
}

void team_close(struct team *team) {
    if (!team)
        return;
    for (uint32_t h = 0; h < team->helpers_count; h++)
        helper_call(&team->helpers[h], CALL_STOP);
    for (uint32_t h = 0; h < team->helpers_count; h++)
        thread_join(&team->helpers[h].thread);
    free(team->helpers);
    free(team->runs);
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->lock);
    free(team);
}
