/* test_engine_fit.c: a model and a tokenizer that do not fit: token ids past the word table are
 * refused at open, token types past the type table with the input; no table is read past its end.
 */
#include "tests/unit/model/directory.h"

#include "tests/unit/engine/asking.h"

enum { W_TOKENS = 47 }; /* of the tokenizer fixture W; W_ent has one more */

/* A tiny classifier with W_TOKENS word rows and one token type, and the fixture's tokenizer. */
static struct directory model_make(const char *tokenizer) {
    struct directory dir = directory_make();
    struct tiny_model tiny = tiny_make();
    char source[PATH_MAX], target[PATH_MAX], config[sizeof tiny_config];
    tiny_find(&tiny, "bert.embeddings.word_embeddings.weight")->rows = W_TOKENS;
    tiny_find(&tiny, "bert.embeddings.token_type_embeddings.weight")->rows = 1;
    tiny_write(&tiny, &dir);
    memcpy(config, tiny_config, sizeof config);
    memcpy(strstr(config, "\"vocab_size\":10"), "\"vocab_size\":47", 15);
    memcpy(strstr(config, "\"type_vocab_size\":2"), "\"type_vocab_size\":1", 19);
    directory_write_text(&dir, "config.json", config);
    assert_non_null(realpath(tokenizer, source));
    assert_int_equal(path_join(dir.path, "tokenizer.json", target, NULL), STATUS_OK);
    assert_int_equal(symlink(source, target), 0);
    return dir;
}

static void token_types_that_the_model_lacks_are_refused_with_the_input(void **state) {
    (void)state;
    struct directory dir = model_make("tests/golden/cases/W/tokenizer.json");
    const struct engine_options options = {.model_dir = dir.path};
    struct engine *engine;
    struct error err;
    if (engine_open(&options, &engine, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    const struct engine_input inputs[] = {
        {.text = view_of("hello")},
        {.text = view_of("hello"), .text_pair = view_of("world")},
    };
    struct call *call = ask(engine, (struct call_spec){.inputs = inputs, .inputs_count = 1}, &err);
    assert_non_null(call);
    assert_int_equal(call_outcome(call, &err), STATUS_OK);
    call_release(call);
    call = ask(engine, (struct call_spec){.inputs = inputs, .inputs_count = 2}, &err);
    assert_non_null(call);
    assert_int_equal(call_outcome(call, &err), STATUS_INVALID_VALUE);
    assert_int_equal(err.input, 1);
    assert_message(&err, (const char *const[]){"type 1", "only 1", NULL});
    call_release(call);
    engine_close(engine);
    directory_remove(&dir);
}

static void a_token_id_past_the_word_table_is_refused_with_both_sizes(void **state) {
    (void)state;
    struct directory dir = model_make("tests/golden/cases/W_ent/tokenizer.json");
    const struct engine_options options = {.model_dir = dir.path};
    struct engine *engine;
    struct error err;
    assert_int_equal(engine_open(&options, &engine, &err), STATUS_BAD_FILE);
    assert_null(engine);
    assert_message(&err, (const char *const[]){"up to 47", "47 rows", NULL});
    directory_remove(&dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_types_that_the_model_lacks_are_refused_with_the_input),
        cmocka_unit_test(a_token_id_past_the_word_table_is_refused_with_both_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
