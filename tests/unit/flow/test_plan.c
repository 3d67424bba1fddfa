/* test_plan.c: which plan follows from which wishes, and how it reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/flow/plan.h"

enum { LAYERS = 6, PARTS = 21 };

/* An embedding that costs almost nothing, six equal layers, a small head in two parts. */
#define LAYER(name)                                                                                \
    {name, "attention", 40000, 400000, 0, false, 0},                                               \
        {name, "intermediate", 30000, 300000, 0, false, 0}, {                                      \
        name, "output", 30000, 300000, 0, false, 0                                                 \
    }

static const struct part parts[PARTS] = {
    {.name = "Embedding", .weights_bytes = 1000000, .cost = 1000},
    LAYER("Encoder 0"),
    LAYER("Encoder 1"),
    LAYER("Encoder 2"),
    LAYER("Encoder 3"),
    LAYER("Encoder 4"),
    LAYER("Encoder 5"),
    {.name = "Pooler", .weights_bytes = 5000, .cost = 10000},
    {.name = "Classifier", .weights_bytes = 100, .cost = 1000},
};

static struct topology machine;

static struct plan_wishes wishes_on(uint32_t cores, uint32_t nodes, uint32_t smt) {
    const struct topology here = {.cpus_count = 1, .cores = 1, .cores_count = 1};
    const struct topology_wish wish = {
        .cores = cores, .nodes = nodes, .smt = smt, .l2_bytes = 120000, .l3_bytes = 1000000};
    assert_int_equal(topology_make(&wish, &here, &machine, NULL), STATUS_OK);
    snprintf(machine.reason, sizeof machine.reason, "as the test has it");
    return (struct plan_wishes){
        .parts = parts, .parts_count = PARTS, .layers_count = LAYERS, .machine = &machine};
}

static struct plan_wishes wishes_of(uint32_t cores) {
    return wishes_on(cores, 1, 1);
}

static struct plan plan;
static struct error err;

static void assert_planned(const struct plan_wishes *wishes) {
    if (plan_make(wishes, &plan, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static void assert_says(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static void left_to_itself_it_takes_a_replica_for_each_core(void **state) {
    (void)state;
    for (uint32_t cores = 1; cores <= 64; cores += cores < 8 ? 1 : 7) {
        struct plan_wishes wishes = wishes_of(cores);
        assert_planned(&wishes);
        assert_int_equal(plan.encoder_stages, 1);
        assert_int_equal(plan.stages_count, 1);
        assert_int_equal(plan.replicas, cores);
        assert_int_equal(plan.stages[0].parts_count, PARTS);
        assert_true(plan.pinned);
        double rate = cores * 1e9 / 6012000;
        assert_true(plan.tokens_per_second > rate * 0.999 && plan.tokens_per_second < rate * 1.001);
    }
}

static void more_cores_than_replicas_are_allowed_become_pipelines(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(128);
    assert_planned(&wishes);
    assert_int_equal(plan.encoder_stages, 2);
    assert_int_equal(plan.replicas, 64);
    assert_says(plan.reason, "64 replicas of one stage would reach 50.1 % of it: no more than 64");
}

static void what_is_given_is_obeyed_and_the_rest_chosen(void **state) {
    (void)state;
    const struct {
        uint32_t cores, stages, replicas, team, want_stages, want_replicas;
    } cases[] = {{4, 0, 1, 0, 4, 1}, {4, 2, 0, 0, 2, 2},  {5, 2, 0, 0, 2, 2}, {2, 3, 0, 0, 3, 1},
                 {6, 0, 2, 0, 3, 2}, {4, 2, 3, 0, 2, 3},  {1, 4, 2, 0, 4, 2}, {8, 0, 0, 2, 1, 4},
                 {9, 3, 0, 2, 3, 1}, {12, 0, 1, 0, 6, 1}, {2, 0, 0, 4, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_wishes wishes = wishes_of(cases[i].cores);
        wishes.stages = cases[i].stages;
        wishes.replicas = cases[i].replicas;
        wishes.stage_threads = cases[i].team;
        assert_planned(&wishes);
        assert_int_equal(plan.encoder_stages, cases[i].want_stages);
        assert_int_equal(plan.stages_count, plan.encoder_stages + (plan.encoder_stages > 1));
        assert_int_equal(plan.replicas, cases[i].want_replicas);
        assert_int_equal(plan.stage_threads, cases[i].team > 0 ? cases[i].team : 1);
        assert_int_equal(plan.max_in_flight, plan.stages_count + 1);
    }
}

/* Every part is in exactly one stage, in order; the head is on VG 0 with the embedding. */
static void plan_check(void) {
    uint32_t next = 0;
    double share = 0;
    for (uint32_t i = 0; i < plan.stages_count; i++) {
        assert_int_equal(plan.stages[i].first_part, next);
        assert_true(plan.stages[i].parts_count > 0);
        next += plan.stages[i].parts_count;
        share += plan.stages[i].share;
        assert_int_equal(plan.stages[i].vg, i < plan.vgs_count ? i : 0);
    }
    assert_int_equal(next, PARTS);
    assert_true(share > 0.999 && share < 1.001);
    assert_int_equal(plan.weights_bytes, 1605100);
}

static void every_part_is_in_one_stage_and_the_heaviest_is_as_light_as_can_be(void **state) {
    (void)state;
    /* Layers of the heaviest virtual graph when six are shared out. */
    const double heaviest[] = {0, 6, 3, 2, 1.6, 1.4, 1};
    for (uint32_t stages = 1; stages <= LAYERS; stages++) {
        struct plan_wishes wishes = wishes_of(6);
        wishes.stages = stages;
        assert_planned(&wishes);
        plan_check();
        double layers = plan.bottleneck_share * 6012 / 1000;
        assert_true(layers > heaviest[stages] - 0.02 && layers < heaviest[stages] + 0.02);
    }
}

static void a_heavy_head_moves_layers_away_from_its_graph(void **state) {
    (void)state;
    struct part heavy[PARTS];
    struct plan_wishes wishes = wishes_of(2);
    memcpy(heavy, parts, sizeof parts);
    heavy[19].cost = 2000000;
    wishes.parts = heavy;
    wishes.stages = 2;
    assert_planned(&wishes);
    assert_int_equal(plan.stages[0].parts_count, 7); /* embedding and two layers */
    assert_int_equal(plan.stages[1].parts_count, 12);
    assert_int_equal(plan.bottleneck_vg, 0);
}

static void bytes_that_a_border_hands_over_count(void **state) {
    (void)state;
    struct part dear[PARTS];
    struct plan_wishes wishes = wishes_of(2);
    memcpy(dear, parts, sizeof parts);
    dear[9].handover_bytes = 8000000; /* behind the third layer: a millisecond a token */
    wishes.parts = dear;
    wishes.stages = 2;
    assert_planned(&wishes);
    assert_int_not_equal(plan.stages[0].parts_count, 10);
}

static void the_prediction_follows_from_the_slowest_graph(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    wishes.layers_per_stage = "2,-1";
    wishes.replicas = 1;
    assert_planned(&wishes);
    /* Four layers and a hand-over of 4 us for 128 tokens. */
    double period = 4000000 + 4000.0 / 128;
    assert_int_equal(plan.microbatch_tokens, 128);
    assert_true(plan.tokens_per_second > 0.9999e9 / period);
    assert_true(plan.tokens_per_second < 1.0001e9 / period);
    assert_int_equal(plan.bottleneck_vg, 1);
    assert_true(plan.stages[1].busy > 0.999 && plan.stages[1].busy < 1.001);
    assert_true(plan.stages[0].busy > 0.499 && plan.stages[0].busy < 0.501);
    wishes.no_pipelining = true;
    assert_planned(&wishes);
    assert_int_equal(plan.max_in_flight, 1);
    assert_false(plan.pipelining);
    assert_true(plan.stages[1].busy > 0.66 && plan.stages[1].busy < 0.67);
    assert_true(plan.tokens_per_second > 0.999e9 / 6012000 &&
                plan.tokens_per_second < 1e9 / 6012000);
}

static void a_turn_of_the_longest_stage_sets_the_budget(void **state) {
    (void)state;
    struct part quick[PARTS];
    struct plan_wishes wishes = wishes_of(1);
    memcpy(quick, parts, sizeof parts);
    for (uint32_t i = 0; i < PARTS; i++)
        quick[i].cost /= 150; /* 40 us a token in all */
    wishes.parts = quick;
    assert_planned(&wishes);
    assert_int_equal(plan.microbatch_tokens, 192); /* 249 fill a turn of 10 ms */
    wishes.microbatch_tokens = 77;
    assert_planned(&wishes);
    assert_int_equal(plan.microbatch_tokens, 77);
    /* What smaller ones than those measured cost is not known. */
    wishes.microbatch_tokens = 1;
    assert_planned(&wishes);
    assert_int_equal(plan.microbatch_tokens, 1);
    assert_int_equal(plan.predicted_tokens, PLAN_COST_TOKENS);
    char *text = plan_to_text(&plan);
    assert_says(text, "microbatches of 1 token in flight");
    assert_says(text, "in microbatches of 64 tokens: smaller ones cost more a token");
    free(text);
}

static void virtual_graphs_by_hand_are_obeyed(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(4);
    wishes.virtual_graphs = "0,1,0,1";
    wishes.replicas = 1;
    assert_planned(&wishes);
    const uint32_t vgs[] = {0, 1, 0, 1};
    assert_int_equal(plan.encoder_stages, 3);
    assert_int_equal(plan.vgs_count, 2);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(plan.stages[i].vg, vgs[i]);
    /* Stages 0 and 2 share a core: together they get half of the work. */
    assert_true(plan.bottleneck_share < 0.52);
    wishes.virtual_graphs = "0,0";
    assert_planned(&wishes);
    assert_int_equal(plan.stages_count, 1);
    wishes.virtual_graphs = "0,0,1";
    assert_planned(&wishes);
    assert_int_equal(plan.stages[1].vg, 0);
    assert_int_equal(plan.stages[2].vg, 1);
}

static void assert_place(uint32_t replica, uint32_t vg, const char *want, int node) {
    const struct plan_place *place = plan_get_place(&plan, replica, vg);
    char text[64] = "";
    for (uint32_t i = 0; i < place->count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", i > 0 ? "," : "",
                 plan.cpus[place->first + i]);
    assert_string_equal(text, want);
    assert_int_equal(place->node, node);
}

static void cpu_sets_by_hand_are_obeyed(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_on(4, 2, 1);
    wishes.pin = "0,1;2-3"; /* a set for each graph */
    wishes.stages = 2;
    wishes.replicas = 3;
    assert_planned(&wishes);
    for (uint32_t r = 0; r < 3; r++) {
        assert_place(r, 0, "0,1", 0);
        assert_place(r, 1, "2,3", 1);
    }
    wishes.pin = "3;2;1;0"; /* for each of each replica */
    wishes.replicas = 0;
    assert_planned(&wishes);
    assert_int_equal(plan.replicas, 2);
    assert_place(0, 0, "3", 1);
    assert_place(1, 1, "0", 0);
    wishes.pin = "0,2;0,2"; /* one set for both */
    assert_planned(&wishes);
    assert_place(0, 1, "0,2", -1);
    wishes.stages = 0;
    wishes.pin = "0;1";
    assert_planned(&wishes);
    assert_int_equal(plan.replicas * plan.vgs_count, 2);
}

static void equal_sets_share_their_cores(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    wishes.stages = 2;
    wishes.replicas = 1;
    wishes.pin = "1;1";
    assert_planned(&wishes);
    double rate = 1e9 / 6012000;
    assert_true(plan.tokens_per_second > rate * 0.99 && plan.tokens_per_second < rate);
}

static void cores_are_physical_and_replicas_stay_on_their_node(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_on(10, 2, 2);
    wishes.stages = 2;
    assert_planned(&wishes);
    assert_int_equal(plan.replicas, 5); /* ten cores, not twenty CPUs */
    assert_place(0, 0, "0", 0);
    assert_place(0, 1, "1", 0);
    assert_place(1, 1, "3", 0);
    assert_place(2, 0, "5", 1); /* core 4 has no neighbour left on its node */
    assert_place(3, 1, "8", 1);
    assert_place(4, 0, "4", 0);
    assert_place(4, 1, "9", 1);
    assert_int_equal(plan.copies, 2);
    assert_says(plan.reason, "SMT siblings left free");
}

static void a_quota_or_too_many_stages_leave_the_threads_unpinned(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(8);
    machine.cores = 2;
    assert_planned(&wishes);
    assert_false(plan.pinned);
    assert_int_equal(plan.replicas, 2);
    assert_place(1, 0, "0,1,2,3,4,5,6,7", 0);
    assert_says(plan.reason, "the quota of 2 cores may be spent on any of 8");
    wishes = wishes_of(2);
    wishes.stages = 4;
    assert_planned(&wishes);
    assert_false(plan.pinned);
    double rate = 2e9 / 6012000;
    assert_true(plan.tokens_per_second > rate * 0.95 && plan.tokens_per_second < rate);
}

static void cores_to_spare_are_left_to_the_kernel_where_all_are_alike(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(4);
    wishes.replicas = 2;
    wishes.stages = 1;
    assert_planned(&wishes);
    assert_false(plan.pinned);
    assert_place(1, 0, "0,1,2,3", 0);
    assert_says(plan.reason, "not pinned: 2 threads for 4 cores");
    double rate = plan.tokens_per_second;
    machine.cpus[machine.cpus_count++] =
        (struct topology_cpu){.cpu = 4, .sibling = 1, .speed = TOPOLOGY_SPEED_MAX};
    assert_planned(&wishes);
    assert_true(plan.pinned);
    assert_place(1, 0, "1", 0);
    assert_true(plan.tokens_per_second == rate);
    wishes = wishes_of(4);
    machine.nodes_count = 2;
    wishes.replicas = 1;
    wishes.stages = 3;
    assert_planned(&wishes);
    assert_true(plan.pinned);
}

static void layers_by_hand_are_obeyed(void **state) {
    (void)state;
    const struct {
        const char *list;
        uint32_t thirds[6], count;
    } cases[] = {{"2,2,-1", {6, 6, 6}, 3},
                 {"-1,1", {15, 3}, 2},
                 {"6", {18}, 1},
                 {"-1", {18}, 1},
                 {"2.3,-1", {7, 11}, 2},
                 {"2.6,-1", {8, 10}, 2},
                 {"0.3,-1,0.6", {1, 15, 2}, 3},
                 {"2.3,3.6", {7, 11}, 2},
                 {".3,-1", {1, 17}, 2},
                 {"1,1,1,1,1,1", {3, 3, 3, 3, 3, 3}, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_wishes wishes = wishes_of(2);
        wishes.layers_per_stage = cases[i].list;
        assert_planned(&wishes);
        assert_int_equal(plan.vgs_count, cases[i].count);
        for (uint32_t s = 0; s < cases[i].count && cases[i].count > 1; s++)
            assert_int_equal(plan.stages[s].parts_count, cases[i].thirds[s] + (s == 0));
        plan_check();
    }
}

static void stages_may_be_as_many_as_thirds_by_either_option(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    wishes.stages = 18;
    assert_planned(&wishes);
    assert_int_equal(plan.encoder_stages, 18);
    for (uint32_t s = 0; s < 18; s++)
        assert_int_equal(plan.stages[s].parts_count, 1 + (s == 0));
    plan_check();
    wishes.stages = 8;
    wishes.layers_per_stage = "0.3,.6,1,.3,.6,1,1,-1";
    assert_planned(&wishes);
    assert_int_equal(plan.encoder_stages, 8);
    plan_check();
}

static void wrong_wishes_are_refused_with_a_reason(void **state) {
    (void)state;
    const struct {
        struct plan_wishes change;
        const char *reason;
    } cases[] = {
        {{.layers_per_stage = "2,2"}, "adds up to less than the model's 6 layers"},
        {{.layers_per_stage = "6,-1"}, "leaves nothing of the model's 6 layers for the -1"},
        {{.layers_per_stage = "200,200,-1"}, "adds up to more than"},
        {{.layers_per_stage = "99999999,-1"}, "is not a list"},
        {{.layers_per_stage = "-1,-1"}, "more than one -1"},
        {{.layers_per_stage = "0,6"}, "is not a list"},
        {{.layers_per_stage = "-2,8"}, "is not a list"},
        {{.layers_per_stage = ""}, "is not a list"},
        {{.layers_per_stage = "2;4"}, "is not a list"},
        {{.layers_per_stage = "2,,4"}, "is not a list"},
        {{.layers_per_stage = "6,"}, "ends in a comma"},
        {{.layers_per_stage = "2.5,-1"}, "is not a list"},
        {{.layers_per_stage = "2.33,-1"}, "is not a list"},
        {{.layers_per_stage = "0.0,-1"}, "is not a list"},
        {{.layers_per_stage = "2.3,3.3"}, "adds up to less than"},
        {{.layers_per_stage = "3,3", .stages = 3}, "has 2 entries; --stages 3 needs 3"},
        {{.layers_per_stage = "-0.3,-1"}, "is not a list"},
        {{.layers_per_stage = "-.3,-1"}, "is not a list"},
        {{.layers_per_stage = "-1.3,3"}, "is not a list"},
        {{.layers_per_stage = "+2,-1"}, "is not a list"},
        {{.layers_per_stage = " 2,-1"}, "is not a list"},
        {{.layers_per_stage = "2.,-1"}, "is not a list"},
        {{.layers_per_stage = ".0,-1"}, "is not a list"},
        {{.layers_per_stage = "..3,-1"}, "is not a list"},
        {{.stages = 19}, "1 to 18 are allowed"},
        {{.replicas = 65}, "1 to 64 are allowed"},
        {{.max_in_flight = 257}, "1 to 256 are allowed"},
        {{.max_in_flight = 2, .no_pipelining = true}, "without pipelining"},
        {{.stage_threads = 65}, "1 to 64 are allowed"},
        {{.virtual_graphs = "0,1,0", .stages = 3},
         "has 3 entries; --stages 3 needs 4 (3 stages and the head)"},
        {{.virtual_graphs = "0,1", .stages = 2}, "has 2 entries; --stages 2 needs 3"},
        {{.virtual_graphs = "0,1,0", .layers_per_stage = "6"},
         "--layers-per-stage with 1 entry needs 2 (1 stage and the head)"},
        {{.virtual_graphs = "0,2,0"}, "leaves a number out"},
        {{.virtual_graphs = "1,0,0"}, "does not begin with 0"},
        {{.virtual_graphs = "0"}, "no entry for the head"},
        {{.virtual_graphs = "0,1"}, "only encoder stage"},
        {{.virtual_graphs = "0,x"}, "is not a list of numbers"},
        {{.virtual_graphs = "0,-1,0"}, "is not a list of numbers"},
        {{.virtual_graphs = "0,1,0,"}, "is not a list of numbers"},
        {{.virtual_graphs = ""}, "is not a list of numbers"},
        {{.virtual_graphs = "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"}, "more stages than"},
        {{.pin = "0-x"}, "is not a list of CPU sets"},
        {{.pin = "1-0"}, "is not a list of CPU sets"},
        {{.pin = "0;"}, "is not a list of CPU sets"},
        {{.pin = ""}, "is not a list of CPU sets"},
        {{.pin = "99999999999999999999"}, "is not a list of CPU sets"},
        {{.pin = "0-2"}, "names CPU 2, which the machine that is planned for does not have"},
        {{.pin = "0,0-1"}, "names CPU 0 twice"},
        {{.pin = "0-1;1"}, "sets that overlap"},
        {{.pin = "0;1;0", .stages = 2}, "--pin has 3 CPU sets; 2 virtual graphs need 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_wishes wishes = wishes_of(2);
        wishes.layers_per_stage = cases[i].change.layers_per_stage;
        wishes.stages = cases[i].change.stages;
        wishes.replicas = cases[i].change.replicas;
        wishes.max_in_flight = cases[i].change.max_in_flight;
        wishes.stage_threads = cases[i].change.stage_threads;
        wishes.virtual_graphs = cases[i].change.virtual_graphs;
        wishes.pin = cases[i].change.pin;
        wishes.no_pipelining = cases[i].change.no_pipelining;
        assert_int_equal(plan_make(&wishes, &plan, &err), STATUS_INVALID_VALUE);
        assert_says(err.message, cases[i].reason);
    }
}

static void the_table_names_the_graph_of_every_part(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    wishes.stages = 2;
    assert_planned(&wishes);
    char *text = plan_to_text(&plan);
    assert_non_null(text);
    assert_ptr_equal(strstr(text, "Embedding --> VG 0\nEncoder 0 --> VG 0\n"), text);
    assert_says(text, "Encoder 2 --> VG 0\nEncoder 3 --> VG 1\n");
    assert_says(text, "Encoder 5 --> VG 1\nPooler --> VG 0\nClassifier --> VG 0\n\n");
    assert_says(text, "\nhead        0  Pooler .. Classifier");
    assert_says(text, "predicted bottleneck: VG 0 with 50.1 % of the work\n");
    assert_says(text, "as the test has it");
    free(text);
}

static void the_graphs_are_measured_against_the_caches(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(6);
    wishes.layers_per_stage = "1,1,1,1,1,1";
    assert_planned(&wishes);
    char *text = plan_to_text(&plan);
    /* VG 0 has the embedding, of which a microbatch reads a few rows. */
    assert_says(text, "VG 0 on CPUs 0: a microbatch reads 0.11 MB of its 1.11 MB of weights, which "
                      "fit a core's own L2 of 0.1144 MiB\n");
    free(text);
    wishes.layers_per_stage = "2,2,2";
    assert_planned(&wishes);
    text = plan_to_text(&plan);
    assert_says(text, "0.20 MB of its 0.20 MB of weights, more than a core's own L2");
    assert_says(text, "all that is read under its L3, 0.61 MB, fits there (0.9537 MiB)\n");
    free(text);
}

static void a_shared_matrix_counts_once_and_is_read_whole(void **state) {
    (void)state;
    struct part tied[PARTS];
    struct plan_wishes wishes = wishes_of(2);
    memcpy(tied, parts, sizeof parts);
    tied[PARTS - 1].shares_first = true;
    wishes.parts = tied;
    wishes.stages = 2;
    assert_planned(&wishes);
    assert_int_equal(plan_vg_weights(&plan, 0), plan_vg_reads(&plan, 0));
    assert_int_equal(plan_vg_weights(&plan, 0) + plan_vg_weights(&plan, 1), 1605100);
    char *text = plan_to_text(&plan);
    assert_says(text, "Classifier --> VG 0 (shares the embedding's matrix)\n");
    free(text);
    wishes.virtual_graphs = "0,1,1"; /* a copy of its own on the other graph */
    assert_planned(&wishes);
    assert_int_equal(plan_vg_weights(&plan, 0) + plan_vg_weights(&plan, 1), 2605100);
}

static void a_pipeline_that_loses_to_replicas_says_so_and_why(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    assert_planned(&wishes);
    assert_says(plan.reason,
                "2 replicas of one stage: the most tokens a second of 1 to 2 stages in as many");
    assert_says(plan.reason, "a pipeline, 1 replica of 2 stages and the head, would reach 99.8 %");
    wishes.layers_per_stage = "2,4";
    assert_planned(&wishes);
    assert_says(plan.reason,
                "2 replicas of one stage would reach 133.1 % of it, the pipeline loses: "
                "the borders as given leave VG 1 66.5 % of the work, "
                "where 50.0 % would be even");
}

static void an_option_that_makes_a_plan_slow_is_named(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    wishes.stages = 2;
    wishes.replicas = 1;
    wishes.no_pipelining = true;
    assert_planned(&wishes);
    assert_says(plan.reason, "of it: --no-pipelining lets one stage work at a time");
    wishes.no_pipelining = false;
    wishes.max_in_flight = 1;
    assert_planned(&wishes);
    assert_says(plan.reason, "of it: --max-in-flight 1 lets one stage work at a time");
    char *text = plan_to_text(&plan);
    assert_says(text, "1 replica of 2 stages and the head, one after the other, 1 microbatch of");
    free(text);
    wishes = wishes_of(2);
    wishes.stage_threads = 2;
    assert_planned(&wishes);
    assert_says(plan.reason, "a team of 2 threads does the work of 1.74");
    assert_null(strstr(plan.reason, "the pipeline loses"));
}

static void plans_are_compared_on_the_cpus_of_pin(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(64);
    wishes.pin = "0;1";
    wishes.stages = 2;
    wishes.replicas = 1;
    assert_planned(&wishes);
    assert_says(plan.reason, "2 replicas of one stage would reach 100.2 % of it");
    assert_says(plan.reason, "CPU sets as given by --pin, on 2 of 64 cores");
}

static void a_layer_in_two_stages_of_one_graph_is_named_by_its_thirds(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    wishes.layers_per_stage = "2.6,-1";
    wishes.virtual_graphs = "0,0,0";
    assert_planned(&wishes);
    char *text = plan_to_text(&plan);
    assert_says(text, "Encoder 2 intermediate --> VG 0\nEncoder 2 output --> VG 0\n");
    free(text);
}

static void a_layer_in_two_graphs_is_named_by_its_thirds(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    wishes.layers_per_stage = "2.6,-1";
    assert_planned(&wishes);
    assert_true(plan.splits_feed_forward);
    char *text = plan_to_text(&plan);
    assert_non_null(text);
    assert_says(text, "Encoder 1 --> VG 0\nEncoder 2 attention --> VG 0\n"
                      "Encoder 2 intermediate --> VG 0\n"
                      "Encoder 2 output --> VG 1\nEncoder 3 --> VG 1\n");
    assert_says(text, "Embedding .. Encoder 2 intermediate ");
    free(text);
    wishes.layers_per_stage = "2.3,-1";
    assert_planned(&wishes);
    assert_false(plan.splits_feed_forward);
}

static void the_json_form_says_the_same(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(3);
    wishes.stages = 3;
    assert_planned(&wishes);
    char *text = plan_to_json(&plan);
    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_int_equal(json_integer_value(json_object_get(json, "stages")), 3);
    assert_true(json_is_true(json_object_get(json, "pipelining")));
    assert_int_equal(json_array_size(json_object_get(json, "parts")), 21);
    const json_t *threads = json_object_get(json, "threads");
    assert_int_equal(json_array_size(threads), 4);
    const json_t *head = json_array_get(threads, 3);
    assert_string_equal(json_string_value(json_object_get(head, "name")), "head");
    assert_int_equal(json_integer_value(json_object_get(head, "virtual_graph")), 0);
    assert_int_equal(json_integer_value(json_object_get(head, "weights_bytes")), 5100);
    const json_t *graphs = json_object_get(json, "graphs");
    assert_int_equal(json_array_size(graphs), 3);
    const json_t *replica =
        json_array_get(json_object_get(json_array_get(graphs, 2), "replicas"), 0);
    assert_string_equal(json_string_value(json_object_get(replica, "cpus")), "2");
    const json_t *predicted = json_object_get(json, "predicted");
    assert_true(json_number_value(json_object_get(predicted, "tokens_per_second")) > 400);
    assert_says(json_string_value(json_object_get(json, "reason")), "; as the test has it");
    json_decref(json);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_to_itself_it_takes_a_replica_for_each_core),
        cmocka_unit_test(more_cores_than_replicas_are_allowed_become_pipelines),
        cmocka_unit_test(what_is_given_is_obeyed_and_the_rest_chosen),
        cmocka_unit_test(every_part_is_in_one_stage_and_the_heaviest_is_as_light_as_can_be),
        cmocka_unit_test(a_heavy_head_moves_layers_away_from_its_graph),
        cmocka_unit_test(bytes_that_a_border_hands_over_count),
        cmocka_unit_test(the_prediction_follows_from_the_slowest_graph),
        cmocka_unit_test(a_turn_of_the_longest_stage_sets_the_budget),
        cmocka_unit_test(virtual_graphs_by_hand_are_obeyed),
        cmocka_unit_test(cpu_sets_by_hand_are_obeyed),
        cmocka_unit_test(equal_sets_share_their_cores),
        cmocka_unit_test(cores_are_physical_and_replicas_stay_on_their_node),
        cmocka_unit_test(a_quota_or_too_many_stages_leave_the_threads_unpinned),
        cmocka_unit_test(cores_to_spare_are_left_to_the_kernel_where_all_are_alike),
        cmocka_unit_test(layers_by_hand_are_obeyed),
        cmocka_unit_test(stages_may_be_as_many_as_thirds_by_either_option),
        cmocka_unit_test(wrong_wishes_are_refused_with_a_reason),
        cmocka_unit_test(the_table_names_the_graph_of_every_part),
        cmocka_unit_test(the_graphs_are_measured_against_the_caches),
        cmocka_unit_test(a_shared_matrix_counts_once_and_is_read_whole),
        cmocka_unit_test(a_pipeline_that_loses_to_replicas_says_so_and_why),
        cmocka_unit_test(an_option_that_makes_a_plan_slow_is_named),
        cmocka_unit_test(plans_are_compared_on_the_cpus_of_pin),
        cmocka_unit_test(a_layer_in_two_stages_of_one_graph_is_named_by_its_thirds),
        cmocka_unit_test(a_layer_in_two_graphs_is_named_by_its_thirds),
        cmocka_unit_test(the_json_form_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
