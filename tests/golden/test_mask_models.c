/* test_mask_models.c: the checkpoints of tests/golden/mask_models against the fill-mask pipeline of
 * `transformers` in float64: scores, order, tokens, texts, and what it refuses. Then the same bytes
 * for every plan and every number of decoder slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine/asking.h"

enum { IDS_MAX = 64, TARGETS_MAX = 8, ROWS_MAX = 32, LINE_BYTES = 1 << 16, KEPT_ENDS = 10 };
static const char *const models[] = {
    "tied", "tied-float16", "tied-bfloat16", "twice", "untied", "differs", "old-names",
};
enum { MODELS = sizeof models / sizeof models[0] };
static const double tolerance = 1e-4; /* relative */

/* One line as a call. Views and ids live with the row. */
struct row {
    json_t *line;
    int32_t ids[IDS_MAX];
    struct view targets[TARGETS_MAX];
    struct engine_input input;
    struct call_spec spec;
};

static void row_read(json_t *line, struct row *out) {
    const json_t *input = json_object_get(line, "input"), *value;
    const json_t *targets = json_object_get(line, "targets");
    size_t i;
    *out = (struct row){.line = line};
    if (json_is_string(input)) {
        out->input.text = view_of(json_string_value(input));
    } else {
        json_array_foreach(input, i, value) out->ids[i] = (int32_t)json_integer_value(value);
        out->input.ids = out->ids;
        out->input.ids_count = (uint32_t)json_array_size(input);
    }
    out->spec = (struct call_spec){
        .inputs_count = 1,
        .truncate = true,
        .task = ENGINE_FILL_MASK,
        .fill_mask = {.top_k = (uint32_t)json_integer_value(json_object_get(line, "top_k"))},
    };
    json_array_foreach(targets, i, value) out->targets[i] = view_of(json_string_value(value));
    out->spec.fill_mask.targets_count = (uint32_t)json_array_size(targets);
}

/* After the row has its place. */
static struct call *row_ask(struct engine *engine, struct row *row, struct error *err) {
    row->spec.inputs = &row->input;
    if (row->input.ids)
        row->input.ids = row->ids;
    if (row->spec.fill_mask.targets_count > 0)
        row->spec.fill_mask.targets = row->targets;
    return ask(engine, row->spec, err);
}

static struct engine *model_start(const char *name, struct plan_options plan) {
    char dir[128];
    struct engine *engine;
    struct error err;
    (void)snprintf(dir, sizeof dir, "tests/golden/mask_models/%s", name);
    const struct engine_options options = {.model_dir = dir, .plan = plan};
    if (engine_open(&options, &engine, &err) != STATUS_OK)
        fail_msg("%s: %s", name, err.message);
    return engine;
}

static uint32_t rows_read(const char *name, struct row *rows) {
    static char line[LINE_BYTES];
    char path[128];
    uint32_t count = 0;
    (void)snprintf(path, sizeof path, "tests/golden/mask_models/%s/answers.jsonl", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        assert_true(count < ROWS_MAX);
        json_t *json = json_loads(line, 0, NULL);
        assert_non_null(json);
        row_read(json, &rows[count++]);
    }
    fclose(file);
    assert_true(count > 10);
    return count;
}

static void rows_free(struct row *rows, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        json_decref(rows[i].line);
}

static const char *text_of(const json_t *object, const char *field) {
    return json_string_value(json_object_get(object, field));
}

/* One mask's list; a long one has its ends only. */
static double compare_mask(const struct engine *engine, const struct fill_mask_answer *answer,
                           uint32_t mask, const json_t *wanted) {
    const uint32_t count = (uint32_t)json_array_size(wanted), all = answer->ranked_count;
    double worst = 0;
    assert_true(count == all || (count == 2 * KEPT_ENDS && all > count));
    for (uint32_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(wanted, i);
        const uint32_t at = i < KEPT_ENDS ? i : all - count + i;
        const struct ranked *found = &answer->ranked[(size_t)mask * all + at];
        const double score = json_number_value(json_object_get(entry, "score"));
        const double share = fabs((double)found->score - score) / (tolerance * score);
        struct fill_mask_texts texts;
        if (!(share <= 1) || found->id != json_integer_value(json_object_get(entry, "token")))
            fail_msg("mask %u, place %u: token %d with %.9g, not %s", mask, at, (int)found->id,
                     (double)found->score, json_dumps(entry, 0));
        assert_int_equal(engine_fill_mask_read(engine, answer, mask, found->id, &texts, NULL),
                         STATUS_OK);
        assert_string_equal(texts.token, text_of(entry, "token_str"));
        assert_string_equal(texts.sequence, text_of(entry, "sequence"));
        free(texts.token);
        free(texts.sequence);
        worst = fmax(worst, share);
    }
    return worst;
}

static double compare_row(struct engine *engine, struct row *row) {
    const json_t *masks = json_object_get(row->line, "masks");
    struct call_answer answer;
    struct error err;
    double worst = 0;
    struct call *call = row_ask(engine, row, &err);
    if (!masks) {
        assert_int_equal(err.status, STATUS_INVALID_VALUE);
        call_release(call);
        return 0;
    }
    if (!call || call_outcome(call, &err) != STATUS_OK)
        fail_msg("%s: %s", json_dumps(row->line, 0), err.message);
    call_get_answer(call, 0, &answer);
    assert_int_equal(answer.fill_mask.masks_count, json_array_size(masks));
    for (uint32_t i = 0; i < answer.fill_mask.masks_count; i++)
        worst = fmax(worst, compare_mask(engine, &answer.fill_mask, i, json_array_get(masks, i)));
    call_release(call);
    return worst;
}

static void every_answer_is_that_of_the_pipeline(void **state) {
    (void)state;
    static struct row rows[ROWS_MAX];
    for (size_t m = 0; m < MODELS; m++) {
        struct engine *engine = model_start(models[m], (struct plan_options){0});
        const uint32_t count = rows_read(models[m], rows);
        double worst = 0;
        for (uint32_t i = 0; i < count; i++)
            worst = fmax(worst, compare_row(engine, &rows[i]));
        print_message("%-14s %2u texts, errors %.4f of the tolerance\n", models[m], count, worst);
        rows_free(rows, count);
        engine_close(engine);
    }
}

/* Ids and scores of all rows, one after the other. */
static size_t collect(struct engine *engine, struct row *rows, uint32_t count, struct ranked *out) {
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct call_answer answer;
        struct error err;
        struct call *call = row_ask(engine, &rows[i], &err);
        if (call && call_outcome(call, NULL) == STATUS_OK) {
            call_get_answer(call, 0, &answer);
            const size_t entries =
                (size_t)answer.fill_mask.masks_count * answer.fill_mask.ranked_count;
            memcpy(out + used, answer.fill_mask.ranked, entries * sizeof *out);
            used += entries;
        }
        call_release(call);
    }
    return used;
}

static void plans_and_slices_change_no_bytes(void **state) {
    (void)state;
    static const struct plan_options plans[] = {
        {.stages = 1, .replicas = 1, .decoder_chunks = 1},
        {.stages = 1, .replicas = 2, .decoder_chunks = 2},
        {.stages = 2, .replicas = 1, .decoder_chunks = 7},
        {.stages = 2, .replicas = 1, .decoder_chunks = 64, .layers_per_stage = "0.6,-1"},
        {.stages = 2, .replicas = 2, .decoder_chunks = 3, .layers_per_stage = "1.3,-1"},
        {.stages = 2, .no_pipelining = true, .replicas = 1, .max_in_flight = 1},
        {.stages = 1, .replicas = 1, .stage_threads = 2, .decoder_chunks = 5},
    };
    static const char *const two_layers[] = {"tied", "tied-bfloat16", "untied"};
    static struct row rows[ROWS_MAX];
    static struct ranked expected[8192], found[8192];
    for (size_t m = 0; m < sizeof two_layers / sizeof two_layers[0]; m++) {
        const uint32_t count = rows_read(two_layers[m], rows);
        struct engine *engine = model_start(two_layers[m], (struct plan_options){0});
        const size_t entries = collect(engine, rows, count, expected);
        engine_close(engine);
        assert_true(entries > 1900);
        for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++) {
            engine = model_start(two_layers[m], plans[p]);
            memset(found, 0, sizeof found);
            assert_int_equal(collect(engine, rows, count, found), entries);
            assert_memory_equal(found, expected, entries * sizeof *found);
            engine_close(engine);
        }
        rows_free(rows, count);
    }
}

/* One call with all texts, which are packed beside each other, and many masks in one microbatch. */
static void texts_of_one_call_have_the_bytes_they_have_alone(void **state) {
    (void)state;
    enum { INPUTS = 40 };
    static char texts[INPUTS][256];
    struct engine_input inputs[INPUTS] = {{.ids = NULL}};
    struct engine *engine = model_start("tied-float16", (struct plan_options){0});
    struct call_answer answer, alone;
    struct error err;
    struct call_spec spec = {.inputs = inputs,
                             .inputs_count = INPUTS,
                             .truncate = true,
                             .task = ENGINE_FILL_MASK,
                             .fill_mask = {.top_k = 9}};
    for (uint32_t i = 0; i < INPUTS; i++) {
        size_t used = 0;
        for (uint32_t k = 0; k <= i % 7; k++)
            used += (size_t)snprintf(texts[i] + used, sizeof texts[i] - used, "%s",
                                     k % 2 ? "or [MASK] " : "the [MASK] of ");
        inputs[i].text = view_of(texts[i]);
    }
    struct call *all = ask(engine, spec, &err);
    assert_non_null(all);
    assert_int_equal(call_outcome(all, &err), STATUS_OK);
    for (uint32_t i = 0; i < INPUTS; i++) {
        spec.inputs = &inputs[i];
        spec.inputs_count = 1;
        struct call *one = ask(engine, spec, &err);
        assert_non_null(one);
        call_get_answer(one, 0, &alone);
        call_get_answer(all, i, &answer);
        assert_int_equal(answer.fill_mask.masks_count, i % 7 + 1);
        assert_int_equal(alone.fill_mask.masks_count, i % 7 + 1);
        assert_memory_equal(answer.fill_mask.ranked, alone.fill_mask.ranked,
                            (size_t)(i % 7 + 1) * 9 * sizeof(struct ranked));
        call_release(one);
    }
    call_release(all);
    engine_close(engine);
}

static void what_a_call_may_ask_for_is_bounded(void **state) {
    (void)state;
    enum { INPUTS = 600 };
    static struct engine_input inputs[INPUTS];
    struct engine *engine = model_start("tied", (struct plan_options){0});
    struct error err;
    struct call_spec spec = {.inputs = inputs,
                             .inputs_count = INPUTS,
                             .truncate = true,
                             .task = ENGINE_FILL_MASK,
                             .fill_mask = {.top_k = UINT32_MAX}};
    for (uint32_t i = 0; i < INPUTS; i++)
        inputs[i].text = view_of("[MASK]");
    struct call *call = ask(engine, spec, &err);
    assert_int_equal(err.status, STATUS_CALL_TOO_LARGE);
    call_release(call);
    spec.inputs_count = 500; /* times 1,900 entries */
    call = ask(engine, spec, &err);
    assert_int_equal(err.status, STATUS_OK);
    call_release(call);
    spec.inputs_count = 1;
    spec.fill_mask.top_k = 0;
    assert_null(ask(engine, spec, &err));
    assert_int_equal(err.status, STATUS_INVALID_VALUE);
    spec.fill_mask.top_k = 1;
    spec.window = true;
    assert_null(ask(engine, spec, &err));
    assert_int_equal(err.status, STATUS_INVALID_VALUE);
    spec.window = false;
    spec.task = ENGINE_TEXT_CLASSIFICATION;
    assert_null(ask(engine, spec, &err));
    assert_int_equal(err.status, STATUS_INVALID_VALUE);
    engine_close(engine);
}

static void targets_say_what_became_of_them(void **state) {
    (void)state;
    static const struct view targets[] = {{"first", 5}, {"zzzebra", 7}, {"", 0}};
    const struct engine_input input = {.text = view_of("the [MASK]")};
    struct engine *engine = model_start("tied", (struct plan_options){0});
    struct error err;
    uint32_t count;
    struct call *call =
        ask(engine,
            (struct call_spec){.inputs = &input,
                               .inputs_count = 1,
                               .task = ENGINE_FILL_MASK,
                               .fill_mask = {.top_k = 5, .targets = targets, .targets_count = 3}},
            &err);
    assert_non_null(call);
    assert_int_equal(call_outcome(call, &err), STATUS_OK);
    const struct fill_mask_target *found = call_get_targets(call, &count);
    assert_int_equal(count, 3);
    assert_true(found[0].is_vocabulary && found[0].id >= 0);
    assert_false(found[1].is_vocabulary);
    assert_true(view_equals_c(found[1].token, "z"));
    assert_int_equal(found[2].id, -1);
    call_release(call);
    engine_close(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_is_that_of_the_pipeline),
        cmocka_unit_test(plans_and_slices_change_no_bytes),
        cmocka_unit_test(texts_of_one_call_have_the_bytes_they_have_alone),
        cmocka_unit_test(what_a_call_may_ask_for_is_bounded),
        cmocka_unit_test(targets_say_what_became_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
