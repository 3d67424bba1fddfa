/* test_file.c: whole files are read, anything else is refused without waiting. */
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

#include "engine/base/file.h"

static char dir[] = "/tmp/bertd-file-XXXXXX";
static char path[64];

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/file", dir);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return rmdir(dir);
}

static void a_file_is_read_whole_up_to_the_limit(void **state) {
    (void)state;
    static const char text[] = "a\0b";
    char *data;
    size_t bytes;
    struct error err;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, 3, file), 3);
    fclose(file);
    assert_int_equal(file_read(path, 3, &data, &bytes, &err), STATUS_OK);
    assert_int_equal(bytes, 3);
    assert_memory_equal(data, text, 4);
    free(data);
    assert_int_equal(file_read(path, 2, &data, &bytes, &err), STATUS_BAD_FILE);
    assert_null(data);
    unlink(path);
    assert_int_equal(file_read(path, 3, &data, &bytes, &err), STATUS_IO);
    assert_non_null(strstr(err.message, path));
}

static void a_fifo_or_a_directory_is_refused_at_once(void **state) {
    (void)state;
    char *data;
    size_t bytes;
    struct error err;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(file_read(path, 100, &data, &bytes, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "not a regular file"));
    unlink(path);
    assert_int_equal(file_read(dir, 100, &data, &bytes, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "not a regular file"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole_up_to_the_limit),
        cmocka_unit_test(a_fifo_or_a_directory_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
