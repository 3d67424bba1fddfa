/* test_model_name.c: names by directory, and by the Hugging Face cache's layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/model/model_name.h"

static void the_path_says_name_and_revision(void **state) {
    (void)state;
    static const struct {
        const char *dir, *name, *revision;
    } cases[] = {
        {"demo", "demo", ""},
        {"models/demo", "demo", ""},
        {"/srv/models/demo///", "demo", ""},
        {"hub/models--org--some-name/snapshots/0123abcd", "org/some-name", "0123abcd"},
        {"/hub/models--bert-base-uncased/snapshots/main/", "bert-base-uncased", "main"},
        {"hub/models--/snapshots/x", "x", ""},
        {"hub/models--org--name/blobs/x", "x", ""},
        {"snapshots/x", "x", ""},
        {"models/goemotions-minilm/.", "goemotions-minilm", ""},
        {"models/goemotions-minilm/../", "models", ""},
    };
    struct arena arena;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *name, *revision;
        assert_int_equal(model_name_find(cases[i].dir, &arena, &name, &revision, NULL), STATUS_OK);
        assert_string_equal(name, cases[i].name);
        assert_string_equal(revision, cases[i].revision);
    }
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_path_says_name_and_revision)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
