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

enum { LAYERS = 6 };

/* An embedding that costs almost nothing, six equal layers, a small head in two parts. */
#define LAYER(name)                                                                                \
    {name, "attention", 40000, 400}, {name, "intermediate", 30000, 300}, {                         \
        name, "output", 30000, 300                                                                 \
    }

static const struct part parts[] = {
    {.name = "Embedding", .weights_bytes = 1000000, .cost = 1},
    LAYER("Encoder 0"),
    LAYER("Encoder 1"),
    LAYER("Encoder 2"),
    LAYER("Encoder 3"),
    LAYER("Encoder 4"),
    LAYER("Encoder 5"),
    {.name = "Pooler", .weights_bytes = 5000, .cost = 10},
    {.name = "Classifier", .weights_bytes = 100, .cost = 1},
};

static struct plan_wishes wishes_of(uint32_t cores) {
    return (struct plan_wishes){
        .parts = parts,
        .parts_count = sizeof parts / sizeof parts[0],
        .layers_count = LAYERS,
        .cores = cores,
        .cpus = "0-3",
        .reason = "as the test has it",
    };
}

static void as_many_stages_as_cores_and_replicas_from_what_is_left(void **state) {
    (void)state;
    const struct {
        uint32_t cores, vgs, stages, replicas;
    } cases[] = {{1, 1, 1, 1}, {2, 2, 3, 1},  {4, 4, 5, 1},  {6, 6, 7, 1},
                 {7, 6, 7, 1}, {12, 6, 7, 2}, {64, 6, 7, 10}};
    struct plan plan;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_wishes wishes = wishes_of(cases[i].cores);
        assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
        assert_int_equal(plan.vgs_count, cases[i].vgs);
        assert_int_equal(plan.stages_count, cases[i].stages);
        assert_int_equal(plan.replicas, cases[i].replicas);
        assert_int_equal(plan.max_in_flight, cases[i].stages + 1);
    }
    struct plan_wishes wishes = wishes_of(4);
    wishes.replicas = 2;
    assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
    assert_int_equal(plan.vgs_count, 2);
    wishes = wishes_of(4);
    wishes.stages = 1;
    assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
    assert_int_equal(plan.replicas, 4);
    assert_int_equal(plan.stages_count, 1);
    assert_int_equal(plan.stages[0].parts_count, 21);
}

/* Every part is in exactly one stage, in order; the head is on VG 0 with the embedding. */
static void plan_check(const struct plan *plan) {
    uint32_t next = 0;
    double share = 0;
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        assert_int_equal(plan->stages[i].first_part, next);
        assert_true(plan->stages[i].parts_count > 0);
        next += plan->stages[i].parts_count;
        share += plan->stages[i].share;
        assert_int_equal(plan->stages[i].vg, i < plan->vgs_count ? i : 0);
    }
    assert_int_equal(next, sizeof parts / sizeof parts[0]);
    assert_true(share > 0.999 && share < 1.001);
    assert_int_equal(plan->weights_bytes, 1605100);
}

static void every_part_is_in_one_stage_and_the_heaviest_is_as_light_as_can_be(void **state) {
    (void)state;
    /* Layers of the heaviest virtual graph when six are shared out. */
    const double heaviest[] = {0, 6, 3, 2, 1.6, 1.4, 1};
    for (uint32_t stages = 1; stages <= LAYERS; stages++) {
        struct plan_wishes wishes = wishes_of(1);
        struct plan plan;
        wishes.stages = stages;
        assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
        plan_check(&plan);
        double layers = plan.bottleneck_share * 6012 / 1000;
        assert_true(layers > heaviest[stages] - 0.02 && layers < heaviest[stages] + 0.02);
    }
}

static void a_heavy_head_moves_layers_away_from_its_graph(void **state) {
    (void)state;
    struct part heavy[sizeof parts / sizeof parts[0]];
    struct plan_wishes wishes = wishes_of(2);
    struct plan plan;
    memcpy(heavy, parts, sizeof parts);
    heavy[19].cost = 2000;
    wishes.parts = heavy;
    assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
    assert_int_equal(plan.stages[0].parts_count, 7); /* embedding and two layers */
    assert_int_equal(plan.stages[1].parts_count, 12);
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
                 {"1,1,1,1,1,1", {3, 3, 3, 3, 3, 3}, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_wishes wishes = wishes_of(2);
        struct plan plan;
        wishes.layers_per_stage = cases[i].list;
        assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
        assert_int_equal(plan.vgs_count, cases[i].count);
        for (uint32_t s = 0; s < cases[i].count && cases[i].count > 1; s++)
            assert_int_equal(plan.stages[s].parts_count, cases[i].thirds[s] + (s == 0));
        plan_check(&plan);
    }
}

static void wrong_wishes_are_refused_with_a_reason(void **state) {
    (void)state;
    const struct {
        struct plan_wishes change;
        const char *reason;
    } cases[] = {
        {{.layers_per_stage = "2,2"}, "does not share out the model's 6 layers"},
        {{.layers_per_stage = "6,-1"}, "does not share out"},
        {{.layers_per_stage = "200,200,-1"}, "does not share out"},
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
        {{.layers_per_stage = "2.3,3.3"}, "does not share out"},
        {{.layers_per_stage = "3,3", .stages = 3}, "2 entries for 3 stages"},
        {{.stages = 7}, "1 to 6 are allowed"},
        {{.replicas = 65}, "1 to 64 are allowed"},
        {{.max_in_flight = 257}, "1 to 256 are allowed"},
        {{.max_in_flight = 2, .no_pipelining = true}, "without pipelining"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_wishes wishes = wishes_of(2);
        struct plan plan;
        struct error err;
        wishes.layers_per_stage = cases[i].change.layers_per_stage;
        wishes.stages = cases[i].change.stages;
        wishes.replicas = cases[i].change.replicas;
        wishes.max_in_flight = cases[i].change.max_in_flight;
        wishes.no_pipelining = cases[i].change.no_pipelining;
        assert_int_equal(plan_make(&wishes, &plan, &err), STATUS_INVALID_VALUE);
        if (!strstr(err.message, cases[i].reason))
            fail_msg("\"%s\" does not say \"%s\"", err.message, cases[i].reason);
    }
}

static void without_pipelining_one_microbatch_is_in_flight(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    struct plan plan;
    wishes.no_pipelining = true;
    assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
    assert_int_equal(plan.max_in_flight, 1);
    assert_int_equal(plan.stages_count, 3);
    assert_false(plan.pipelining);
}

static void the_table_names_the_graph_of_every_part(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    struct plan plan;
    assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
    char *text = plan_to_text(&plan);
    assert_non_null(text);
    assert_ptr_equal(strstr(text, "Embedding --> VG 0\nEncoder 0 --> VG 0\n"), text);
    assert_non_null(strstr(text, "Encoder 2 --> VG 0\nEncoder 3 --> VG 1\n"));
    assert_non_null(strstr(text, "Encoder 5 --> VG 1\nPooler --> VG 0\nClassifier --> VG 0\n\n"));
    assert_non_null(strstr(text, "\nhead        0  Pooler .. Classifier"));
    assert_non_null(strstr(text, "predicted bottleneck: VG 0 with 50.1 % of the work\n"));
    assert_non_null(strstr(text, "as the test has it"));
    free(text);
}

static void a_layer_in_two_graphs_is_named_by_its_thirds(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(2);
    struct plan plan;
    wishes.layers_per_stage = "2.6,-1";
    assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
    assert_true(plan.splits_feed_forward);
    char *text = plan_to_text(&plan);
    assert_non_null(text);
    assert_non_null(strstr(text, "Encoder 1 --> VG 0\nEncoder 2 attention --> VG 0\n"
                                 "Encoder 2 intermediate --> VG 0\n"
                                 "Encoder 2 output --> VG 1\nEncoder 3 --> VG 1\n"));
    assert_non_null(strstr(text, "Embedding .. Encoder 2 intermediate "));
    free(text);
    wishes.layers_per_stage = "2.3,-1";
    assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
    assert_false(plan.splits_feed_forward);
}

static void the_json_form_says_the_same(void **state) {
    (void)state;
    struct plan_wishes wishes = wishes_of(3);
    struct plan plan;
    assert_int_equal(plan_make(&wishes, &plan, NULL), STATUS_OK);
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
    json_decref(json);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_stages_as_cores_and_replicas_from_what_is_left),
        cmocka_unit_test(every_part_is_in_one_stage_and_the_heaviest_is_as_light_as_can_be),
        cmocka_unit_test(a_heavy_head_moves_layers_away_from_its_graph),
        cmocka_unit_test(layers_by_hand_are_obeyed),
        cmocka_unit_test(wrong_wishes_are_refused_with_a_reason),
        cmocka_unit_test(without_pipelining_one_microbatch_is_in_flight),
        cmocka_unit_test(the_table_names_the_graph_of_every_part),
        cmocka_unit_test(a_layer_in_two_graphs_is_named_by_its_thirds),
        cmocka_unit_test(the_json_form_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
