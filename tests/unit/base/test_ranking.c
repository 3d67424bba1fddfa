/* test_ranking.c: the kept ids are the best of all, in order, whatever order they came in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "engine/base/ranking.h"

enum { IDS = 500 };

static int compare(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Scores repeat, so that ties are many. */
static void fill(struct ranked *items, uint32_t seed) {
    for (int32_t i = 0; i < IDS; i++)
        items[i] = (struct ranked){i, (float)(((uint32_t)i * 2654435761u + seed) >> 26)};
}

static void kept_ids_are_the_best_of_all_in_order(void **state) {
    (void)state;
    static const uint32_t kept[] = {1, 2, 5, 64, IDS - 1, IDS};
    struct ranked items[IDS], sorted[IDS], best[IDS];
    for (uint32_t k = 0; k < sizeof kept / sizeof kept[0]; k++) {
        fill(items, k * 77);
        fill(sorted, k * 77);
        qsort(sorted, IDS, sizeof *sorted, compare);
        for (uint32_t backwards = 0; backwards < 2; backwards++) {
            uint32_t count = 0;
            for (uint32_t i = 0; i < IDS; i++)
                ranking_push(best, &count, kept[k], items[backwards ? IDS - 1 - i : i]);
            assert_int_equal(count, kept[k]);
            ranking_sort(best, count);
            for (uint32_t i = 0; i < count; i++)
                assert_int_equal(best[i].id, sorted[i].id);
        }
    }
}

static void fewer_ids_than_room_are_all_kept(void **state) {
    (void)state;
    struct ranked best[4];
    uint32_t count = 0;
    ranking_push(best, &count, 4, (struct ranked){7, -1.0f});
    ranking_push(best, &count, 4, (struct ranked){3, 2.0f});
    ranking_sort(best, count);
    assert_int_equal(count, 2);
    assert_int_equal(best[0].id, 3);
    assert_int_equal(best[1].id, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_ids_are_the_best_of_all_in_order),
        cmocka_unit_test(fewer_ids_than_room_are_all_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
