/* test_percentile.c: the percentile is one of the values, the smallest that enough others do not
 * exceed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "server/percentile.h"

/* 1..count milliseconds, the largest first. */
static struct latencies make(uint64_t count) {
    struct latencies latencies = {0};
    for (uint64_t i = count; i > 0; i--)
        assert_int_equal(latencies_add(&latencies, i * NS_PER_MS), STATUS_OK);
    latencies_sort(&latencies);
    assert_int_equal(latencies.count, count);
    return latencies;
}

static void assert_percentile(const struct latencies *latencies, double share, double ms) {
    assert_true(latencies_percentile(latencies, share) == ms);
}

static void known_percentiles(void **state) {
    (void)state;
    struct latencies latencies = make(10000);
    assert_percentile(&latencies, 0, 1);
    assert_percentile(&latencies, 0.5, 5000);
    assert_percentile(&latencies, 0.99, 9900);
    assert_percentile(&latencies, 0.999, 9990);
    assert_percentile(&latencies, 1, 10000);
    latencies_free(&latencies);

    latencies = make(3);
    assert_percentile(&latencies, 0.5, 2);
    assert_percentile(&latencies, 0.99, 3);
    latencies_free(&latencies);

    latencies = make(1);
    assert_percentile(&latencies, 0.5, 1);
    assert_percentile(&latencies, 0.999, 1);
    latencies_free(&latencies);

    latencies = make(0);
    assert_percentile(&latencies, 0.5, 0);
    latencies_free(&latencies);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_percentiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
