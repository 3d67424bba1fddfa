/* test_memory_node.c: which pages are bound to which node. This file stands in for libnuma. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/memory_node.h"
#include "tests/unit/base/fake_numa.h"

static char *const page_0 = (char *)0x10000000;

static void without_several_nodes_nothing_is_bound(void **state) {
    (void)state;
    fake_numa_set(1);
    assert_int_equal(memory_node_usable(0), MEMORY_NODE_ANY);
    memory_node_bind(page_0, 1 << 20, 0);
    fake_numa_set(0); /* the kernel does not let us ask */
    assert_int_equal(memory_node_usable(0), MEMORY_NODE_ANY);
    memory_node_bind(page_0, 1 << 20, 0);
    assert_int_equal(fake_bindings_count, 0);
}

static void only_nodes_that_are_there_are_usable(void **state) {
    (void)state;
    fake_numa_set(2);
    assert_int_equal(memory_node_usable(0), 0);
    assert_int_equal(memory_node_usable(1), 1);
    assert_int_equal(memory_node_usable(2), MEMORY_NODE_ANY);
    assert_int_equal(memory_node_usable(MEMORY_NODE_ANY), MEMORY_NODE_ANY);
    assert_int_equal(memory_node_usable(100000), MEMORY_NODE_ANY);
    memory_node_bind(page_0, 1 << 20, MEMORY_NODE_ANY);
    memory_node_bind(page_0, 1 << 20, 2);
    assert_int_equal(fake_bindings_count, 0);
}

static void whole_pages_of_the_range_are_bound(void **state) {
    (void)state;
    fake_numa_set(64);
    memory_node_bind(page_0, 3 * 4096, 1);
    memory_node_bind(page_0 + 1, 3 * 4096, 63);
    memory_node_bind(page_0 + 4095, 4097, 0);
    memory_node_bind(page_0 + 1, 4096, 0); /* no whole page */
    memory_node_bind(page_0 + 1, 100, 0);
    memory_node_bind(page_0, 0, 0);
    assert_int_equal(fake_bindings_count, 3);
    assert_ptr_equal(fake_bindings[0].start, page_0);
    assert_int_equal(fake_bindings[0].bytes, 3 * 4096);
    assert_int_equal(fake_bindings[0].node, 1);
    assert_ptr_equal(fake_bindings[1].start, page_0 + 4096);
    assert_int_equal(fake_bindings[1].bytes, 2 * 4096);
    assert_int_equal(fake_bindings[1].node, 63);
    assert_ptr_equal(fake_bindings[2].start, page_0 + 4096);
    assert_int_equal(fake_bindings[2].bytes, 4096);
    assert_int_equal(fake_bindings[2].node, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_several_nodes_nothing_is_bound),
        cmocka_unit_test(only_nodes_that_are_there_are_usable),
        cmocka_unit_test(whole_pages_of_the_range_are_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
