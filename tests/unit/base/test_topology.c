/* test_topology.c: cores, caches and nodes from trees such as the kernel's, whole and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/topology.h"

static char root[64];

static int root_make(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/test_topology_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int root_remove(void **state) {
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

/* Writes a file below the root, with the folders above it. */
static void file_write(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0755);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void cpu_write(unsigned cpu, const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "cpu%u/%s", cpu, name);
    file_write(path, text);
}

static void cache_write(unsigned cpu, unsigned index, const char *level, const char *type,
                        const char *size, const char *shared) {
    const char *names[] = {"level", "type", "size", "shared_cpu_list"};
    const char *texts[] = {level, type, size, shared};
    char name[64];
    for (unsigned i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "cache/index%u/%s", index, names[i]);
        cpu_write(cpu, name, texts[i]);
    }
}

static struct topology find(uint32_t cpus_count, double quota) {
    struct cpus cpus = {.affinity_count = cpus_count, .quota = quota};
    struct topology topology;
    for (uint32_t i = 0; i < cpus_count; i++)
        cpus.affinity[i] = (uint16_t)i;
    topology_find(&(struct topology_paths){root, root}, &cpus, &topology);
    return topology;
}

static void without_files_each_cpu_is_a_core_of_one_node(void **state) {
    (void)state;
    struct topology t = find(3, 0);
    assert_int_equal(t.cores, 3);
    assert_int_equal(t.cores_count, 3);
    assert_int_equal(t.nodes_count, 1);
    assert_int_equal(t.l3_count, 1);
    assert_int_equal(t.l2_bytes, 0);
    assert_int_equal(t.l3_bytes, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(t.cpus[i].core, i);
        assert_int_equal(t.cpus[i].sibling, 0);
        assert_int_equal(t.cpus[i].speed, TOPOLOGY_SPEED_MAX);
    }
    assert_string_equal(t.reason, "3 cores: the affinity mask has 3, the cgroup sets no quota");
}

/* Eight CPUs, four cores, two nodes with an L3 each; siblings are c and c + 4. */
static void two_nodes_write(void) {
    static const char *const siblings[] = {"0,4\n", "1,5\n", "2,6\n", "3,7\n"};
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        const char *own = siblings[cpu % 4], *near = cpu % 4 < 2 ? "0-1,4-5\n" : "2-3,6-7\n";
        cpu_write(cpu, "topology/core_cpus_list", own);
        cache_write(cpu, 0, "1\n", "Data\n", "32K\n", own);
        cache_write(cpu, 1, "1\n", "Instruction\n", "32K\n", own);
        cache_write(cpu, 2, "2\n", "Unified\n", "2048K\n", own);
        cache_write(cpu, 3, "3\n", "Unified\n", "32M\n", near);
    }
    file_write("node0/cpulist", "0-1,4-5\n");
    file_write("node1/cpulist", "2-3,6-7\n");
}

static void siblings_caches_and_nodes_are_told_apart(void **state) {
    (void)state;
    two_nodes_write();
    struct topology t = find(8, 0);
    assert_int_equal(t.cpus_count, 8);
    assert_int_equal(t.cores_count, 4);
    assert_int_equal(t.cores, 4);
    assert_int_equal(t.nodes_count, 2);
    assert_int_equal(t.l3_count, 2);
    assert_int_equal(t.l2_bytes, 2 << 20);
    assert_int_equal(t.l3_bytes, 32 << 20);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(t.cpus[i].cpu, i);
        assert_int_equal(t.cpus[i].core, i % 4);
        assert_int_equal(t.cpus[i].sibling, i / 4);
        assert_int_equal(t.cpus[i].node, i % 4 / 2);
        assert_int_equal(t.cpus[i].l3, i % 4 / 2);
    }
    assert_string_equal(t.reason, "4 cores: the affinity mask has 4 (8 CPUs, whose SMT siblings "
                                  "stay free), the cgroup sets no quota");
}

static void the_mask_and_the_quota_cut_the_machine(void **state) {
    (void)state;
    two_nodes_write();
    struct topology t = find(2, 0);
    assert_int_equal(t.cores, 2);
    assert_int_equal(t.nodes_count, 1);
    assert_int_equal(t.l3_count, 1);
    t = find(8, 2.5);
    assert_int_equal(t.cores, 2);
    assert_int_equal(t.cores_count, 4);
    assert_string_equal(t.reason, "2 cores: the affinity mask has 4 (8 CPUs, whose SMT siblings "
                                  "stay free), the cgroup quota grants 2.50");
    assert_int_equal(find(8, 0.2).cores, 1);
    /* Six CPUs on four cores cannot keep more than four threads busy. */
    assert_int_equal(find(6, 5).cores, 4);

    struct cpus high = {.affinity_count = 2, .affinity = {3, 6}};
    topology_find(&(struct topology_paths){root, root}, &high, &t);
    assert_int_equal(t.cores_count, 2);
    assert_int_equal(t.cpus[0].node, 1);
    assert_int_equal(t.nodes_count, 1);
    assert_int_equal(t.cpus[1].sibling, 0);
}

static void hybrid_cores_have_speeds_and_their_share_of_a_cache(void **state) {
    (void)state;
    /* One large core of two CPUs, four small ones that share an L2. */
    for (unsigned cpu = 0; cpu < 6; cpu++) {
        const char *own[] = {"0-1", "0-1", "2", "3", "4", "5"};
        cpu_write(cpu, "topology/thread_siblings_list", own[cpu]);
        cpu_write(cpu, "cpu_capacity", cpu < 2 ? "1024\n" : "512\n");
        cache_write(cpu, 0, "2\n", "Unified\n", cpu < 2 ? "1280K\n" : "2048K\n",
                    cpu < 2 ? "0-1\n" : "2-5\n");
        cache_write(cpu, 1, "3\n", "Unified\n", "12288K\n", "0-5\n");
    }
    struct topology t = find(6, 0);
    assert_int_equal(t.cores_count, 5);
    assert_int_equal(t.l2_bytes, 512 << 10);
    assert_int_equal(t.l3_bytes, 12 << 20);
    assert_int_equal(t.l3_count, 1);
    assert_int_equal(t.cpus[1].speed, 1024);
    assert_int_equal(t.cpus[1].sibling, 1);
    assert_int_equal(t.cpus[2].speed, 512);
}

static void damaged_files_count_as_absent(void **state) {
    (void)state;
    const char *bad[] = {"",  "nonsense", "-", "3-1", "0-", "99999999999999999999-5",
                         ",", "1-99999"};
    two_nodes_write();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (unsigned cpu = 0; cpu < 8; cpu++) {
            cpu_write(cpu, "topology/core_cpus_list", bad[i]);
            cpu_write(cpu, "cache/index2/size", i % 2 ? "-1K" : "99999999999999999999999G");
            cpu_write(cpu, "cache/index3/level", bad[i]);
            cpu_write(cpu, "cpu_capacity", "0");
        }
        file_write("node1/cpulist", bad[i]);
        struct topology t = find(8, 0);
        assert_true(t.cores >= 1 && t.cores <= 8 && t.cores == t.cores_count);
        assert_true(t.l3_count >= 1 && t.nodes_count >= 1);
        assert_int_equal(t.l2_bytes, 0);
        for (uint32_t c = 0; c < 8; c++) {
            assert_true(t.cpus[c].core < t.cores_count);
            assert_true(t.cpus[c].l3 < t.l3_count);
            assert_int_equal(t.cpus[c].speed, TOPOLOGY_SPEED_MAX);
        }
    }
}

static void this_machine_has_what_the_mask_says(void **state) {
    (void)state;
    struct cpus cpus;
    struct topology t;
    cpus_find(NULL, &cpus);
    topology_find(NULL, &cpus, &t);
    assert_int_equal(t.cpus_count, cpus.affinity_count);
    assert_true(t.cores >= 1 && t.cores <= cpus.cores);
    assert_true(t.nodes_count >= 1 && t.nodes_count <= t.cores_count);
    assert_false(t.imagined);
}

static void a_machine_is_made_by_its_numbers(void **state) {
    (void)state;
    struct topology here = {.cores = 2, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20}, t;
    struct topology_wish wish = {.cores = 64, .smt = 2, .nodes = 2, .l2_bytes = 2 << 20};
    assert_int_equal(topology_make(&wish, &here, &t, NULL), STATUS_OK);
    assert_true(t.imagined);
    assert_int_equal(t.cores, 64);
    assert_int_equal(t.cpus_count, 128);
    assert_int_equal(t.nodes_count, 2);
    assert_int_equal(t.l2_bytes, 2 << 20);
    assert_int_equal(t.l3_bytes, 32 << 20);
    assert_int_equal(t.cpus[31].node, 0);
    assert_int_equal(t.cpus[32].node, 1);
    assert_int_equal(t.cpus[64].core, 0);
    assert_int_equal(t.cpus[64].sibling, 1);
    assert_string_equal(t.reason, "64 cores with 2 CPUs each on 2 NUMA nodes, as asked");
    wish = (struct topology_wish){.l3_bytes = 8 << 20};
    assert_int_equal(topology_make(&wish, &here, &t, NULL), STATUS_OK);
    assert_int_equal(t.cores, 2);
    assert_int_equal(t.cpus_count, 2);
    assert_int_equal(t.l2_bytes, 1 << 20);
}

static void impossible_machines_are_refused_by_option(void **state) {
    (void)state;
    struct topology here = {.cores = 2}, t;
    struct error err;
    struct topology_wish wish = {.cores = 1000, .smt = 2};
    assert_int_equal(topology_make(&wish, &here, &t, &err), STATUS_INVALID_VALUE);
    assert_non_null(strstr(err.message, "--cores 1000"));
    wish = (struct topology_wish){.nodes = 3};
    assert_int_equal(topology_make(&wish, &here, &t, &err), STATUS_INVALID_VALUE);
    assert_non_null(strstr(err.message, "--nodes 3"));
}

#define ON_A_TREE(test) cmocka_unit_test_setup_teardown(test, root_make, root_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_TREE(without_files_each_cpu_is_a_core_of_one_node),
        ON_A_TREE(siblings_caches_and_nodes_are_told_apart),
        ON_A_TREE(the_mask_and_the_quota_cut_the_machine),
        ON_A_TREE(hybrid_cores_have_speeds_and_their_share_of_a_cache),
        ON_A_TREE(damaged_files_count_as_absent),
        cmocka_unit_test(this_machine_has_what_the_mask_says),
        cmocka_unit_test(a_machine_is_made_by_its_numbers),
        cmocka_unit_test(impossible_machines_are_refused_by_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
