/* test_model_source.c: directories, names in front of them, and the Hub's cache layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/model_source.h"

static char root[] = "/tmp/bertd-model-source-XXXXXX";

static void make_directory(const char *path) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    mkdir(whole, 0700);
}

static void write_file(const char *path, const char *text) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(root) || chdir(root) != 0)
        return -1;
    make_directory("plain");
    make_directory("a=b");
    make_directory("cache/models--org--name/snapshots/0123abcd");
    make_directory("cache/models--org--name/refs");
    make_directory("cache/models--solo/snapshots/ff00");
    make_directory("cache/models--solo/refs");
    make_directory("cache/models--org--broken/refs");
    write_file("cache/models--org--name/refs/main", "0123abcd");
    write_file("cache/models--solo/refs/main", "ff00\n");
    write_file("cache/models--org--broken/refs/main", "../../../plain");
    write_file("file", "");
    unsetenv("HF_HOME");
    unsetenv("HUGGINGFACE_HUB_CACHE");
    setenv("HF_HUB_CACHE", "cache", 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return chdir("/") != 0 || system(command) != 0;
}

static void expect_found(const char *given, const char *dir, const char *name) {
    struct model_source source;
    struct error err;
    if (model_source_find(given, &source, &err) != STATUS_OK)
        fail_msg("%s: %s", given, err.message);
    assert_string_equal(source.dir, dir);
    assert_string_equal(source.name, name);
}

static void expect_error(const char *given, const char *part) {
    struct model_source source;
    struct error err;
    assert_int_not_equal(model_source_find(given, &source, &err), STATUS_OK);
    if (!strstr(err.message, part))
        fail_msg("%s: \"%s\" does not say \"%s\"", given, err.message, part);
}

static void a_directory_is_taken_as_it_is(void **state) {
    (void)state;
    expect_found("plain", "plain", "");
    expect_found("./plain", "./plain", "");
    expect_found("./a=b", "./a=b", "");
}

static void a_name_may_stand_in_front(void **state) {
    (void)state;
    expect_found("my.model-1=plain", "plain", "my.model-1");
    expect_found("mine=org/name", "cache/models--org--name/snapshots/0123abcd", "mine");
    expect_found("x=a=b", "a=b", "x");
    expect_error("=plain", "must have 1 to 127 bytes");
    expect_error("my model=plain", "may have letters");
}

static void a_hub_id_is_found_in_the_cache(void **state) {
    (void)state;
    expect_found("org/name", "cache/models--org--name/snapshots/0123abcd", "org/name");
    expect_found("solo", "cache/models--solo/snapshots/ff00", "solo");
    setenv("HF_HUB_CACHE", "", 1);
    setenv("HF_HOME", "nowhere", 1);
    expect_error("org/name", "nowhere/hub");
    unsetenv("HF_HOME");
    setenv("HF_HUB_CACHE", "cache", 1);
}

static void what_is_not_there_is_named(void **state) {
    (void)state;
    expect_error("org/absent", "'org/absent' is no directory, and not in the cache cache");
    expect_error("./absent", "'./absent': no such directory");
    expect_error("/no/such/place", "'/no/such/place': no such directory");
    expect_error("../x/y", "no such directory");
    expect_error("./file", "'./file' is no directory");
    expect_error("org/broken", "refs/main: is not a commit");
    expect_error(NULL, "the demo model is neither");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_taken_as_it_is),
        cmocka_unit_test(a_name_may_stand_in_front),
        cmocka_unit_test(a_hub_id_is_found_in_the_cache),
        cmocka_unit_test(what_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
