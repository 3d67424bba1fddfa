/* test_nodes_team.c: a team of threads on one microbatch gives the bytes of one thread, whatever
 * the texts, the parts that are run together, and the helpers' coming and going. */
#include <pthread.h>
#include <sched.h>

#include "tests/unit/nodes/tiny_model.h"

enum { MEMBERS_MAX = 4 };

struct helper {
    const struct nodes *nodes;
    struct team_run *run;
    atomic_uint *came;
    pthread_t thread;
    uint32_t shares_max, shares; /* it leaves after so many; those it was asked for */
};

static bool helper_leaves(void *context) {
    struct helper *helper = context;
    return helper->shares++ >= helper->shares_max;
}

static void *helper_run(void *context) {
    struct helper *helper = context;
    struct team_run *run = helper->run;
    void *scratch;
    assert_int_equal(nodes_scratch_open(helper->nodes, TOKENS_MAX, MEMORY_NODE_ANY, &scratch, NULL),
                     STATUS_OK);
    if (team_run_join(run)) {
        atomic_fetch_add(helper->came, 1);
        struct team_seat seat = {.run = run, .leaves = helper_leaves, .context = helper};
        nodes_run(helper->nodes, run->first_part, run->parts_count, scratch, run->microbatch,
                  &seat);
        team_run_leave(run);
    }
    nodes_scratch_close(helper->nodes, scratch);
    return NULL;
}

/* Shares for `members`, of whom all may come; helper h leaves after shares_max * h shares. */
static void run_parts(struct fixture *f, uint32_t first, uint32_t count, uint32_t members,
                      uint32_t shares_max) {
    struct helper helpers[MEMBERS_MAX];
    struct team_run run = {
        .first_part = first,
        .parts_count = count,
        .members = members,
        .scratch = f->scratch,
        .microbatch = &f->m,
    };
    atomic_uint came = 0;
    team_run_open(&run);
    for (uint32_t h = 1; h < members; h++) {
        helpers[h] = (struct helper){
            .nodes = f->nodes, .run = &run, .came = &came, .shares_max = shares_max * h};
        assert_int_equal(pthread_create(&helpers[h].thread, NULL, helper_run, &helpers[h]), 0);
    }
    while (atomic_load(&came) + 1 < members) /* all are in when it starts */
        sched_yield();
    struct team_seat seat = {.run = &run};
    nodes_run(f->nodes, first, count, f->scratch, &f->m, &seat);
    team_run_close(&run);
    for (uint32_t h = 1; h < members; h++)
        pthread_join(helpers[h].thread, NULL);
}

static void run_team(struct fixture *f, uint32_t at_once, uint32_t members, uint32_t shares_max) {
    uint32_t count;
    nodes_parts(f->nodes, &count);
    for (uint32_t first = 0; first < count; first += at_once)
        run_parts(f, first, count - first < at_once ? count - first : at_once, members, shares_max);
}

static void texts_fill(struct microbatch *m, uint32_t first, uint32_t tokens_max) {
    m->rows = m->tokens = 0;
    for (uint32_t b = first; m->tokens + length_of(b) <= tokens_max; b++)
        text_add(m, b, length_of(b));
}

static void teams_of_all_sizes_give_the_bytes_of_one_thread(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    static float alone[TOKENS_MAX * K];
    for (uint32_t round = 0; round < 48; round++) {
        nodes_set_all_rows(f.nodes, round % 2);
        texts_fill(&f.m, round, round % 3 ? TOKENS_MAX : P);
        run_all(&f);
        memcpy(alone, f.m.outputs, f.m.rows * K * sizeof *alone);
        memset(f.m.hidden, 0xFF, TOKENS_MAX * H * sizeof *f.m.hidden);
        run_team(&f, UINT32_MAX / 2, 1 + round % MEMBERS_MAX, UINT32_MAX / MEMBERS_MAX);
        assert_memory_equal(f.m.outputs, alone, f.m.rows * K * sizeof *alone);
    }
    fixture_free(&f);
}

static void a_team_takes_texts_of_every_length(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    for (uint32_t tokens = 1; tokens <= P; tokens += 1 + tokens / 20) {
        float alone[K];
        run_alone(&f, tokens, tokens);
        memcpy(alone, f.m.outputs, sizeof alone);
        run_team(&f, UINT32_MAX / 2, 2 + tokens % 3, UINT32_MAX / MEMBERS_MAX);
        assert_memory_equal(f.m.outputs, alone, sizeof alone);
    }
    fixture_free(&f);
}

static void a_team_may_begin_and_end_inside_a_layer(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    static float alone[TOKENS_MAX * K];
    for (uint32_t at_once = 1; at_once <= 8; at_once++) {
        nodes_set_all_rows(f.nodes, at_once % 2);
        texts_fill(&f.m, at_once, TOKENS_MAX);
        run_in(&f, at_once);
        memcpy(alone, f.m.outputs, f.m.rows * K * sizeof *alone);
        run_team(&f, at_once, 2 + at_once % 3, UINT32_MAX / MEMBERS_MAX);
        assert_memory_equal(f.m.outputs, alone, f.m.rows * K * sizeof *alone);
    }
    fixture_free(&f);
}

/* Every third text is not read at all, and the others at any rows. */
static void a_team_computes_the_rows_that_are_read(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    static float alone[TOKENS_MAX * H];
    uint32_t count, reads = 0;
    nodes_parts(f.nodes, &count);
    texts_fill(&f.m, 3, TOKENS_MAX);
    for (uint32_t b = 0; b < f.m.rows; b++) {
        for (uint32_t i = f.m.starts[b]; b % 3 && i < f.m.starts[b + 1]; i += 1 + b % 4)
            f.m.reads[reads++] = i;
        f.m.reads_starts[b + 1] = reads;
    }
    nodes_run(f.nodes, 0, count - 2, f.scratch, &f.m, NULL);
    memcpy(alone, f.m.hidden, f.m.tokens * H * sizeof *alone);
    for (uint32_t members = 2; members <= MEMBERS_MAX; members++) {
        run_parts(&f, 0, count - 2, members, UINT32_MAX / MEMBERS_MAX);
        for (uint32_t r = 0; r < reads; r++)
            assert_memory_equal(f.m.hidden + f.m.reads[r] * H, alone + f.m.reads[r] * H,
                                H * sizeof *alone);
    }
    fixture_free(&f);
}

static void helpers_that_leave_early_are_not_missed(void **state) {
    (void)state;
    struct fixture f = fixture_make();
    static float alone[TOKENS_MAX * K];
    texts_fill(&f.m, 5, TOKENS_MAX);
    run_all(&f);
    memcpy(alone, f.m.outputs, f.m.rows * K * sizeof *alone);
    for (uint32_t shares_max = 0; shares_max < 12; shares_max++) {
        memset(f.m.hidden, 0xFF, TOKENS_MAX * H * sizeof *f.m.hidden);
        run_team(&f, UINT32_MAX / 2, 2 + shares_max % 3, shares_max);
        assert_memory_equal(f.m.outputs, alone, f.m.rows * K * sizeof *alone);
    }
    fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams_of_all_sizes_give_the_bytes_of_one_thread),
        cmocka_unit_test(a_team_takes_texts_of_every_length),
        cmocka_unit_test(a_team_may_begin_and_end_inside_a_layer),
        cmocka_unit_test(a_team_computes_the_rows_that_are_read),
        cmocka_unit_test(helpers_that_leave_early_are_not_missed),
    };
    return cmocka_run_group_tests(tests, model_make, model_unmake);
}
