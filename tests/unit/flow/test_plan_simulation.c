/* test_plan_simulation.c: what plans predict against a simulation of their stages, queues,
 * replicas and cores, and what the planner chooses against all plans there are, on random costs.
 *
 * The simulation knows the rules of stage.h and pipeline.h and nothing of the planner's formulas:
 * a stage takes a microbatch, works, waits for room in the queue of one behind it; the stages that
 * run on a CPU set at a time share its cores evenly, none faster than its team. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/flow/plan.h"

enum { LAYERS_MAX = 6, PARTS_MAX = 1 + LAYERS_MAX * PLAN_THIRDS + 2, STAGES_MAX = 16 };
enum { REPLICAS_MAX = 16, WARM_MICROBATCHES = 40, MEASURED_MICROBATCHES = 300 };

/* xorshift64*: the same numbers in every run. */
static uint64_t random_state = 0x9e3779b97f4a7c15u;

static double random_unit(void) {
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)((random_state * 0x2545f4914f6cdd1dULL) >> 11) / 9007199254740992.0;
}

/* 0..count-1 */
static uint32_t random_below(uint32_t count) {
    return (uint32_t)(random_unit() * count);
}

/* ---- the simulation ---- */

enum thread_state { STARVED, BUSY, BLOCKED };

struct thread_now {
    enum thread_state state;
    double left_ns; /* of the work on its microbatch, at full speed */
    double busy_ns, work_ns;
};

struct simulation {
    const struct plan *plan;
    struct thread_now threads[REPLICAS_MAX][STAGES_MAX];
    uint32_t pools[REPLICAS_MAX], links[REPLICAS_MAX][STAGES_MAX]; /* links[r][i]: behind stage i */
    uint32_t done;
    double jitter; /* service times vary by so much of themselves */
};

static double slowness_of(const struct plan *plan, uint32_t replica, uint32_t stage) {
    return (double)TOPOLOGY_SPEED_MAX /
           plan_get_place(plan, replica, plan->stages[stage].vg)->speed;
}

/* Whether the thread's state changed without time passing. */
static bool thread_settle(struct simulation *s, uint32_t r, uint32_t i) {
    const struct plan_stage *stage = &s->plan->stages[i];
    struct thread_now *thread = &s->threads[r][i];
    uint32_t *input = i == 0 ? &s->pools[r] : &s->links[r][i - 1];
    const bool last = i + 1 == s->plan->stages_count;
    if (thread->state == STARVED && *input > 0) {
        --*input;
        thread->state = BUSY;
        thread->left_ns = stage->service_ns * s->plan->microbatch_tokens *
                          slowness_of(s->plan, r, i) * (1 + s->jitter * (2 * random_unit() - 1));
        return true;
    }
    if (thread->state == BLOCKED && (last || s->links[r][i] == 0)) {
        ++*(last ? &s->pools[r] : &s->links[r][i]);
        s->done += last;
        thread->state = STARVED;
        return true;
    }
    return false;
}

static void simulation_settle(struct simulation *s) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t r = 0; r < s->plan->replicas; r++)
            for (uint32_t i = s->plan->stages_count; i-- > 0;)
                changed |= thread_settle(s, r, i);
    }
}

/* Part of its full speed that a busy thread has: its set's cores are shared evenly. */
static double thread_speed(const struct simulation *s, uint32_t replica, uint32_t stage) {
    const struct plan *plan = s->plan;
    const struct plan_place *place = plan_get_place(plan, replica, plan->stages[stage].vg);
    double wanted = 0;
    for (uint32_t r = 0; r < plan->replicas; r++)
        for (uint32_t i = 0; i < plan->stages_count; i++) {
            const struct plan_place *other = plan_get_place(plan, r, plan->stages[i].vg);
            if (s->threads[r][i].state == BUSY && other->first == place->first)
                wanted += plan->stage_threads;
        }
    return wanted > place->cores ? place->cores / wanted : 1;
}

/* Lets time pass until a stage is done with its microbatch. Returns the time. */
static double simulation_advance(struct simulation *s) {
    double speeds[REPLICAS_MAX][STAGES_MAX] = {{0}}, step = INFINITY;
    for (uint32_t r = 0; r < s->plan->replicas; r++)
        for (uint32_t i = 0; i < s->plan->stages_count; i++)
            if (s->threads[r][i].state == BUSY) {
                speeds[r][i] = thread_speed(s, r, i);
                step = fmin(step, s->threads[r][i].left_ns / speeds[r][i]);
            }
    for (uint32_t r = 0; r < s->plan->replicas; r++)
        for (uint32_t i = 0; i < s->plan->stages_count; i++) {
            struct thread_now *thread = &s->threads[r][i];
            if (thread->state != BUSY)
                continue;
            thread->busy_ns += step;
            thread->work_ns += step * speeds[r][i];
            thread->left_ns -= step * speeds[r][i];
            if (thread->left_ns <= 1e-6)
                thread->state = BLOCKED;
        }
    return step;
}

struct simulated {
    double tokens_per_second;
    double busy[STAGES_MAX]; /* of replica 0: by the clock */
    double work[STAGES_MAX]; /* without what it waited for its core */
};

static struct simulated simulate(const struct plan *plan, double jitter) {
    static struct simulation s;
    struct simulated out = {0};
    double time = 0;
    assert_true(plan->replicas <= REPLICAS_MAX && plan->stages_count <= STAGES_MAX);
    memset(&s, 0, sizeof s);
    s.plan = plan;
    s.jitter = jitter;
    for (uint32_t r = 0; r < plan->replicas; r++)
        s.pools[r] = plan->max_in_flight;
    simulation_settle(&s);
    while (s.done < WARM_MICROBATCHES * plan->replicas) {
        simulation_advance(&s);
        simulation_settle(&s);
    }
    for (uint32_t r = 0; r < plan->replicas; r++)
        for (uint32_t i = 0; i < plan->stages_count; i++)
            s.threads[r][i].busy_ns = s.threads[r][i].work_ns = 0;
    const uint32_t from = s.done;
    while (s.done < from + MEASURED_MICROBATCHES * plan->replicas) {
        time += simulation_advance(&s);
        simulation_settle(&s);
    }
    out.tokens_per_second = (s.done - from) * 1e9 * plan->microbatch_tokens / time;
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        out.busy[i] = s.threads[0][i].busy_ns / time;
        out.work[i] = s.threads[0][i].work_ns / time;
    }
    return out;
}

/* ---- random models and machines ---- */

static struct part parts[PARTS_MAX];
static struct topology machine;

/* Costs from 0.2 to 2 times the usual; sometimes a heavy embedding, head or layer. */
static struct plan_wishes random_wishes(uint32_t layers, uint32_t cores) {
    static const char *const thirds[] = {"attention", "intermediate", "output"};
    const struct topology here = {.cpus_count = 1, .cores = 1, .cores_count = 1};
    const struct topology_wish wish = {.cores = cores, .nodes = cores > 3 ? 2 : 1};
    const uint32_t count = 1 + layers * PLAN_THIRDS + 2;
    const double spread = random_below(3) == 0 ? 0 : 1.8;
    assert_int_equal(topology_make(&wish, &here, &machine, NULL), STATUS_OK);
    for (uint32_t i = 0; i < count; i++) {
        const bool third = i > 0 && i <= layers * PLAN_THIRDS;
        parts[i] = (struct part){
            .name = third    ? "Encoder"
                    : i == 0 ? "Embedding"
                             : "Head",
            .third = third ? thirds[(i - 1) % PLAN_THIRDS] : NULL,
            .weights_bytes = 1000000,
            .cost = (third ? 10000 : 500) * (1 + spread * (random_unit() - 0.45)),
            .handover_bytes = i % PLAN_THIRDS == 2 ? 7680 : 1536,
        };
        if (random_below(12) == 0)
            parts[i].cost *= 1 + 9 * random_unit();
    }
    return (struct plan_wishes){
        .parts = parts, .parts_count = count, .layers_count = layers, .machine = &machine};
}

/* Where threads share cores, the prediction is a coarser estimate. */
static const double shared_bound = 0.25;

static struct plan plan;
static struct error err;

static void assert_planned(const struct plan_wishes *wishes) {
    if (plan_make(wishes, &plan, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

/* `value` within `bound` of `want`, in parts of it. */
static void assert_near(double value, double want, double bound, const char *what) {
    if (!(fabs(value - want) <= bound * fabs(want))) {
        print_message("%s\n", plan.reason);
        fail_msg("%s: %g, not within %g of %g", what, value, bound, want);
    }
}

/* ---- what a plan predicts ---- */

/* Within `bound` where each graph has cores of its own. */
static void compare(double bound, double jitter) {
    const struct simulated seen = simulate(&plan, jitter);
    bound = plan.own_cores ? bound : shared_bound;
    assert_near(seen.tokens_per_second, plan.tokens_per_second, bound, "tokens a second");
    for (uint32_t i = 0; i < plan.stages_count; i++)
        if (fabs(seen.work[i] - plan.stages[i].busy) > bound)
            fail_msg("stage %u: busy %g, predicted %g", i, seen.work[i], plan.stages[i].busy);
}

static void throughput_and_utilisation_are_as_predicted(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 400; round++) {
        const uint32_t layers = 2 + random_below(LAYERS_MAX - 1);
        struct plan_wishes wishes = random_wishes(layers, 1 + random_below(8));
        wishes.stages = random_below(4) == 0 ? 0 : 1 + random_below(layers);
        wishes.replicas = random_below(3) == 0 ? 0 : 1 + random_below(3);
        wishes.no_pipelining = random_below(5) == 0;
        wishes.stage_threads = random_below(5) == 0 ? 2 : 0;
        if (!wishes.no_pipelining && random_below(4) == 0)
            wishes.max_in_flight = 1 + random_below(4);
        assert_planned(&wishes);
        compare(0.02, 0);
    }
}

static void it_holds_for_service_times_that_vary(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 100; round++) {
        const uint32_t layers = 2 + random_below(LAYERS_MAX - 1);
        struct plan_wishes wishes = random_wishes(layers, 1 + random_below(8));
        wishes.stages = 1 + random_below(layers);
        assert_planned(&wishes);
        compare(0.03, 0.1);
    }
}

static void it_holds_for_graphs_by_hand_and_for_small_cores(void **state) {
    (void)state;
    static const char *const graphs[] = {"0,1,0",   "0,1,1",   "0,0,0",   "0,1,2",
                                         "0,1,0,1", "0,1,2,0", "0,0,1,1", "0,1,1,0"};
    for (uint32_t round = 0; round < 200; round++) {
        struct plan_wishes wishes = random_wishes(3 + random_below(3), 1 + random_below(6));
        wishes.virtual_graphs = graphs[round % (sizeof graphs / sizeof graphs[0])];
        for (uint32_t i = 0; i < machine.cpus_count; i++)
            machine.cpus[i].speed = random_below(2) == 0 ? TOPOLOGY_SPEED_MAX : 700;
        assert_planned(&wishes);
        compare(0.02, 0);
    }
}

/* ---- what the planner chooses ---- */

/* The list of --layers-per-stage for these thirds. */
static void list_write(const uint32_t *thirds, uint32_t count, char *out, size_t room) {
    static const char *const fractions[] = {"", ".3", ".6"};
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%u%s", i > 0 ? "," : "",
                                 thirds[i] / PLAN_THIRDS, fractions[thirds[i] % PLAN_THIRDS]);
}

/* The next way to cut so many thirds into `count` stages of one or more; false after the last. */
static bool thirds_next(uint32_t *thirds, uint32_t count, uint32_t all) {
    for (uint32_t i = count - 1; i-- > 0;) {
        uint32_t behind = 0;
        thirds[i]++;
        for (uint32_t k = i + 1; k + 1 < count; k++)
            thirds[k] = 1;
        for (uint32_t k = 0; k + 1 < count; k++)
            behind += thirds[k];
        if (behind < all) {
            thirds[count - 1] = all - behind;
            return true;
        }
    }
    return false;
}

static double simulated_rate(void) {
    return simulate(&plan, 0).tokens_per_second;
}

static double predicted_rate(void) {
    return plan.tokens_per_second;
}

/* The most tokens a second of all plans with so many stages and replicas, by simulation. */
static double best_of(struct plan_wishes wishes, uint32_t stages, uint32_t replicas,
                      double (*rate)(void)) {
    const uint32_t all = wishes.layers_count * PLAN_THIRDS;
    uint32_t thirds[STAGES_MAX];
    char list[8 * STAGES_MAX];
    double best = 0;
    for (uint32_t i = 0; i < stages; i++)
        thirds[i] = i + 1 < stages ? 1 : all - (stages - 1);
    wishes.replicas = replicas;
    wishes.stages = 0;
    wishes.layers_per_stage = list;
    do {
        list_write(thirds, stages, list, sizeof list);
        assert_planned(&wishes);
        best = fmax(best, rate());
    } while (thirds_next(thirds, stages, all));
    return best;
}

static double best_of_all(const struct plan_wishes *wishes) {
    const uint32_t cores = machine.cores;
    double best = 0;
    for (uint32_t n = 1; n <= wishes->layers_count; n++)
        for (uint32_t r = 1; r * n <= cores || r == 1; r++) {
            if ((wishes->stages > 0 && n != wishes->stages) ||
                (wishes->replicas > 0 && r != wishes->replicas) ||
                (wishes->stages == 0 && wishes->replicas == 0 && n * r > cores))
                continue;
            best = fmax(best, best_of(*wishes, n, r, simulated_rate));
        }
    return best;
}

/* Half a per cent is given away for fewer threads; the rest is the simulation's start and end. */
static void assert_choice_is_best(const struct plan_wishes *wishes, double best, double bound) {
    assert_planned(wishes);
    const double chosen = simulate(&plan, 0).tokens_per_second;
    bound = plan.own_cores ? bound : shared_bound;
    if (chosen < best * (1 - bound)) {
        print_message("%s\n", plan.reason);
        fail_msg("chosen %g, best of all %g: %g", chosen, best, chosen / best);
    }
}

static void no_plan_beats_the_chosen_one(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        struct plan_wishes wishes = random_wishes(1 + random_below(3), 1 + random_below(4));
        assert_choice_is_best(&wishes, best_of_all(&wishes), 0.01);
    }
}

static void no_borders_beat_those_of_a_single_replica(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        struct plan_wishes wishes = random_wishes(2 + random_below(3), 2 + random_below(3));
        wishes.replicas = 1;
        if (wishes.layers_count > machine.cores)
            wishes.stages = machine.cores;
        wishes.no_pipelining = round % 6 == 0;
        assert_choice_is_best(&wishes, best_of_all(&wishes), 0.01);
    }
}

static void no_borders_beat_those_of_graphs_by_hand(void **state) {
    (void)state;
    static const char *const graphs[] = {"0,1,0",   "0,1,1",   "0,0,1",   "0,1,0,1",
                                         "0,1,0,0", "0,0,1,0", "0,1,1,0", "0,1,0,2"};
    for (uint32_t round = 0; round < 80; round++) {
        struct plan_wishes wishes = random_wishes(2 + random_below(2), 2 + random_below(2));
        wishes.virtual_graphs = graphs[round % (sizeof graphs / sizeof graphs[0])];
        wishes.replicas = 1;
        const uint32_t stages = (uint32_t)strlen(wishes.virtual_graphs) / 2;
        assert_choice_is_best(&wishes, best_of(wishes, stages, 1, simulated_rate), 0.01);
    }
}

static void borders_too_many_to_try_come_near_the_best(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 8; round++) {
        struct plan_wishes wishes = random_wishes(LAYERS_MAX, 3);
        wishes.virtual_graphs = "0,1,2,0,1,2,0";
        wishes.replicas = 1;
        const double best = best_of(wishes, 6, 1, predicted_rate);
        assert_planned(&wishes);
        assert_near(plan.tokens_per_second, best, 0.03, "tokens a second after the descent");
    }
}

/* Each test has the same numbers whatever the others draw. */
static int random_restart(void **state) {
    (void)state;
    random_state = 0x9e3779b97f4a7c15u;
    return 0;
}

#define WITH_RANDOM(test) cmocka_unit_test_setup(test, random_restart)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_RANDOM(throughput_and_utilisation_are_as_predicted),
        WITH_RANDOM(it_holds_for_service_times_that_vary),
        WITH_RANDOM(it_holds_for_graphs_by_hand_and_for_small_cores),
        WITH_RANDOM(no_plan_beats_the_chosen_one),
        WITH_RANDOM(no_borders_beat_those_of_a_single_replica),
        WITH_RANDOM(no_borders_beat_those_of_graphs_by_hand),
        WITH_RANDOM(borders_too_many_to_try_come_near_the_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
