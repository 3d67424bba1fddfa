/* test_checkpoint.c: one file or shards give the same tensors; an index that lies is refused. */
#include "tests/unit/model/directory.h"

#include "engine/model/checkpoint.h"
#include "engine/model/shard_index.h"

static void shards_are_merged_and_sorted(void **state) {
    (void)state;
    struct directory dir = directory_make();
    struct tiny_model model = tiny_make();
    struct checkpoint *checkpoint;
    char index[8192];
    size_t used = (size_t)snprintf(index, sizeof index,
                                   "{\"metadata\":{\"total_size\":1e30},\"weight_map\":{");
    for (uint32_t i = 0; i < model.count; i++)
        used += (size_t)snprintf(index + used, sizeof index - used, "%s\"%s\":\"%s\"",
                                 i == 0 ? "" : ",", model.tensors[i].name, i < 10 ? "b" : "a");
    snprintf(index + used, sizeof index - used, "}}");
    directory_write_text(&dir, "model.safetensors.index.json", index);
    tiny_write_part(&model, 0, 10, &dir, "b");
    tiny_write_part(&model, 10, model.count, &dir, "a");
    assert_int_equal(checkpoint_open(dir.path, &checkpoint, NULL), STATUS_OK);
    uint32_t count;
    const struct tensor *tensors = checkpoint_tensors(checkpoint, &count);
    assert_int_equal(count, model.count);
    for (uint32_t i = 1; i < count; i++)
        assert_true(strcmp(tensors[i - 1].name, tensors[i].name) < 0);
    for (uint32_t i = 0; i < model.count; i++)
        assert_string_equal(checkpoint_find(checkpoint, model.tensors[i].name)->name,
                            model.tensors[i].name);
    assert_null(checkpoint_find(checkpoint, "none"));
    checkpoint_close(checkpoint);
    directory_remove(&dir);
}

static void an_index_that_lies_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *index;
        enum status status;
        const char *words[4];
    } faults[] = {
        {"{\"weight_map\":{\"x\":\"a\",\"y\":\"b\"}}", STATUS_IO, {"/b: No such file"}},
        {"{\"weight_map\":{\"x\":\"a\",\"z\":\"a\"}}", STATUS_BAD_FILE, {"\"z\"", "\"a\""}},
        {"{\"weight_map\":{\"x\":\"c\",\"y\":\"a\"}}", STATUS_BAD_FILE, {"\"x\"", "\"c\""}},
        {"{\"weight_map\":{\"x\":\"a\",\"y\":\"d\"}}", STATUS_BAD_FILE, {"\"x\"", "two files"}},
        {"{\"weight_map\":{\"x\":\"../a\"}}", STATUS_BAD_FILE, {"\"x\"", "\"../a\"", "weight_map"}},
        {"{\"weight_map\":{\"x\":\"/etc/passwd\"}}", STATUS_BAD_FILE, {"\"/etc/passwd\""}},
        {"{\"weight_map\":{\"x\":\"\"}}", STATUS_BAD_FILE, {"\"x\"", "\"\""}},
        {"{\"weight_map\":{\"x\":\"..\"}}", STATUS_BAD_FILE, {"\"x\"", "\"..\""}},
        {"{\"weight_map\":{\"x\":3}}", STATUS_BAD_FILE, {"\"x\"", "3"}},
        {"{\"weight_map\":{}}", STATUS_BAD_FILE, {"weight_map"}},
        {"{\"weight_map\":[]}", STATUS_BAD_FILE, {"weight_map"}},
        {"{}", STATUS_BAD_FILE, {"weight_map is missing"}},
        {"{\"weight_map\":{\"x\":\"a\",\"x\":\"a\"}}", STATUS_BAD_FILE, {"duplicate"}},
        {"{", STATUS_BAD_FILE, {"not valid JSON"}},
    };
    struct directory dir = directory_make();
    const char *x = "\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}";
    const char *y = "\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}";
    char header[512];
    snprintf(header, sizeof header, "{%s,%s}", x, y);
    directory_write_safetensors(&dir, "a", header, "12", 2);
    directory_write_safetensors(&dir, "d", header, "12", 2);
    directory_write_safetensors(
        &dir, "c", "{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "1", 1);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct checkpoint *checkpoint;
        struct error err;
        directory_write_text(&dir, "model.safetensors.index.json", faults[i].index);
        enum status status = checkpoint_open(dir.path, &checkpoint, &err);
        if (status != faults[i].status)
            fail_msg("%s: %s", faults[i].index, status_name(status));
        assert_null(checkpoint);
        assert_message(&err, faults[i].words);
        assert_message(&err, (const char *const[]){dir.path, NULL});
    }
    directory_remove(&dir);
}

static void a_directory_without_safetensors_says_what_is_there(void **state) {
    (void)state;
    struct directory dir = directory_make();
    struct checkpoint *checkpoint;
    struct error err;
    assert_int_equal(checkpoint_open(dir.path, &checkpoint, &err), STATUS_IO);
    assert_message(&err, (const char *const[]){dir.path, "model.safetensors", NULL});
    directory_write_text(&dir, "pytorch_model.bin", "x");
    assert_int_equal(checkpoint_open(dir.path, &checkpoint, &err), STATUS_UNSUPPORTED);
    assert_message(&err, (const char *const[]){dir.path, "pytorch_model.bin", NULL});
    directory_remove(&dir);
}

static void a_single_file_goes_before_an_index(void **state) {
    (void)state;
    struct directory dir = directory_make();
    struct tiny_model model = tiny_make();
    struct checkpoint *checkpoint;
    uint32_t count;
    tiny_write(&model, &dir);
    directory_write_text(&dir, "model.safetensors.index.json", "{");
    assert_int_equal(checkpoint_open(dir.path, &checkpoint, NULL), STATUS_OK);
    checkpoint_tensors(checkpoint, &count);
    assert_int_equal(count, TINY_TENSORS);
    checkpoint_close(checkpoint);
    directory_remove(&dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_merged_and_sorted),
        cmocka_unit_test(an_index_that_lies_is_refused),
        cmocka_unit_test(a_directory_without_safetensors_says_what_is_there),
        cmocka_unit_test(a_single_file_goes_before_an_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
