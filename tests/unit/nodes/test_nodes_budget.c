/* test_nodes_budget.c: the parts of a budget and what is unaccounted are the whole pass, and the
 * floors follow from the model's sizes and the peaks. */
#include "tests/unit/nodes/tiny_model.h"

#include "engine/nodes_budget.h"

static const struct budget_part *part_find(const struct budget *budget, const char *name) {
    for (uint32_t i = 0; i < budget->parts_count; i++)
        if (strcmp(budget->parts[i].name, name) == 0)
            return &budget->parts[i];
    fail_msg("no part %s", name);
    return NULL;
}

/* Texts of the given lengths. */
static struct microbatch *microbatch_make(const uint32_t *lengths, uint32_t count) {
    const struct microbatch_room room = {
        .tokens_max = TOKENS_MAX, .rows_max = TOKENS_MAX, .width = H, .outputs_width = K};
    struct microbatch *m;
    assert_int_equal(microbatch_open(&room, MEMORY_NODE_ANY, &m), STATUS_OK);
    m->starts[0] = m->reads_starts[0] = 0;
    for (uint32_t i = 0; i < count; i++)
        text_add(m, i, lengths[i]);
    return m;
}

static void assert_floor(const struct budget_part *part, double operations, double peak) {
    assert_true(part->ns > 0);
    if (peak > 0 && part->bound == BUDGET_ARITHMETIC)
        assert_near(part->least_ns, operations / peak * 1e9, 1e-6 * part->least_ns);
    else
        assert_true(part->least_ns >= (peak > 0 ? operations / peak * 1e9 : 0));
}

static void parts_are_the_whole_pass(void **state) {
    (void)state;
    const uint32_t first[] = {P, 7, 64}, second[] = {80};
    struct microbatch *const microbatches[] = {microbatch_make(first, 3),
                                               microbatch_make(second, 1)};
    const uint32_t tokens = P + 7 + 64 + 80;
    struct budget budget = {.parts_count = 0};
    struct error err;
    assert_int_equal(nodes_measure_budget(NULL, "f32", microbatches, 2, 1, &budget, &err),
                     STATUS_OK);
    assert_true(budget.pass_ns > 0);
    double sum = 0;
    for (uint32_t i = 0; i < budget.parts_count; i++)
        sum += budget.parts[i].ns;
    assert_near(sum, budget.pass_ns, 1e-6 * budget.pass_ns);
    assert_string_equal(budget.parts[budget.parts_count - 1].name, "unaccounted");

    /* The last layer has queries, attention output and feed-forward of one row a text. */
    const double rows = (double)tokens * (L - 1) + 4, peak = budget.peak_flops;
    assert_floor(part_find(&budget, "QKV product"), 2.0 * H * H * (2.0 * tokens * L + rows), peak);
    assert_floor(part_find(&budget, "attention output product"), 2.0 * H * H * rows, peak);
    assert_floor(part_find(&budget, "feed-forward 1 product"), 2.0 * H * I * rows, peak);
    assert_floor(part_find(&budget, "feed-forward 2 product"), 2.0 * H * I * rows, peak);
    assert_floor(part_find(&budget, "classifier product"), 2.0 * H * K * 4, peak);
    assert_int_equal(part_find(&budget, "layer norm")->bound, BUDGET_CACHE);
    assert_int_equal(part_find(&budget, "embedding")->bound, BUDGET_CACHE);
    part_find(&budget, "attention scores");
    part_find(&budget, "attention softmax");
    part_find(&budget, "attention context");
    part_find(&budget, "GELU");
    microbatch_free(microbatches[0]);
    microbatch_free(microbatches[1]);
}

/* What is measured is what the engine runs. */
static void a_watched_pass_gives_the_same_bytes(void **state) {
    (void)state;
    const uint32_t length = length_of(5);
    struct microbatch *const m = microbatch_make(&length, 1);
    struct budget budget = {.parts_count = 0};
    struct error err;
    assert_int_equal(nodes_measure_budget(NULL, "f32", &m, 1, 1, &budget, &err), STATUS_OK);
    struct fixture f = fixture_make();
    run_alone(&f, 0, length);
    assert_memory_equal(m->outputs, f.m.outputs, K * sizeof *m->outputs);
    fixture_free(&f);
    microbatch_free(m);
}

static void an_unknown_type_is_refused(void **state) {
    (void)state;
    const uint32_t length = 5;
    struct microbatch *const m = microbatch_make(&length, 1);
    struct budget budget = {.parts_count = 0};
    struct error err;
    assert_int_equal(nodes_measure_budget(NULL, "f64", &m, 1, 1, &budget, &err),
                     STATUS_UNSUPPORTED);
    microbatch_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_whole_pass),
        cmocka_unit_test(a_watched_pass_gives_the_same_bytes),
        cmocka_unit_test(an_unknown_type_is_refused),
    };
    return cmocka_run_group_tests(tests, model_make, model_unmake);
}
