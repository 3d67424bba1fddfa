/* test_cpus.c: cores from the affinity mask and from cgroup files of both versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/cpus.h"
#include "engine/base/thread.h"

static char root[] = "/tmp/test_cpus_XXXXXX";

static int root_make(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int root_remove(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void dir_make(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    mkdir(path, 0755);
}

static void file_write(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct cpus find(void) {
    char self[256];
    struct cpus cpus;
    snprintf(self, sizeof self, "%s/self", root);
    cpus_find(&(struct cpus_paths){self, root}, &cpus);
    return cpus;
}

static void version_2_quota_rounds_down_and_max_means_the_affinity(void **state) {
    (void)state;
    dir_make("pod");
    dir_make("pod/box");
    file_write("self", "0::/pod/box\n");
    file_write("pod/box/cpu.max", "150000 100000\n");
    struct cpus cpus = find();
    assert_int_equal(cpus.cores, 1);
    assert_true(cpus.quota == 1.5);
    assert_non_null(strstr(cpus.reason, "1 core: "));
    assert_non_null(strstr(cpus.reason, "1.50"));
    file_write("pod/box/cpu.max", "max 100000\n");
    cpus = find();
    assert_int_equal(cpus.cores, cpus.affinity_count);
    assert_non_null(strstr(cpus.reason, "no quota"));
    file_write("pod/box/cpu.max", "20000 100000\n");
    assert_int_equal(find().cores, 1);
    file_write("pod/box/cpu.max", "100000000 100000\n");
    cpus = find();
    assert_int_equal(cpus.cores, cpus.affinity_count);
}

static void the_least_quota_on_the_way_up_counts(void **state) {
    (void)state;
    file_write("self", "0::/pod/box\n");
    file_write("pod/box/cpu.max", "400000 100000\n");
    file_write("pod/cpu.max", "100000 100000\n");
    assert_int_equal(find().cores, 1);
    assert_true(find().quota == 1.0);
    file_write("pod/cpu.max", "max 100000\n");
    /* Inside a container the path may be the host's; then the root is the own group. */
    file_write("self", "0::/somewhere/else\n");
    file_write("cpu.max", "50000 100000\n");
    assert_true(find().quota == 0.5);
    file_write("self", "0::/\n");
    assert_true(find().quota == 0.5);
}

static void version_1_quota_counts_too(void **state) {
    (void)state;
    dir_make("cpu,cpuacct");
    dir_make("cpu,cpuacct/box");
    file_write("self", "4:memory:/box\n3:cpu,cpuacct:/box\n2:cpuset:/box\n");
    file_write("cpu,cpuacct/box/cpu.cfs_quota_us", "125000\n");
    file_write("cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    assert_true(find().quota == 1.25);
    assert_int_equal(find().cores, 1);
    file_write("cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
    assert_true(find().quota == 0);
}

static void damaged_files_mean_no_quota(void **state) {
    (void)state;
    const char *texts[] = {"",          "max",      "nonsense",
                           "-5 100000", "100000 0", "99999999999999999999 1"};
    file_write("self", "0::/pod/box\n:\nnonsense\n");
    file_write("pod/cpu.max", "max 100000\n");
    file_write("cpu.max", "max 100000\n");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        file_write("pod/box/cpu.max", texts[i]);
        struct cpus cpus = find();
        assert_true(cpus.quota == 0);
        assert_int_equal(cpus.cores, cpus.affinity_count);
    }
}

static void a_cpu_list_is_written_in_ranges(void **state) {
    (void)state;
    char text[32];
    struct cpus cpus = {.affinity_count = 7, .affinity = {0, 1, 2, 3, 8, 10, 11}};
    cpus_to_text(&cpus, text, sizeof text);
    assert_string_equal(text, "0-3,8,10-11");
    cpus_to_text(&cpus, text, 6);
    assert_string_equal(text, "0-3,8");
    cpus.affinity_count = 1;
    cpus_to_text(&cpus, text, sizeof text);
    assert_string_equal(text, "0");
}

static void pinning_narrows_the_affinity(void **state) {
    (void)state;
    struct cpus before, after;
    cpus_find(NULL, &before);
    assert_true(before.cores >= 1 && before.cores <= before.affinity_count);
    uint16_t last = before.affinity[before.affinity_count - 1], none = UINT16_MAX;
    assert_int_equal(thread_pin(&none, 1), STATUS_INVALID_VALUE);
    assert_int_equal(thread_pin(&last, 1), STATUS_OK);
    cpus_find(NULL, &after);
    assert_int_equal(after.affinity_count, 1);
    assert_int_equal(after.affinity[0], last);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_quota_rounds_down_and_max_means_the_affinity),
        cmocka_unit_test(the_least_quota_on_the_way_up_counts),
        cmocka_unit_test(version_1_quota_counts_too),
        cmocka_unit_test(damaged_files_mean_no_quota),
        cmocka_unit_test(a_cpu_list_is_written_in_ranges),
        cmocka_unit_test(pinning_narrows_the_affinity),
    };
    return cmocka_run_group_tests(tests, root_make, root_remove);
}
