/* test_safetensors.c: whole files open; every kind of damage is refused with its tensor, its field
 * and its value. */
#include "tests/unit/model/directory.h"

#include "engine/base/clock.h"
#include "engine/model/safetensors.h"

enum { DATA_BYTES = 64 };

/* Parses length, header text and DATA_BYTES of data, of which `data_bytes` are there. */
static enum status parse(const char *header, size_t data_bytes, struct safetensors *out,
                         struct error *err) {
    static unsigned char file[8192];
    uint64_t length = strlen(header);
    assert_in_range(8 + length + data_bytes, 8, sizeof file);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, length);
    for (size_t i = 0; i < data_bytes; i++)
        file[8 + length + i] = (unsigned char)i;
    /* An exact copy, so that a sanitizer sees any read past the end. */
    unsigned char *exact = malloc(8 + length + data_bytes);
    assert_non_null(exact);
    memcpy(exact, file, 8 + length + data_bytes);
    enum status status =
        safetensors_parse(exact, 8 + length + data_bytes, "x.safetensors", out, err);
    if (status != STATUS_OK) {
        free(exact);
        return status;
    }
    out->map = NULL;
    for (uint32_t i = 0; i < out->count; i++) { /* views must be readable: touch both ends */
        if (out->tensors[i].bytes > 0)
            assert_int_equal(out->tensors[i].data[0],
                             (out->tensors[i].data - exact) - 8 - (ptrdiff_t)length);
        if (out->tensors[i].bytes > 0)
            assert_int_equal(out->tensors[i].data[out->tensors[i].bytes - 1],
                             (out->tensors[i].data - exact) - 8 - (ptrdiff_t)length +
                                 (ptrdiff_t)out->tensors[i].bytes - 1);
    }
    free(exact);
    return status;
}

static void tensors_are_found_at_odd_places_in_any_order(void **state) {
    (void)state;
    struct safetensors file;
    struct error err;
    /* The F32 matrix begins at byte 6 of the data, and the header's length is odd. */
    const char *header = "{\"__metadata__\":{\"format\":\"pt\"},"
                         "\"m\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[6,30]},"
                         "\"h\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,6]},"
                         "\"none\":{\"dtype\":\"I64\",\"shape\":[0,7],\"data_offsets\":[30,30]},"
                         "\"one\":{\"shape\":[],\"data_offsets\":[30,32],\"dtype\":\"BF16\"}} ";
    assert_int_equal(strlen(header) % 2, 1);
    assert_int_equal(parse(header, 32, &file, &err), STATUS_OK);
    assert_int_equal(file.count, 4);
    assert_string_equal(file.tensors[0].name, "h");
    assert_int_equal(file.tensors[0].type, TENSOR_F16);
    assert_string_equal(file.tensors[1].name, "m");
    assert_int_equal(file.tensors[1].rank, 2);
    assert_int_equal(file.tensors[1].shape[1], 3);
    assert_string_equal(file.tensors[2].name, "none");
    assert_int_equal(file.tensors[2].bytes, 0);
    assert_string_equal(file.tensors[3].name, "one");
    assert_int_equal(file.tensors[3].rank, 0);
    safetensors_close(&file);
}

static void a_file_without_tensors_is_whole(void **state) {
    (void)state;
    struct safetensors file;
    assert_int_equal(parse("{}", 0, &file, NULL), STATUS_OK);
    assert_int_equal(file.count, 0);
    safetensors_close(&file);
}

#define ENTRY(name, dtype, shape, begin, end)                                                      \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end   \
    "]}"

static void damage_is_refused_with_tensor_field_and_value(void **state) {
    (void)state;
    static const struct {
        const char *header;
        const char *words[5];
    } faults[] = {
        /* the JSON */
        {"{\"a\":", {"x.safetensors", "not valid JSON", "line 1"}},
        {"[]", {"not an object"}},
        {"", {"not valid JSON"}},
        {"{} x", {"not valid JSON"}},
        {"{\"a\":3}", {"\"a\"", "is 3", "not an object"}},
        {"{" ENTRY("a", "F32", "[4]", "0", "16") "," ENTRY("a", "F32", "[12]", "16", "64") "}",
         {"not valid JSON", "duplicate"}},
        {"{" ENTRY("a", "F32", "[16]", "0", "64") "," ENTRY("a", "F32", "[16]", "0", "64") "}",
         {"not valid JSON", "duplicate"}},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[16],\"data_offsets\":[0,64]}}",
         {"not valid JSON", "duplicate"}},
        /* fields */
        {"{\"a\":{\"shape\":[16],\"data_offsets\":[0,64]}}", {"\"a\"", "dtype is missing"}},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,64]}}", {"\"a\"", "shape is missing"}},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[16]}}", {"\"a\"", "data_offsets is missing"}},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[16],\"data_offsets\":[0,64],\"x\":1}}",
         {"\"a\"", "x is 1"}},
        /* types */
        {"{" ENTRY("a", "F33", "[16]", "0", "64") "}", {"\"a\"", "dtype", "\"F33\""}},
        {"{\"a\":{\"dtype\":7,\"shape\":[16],\"data_offsets\":[0,64]}}", {"\"a\"", "dtype is 7"}},
        /* shapes */
        {"{" ENTRY("a", "F32", "16", "0", "64") "}", {"\"a\"", "shape is 16", "not an array"}},
        {"{" ENTRY("a", "F32", "[-16]", "0", "64") "}", {"\"a\"", "[-16]"}},
        {"{" ENTRY("a", "F32", "[16.0]", "0", "64") "}", {"\"a\"", "[16.0]"}},
        {"{" ENTRY("a", "F32", "[1,1,1,1,1,1,1,1,16]", "0", "64") "}", {"\"a\"", "dimensions"}},
        {"{" ENTRY("a", "F32", "[4294967296,4294967296]", "0", "64") "}",
         {"\"a\"", "[4294967296, 4294967296]", "no size"}},
        {"{" ENTRY("a", "F32", "[9223372036854775807]", "0", "64") "}", {"\"a\"", "no size"}},
        {"{" ENTRY("a", "F4", "[127]", "0", "64") "}", {"\"a\"", "[127] of F4", "no size"}},
        {"{" ENTRY("a", "F32", "[99999999999999999999]", "0", "64") "}", {"not valid JSON"}},
        {"{" ENTRY("a", "F32", "[15]", "0", "64") "}", {"\"a\"", "64 bytes", "[15] of F32", "60"}},
        {"{" ENTRY("a", "F16", "[16]", "0", "64") "}", {"\"a\"", "64 bytes", "[16] of F16", "32"}},
        /* offsets */
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[16],\"data_offsets\":[0]}}",
         {"\"a\"", "data_offsets is [0]"}},
        {"{" ENTRY("a", "F32", "[16]", "-64", "0") "}", {"\"a\"", "data_offsets is [-64,0]"}},
        {"{" ENTRY("a", "F32", "[16]", "64", "0") "}", {"\"a\"", "64 to 0"}},
        {"{" ENTRY("a", "F32", "[16]", "1", "65") "}", {"\"a\"", "1 to 65", "64 bytes of data"}},
        {"{" ENTRY("a", "F32", "[16]", "9223372036854775743", "9223372036854775807") "}",
         {"\"a\"", "9223372036854775807"}},
        /* coverage */
        {"{" ENTRY("a", "F32", "[16]", "0", "64") "," ENTRY("b", "F32", "[16]", "0", "64") "}",
         {"\"", "inside the tensor before it"}},
        {"{" ENTRY("a", "F32", "[9]", "0", "36") "," ENTRY("b", "F32", "[8]", "32", "64") "}",
         {"\"b\"", "begins at byte 32", "ends at 36"}},
        {"{" ENTRY("a", "F32", "[4]", "0", "16") "," ENTRY("b", "F32", "[8]", "32", "64") "}",
         {"\"b\"", "begins at byte 32", "hole", "16"}},
        {"{" ENTRY("a", "F32", "[15]", "4", "64") "}", {"\"a\"", "begins at byte 4", "hole"}},
        {"{" ENTRY("a", "F32", "[15]", "0", "60") "}", {"end at byte 60", "the file has 64"}},
        {"{}", {"end at byte 0", "the file has 64"}},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct safetensors file;
        struct error err = {0};
        enum status status = parse(faults[i].header, DATA_BYTES, &file, &err);
        if (status != STATUS_BAD_FILE)
            fail_msg("%s: %s", faults[i].header, status_name(status));
        assert_message(&err, faults[i].words);
        assert_message(&err, (const char *const[]){"x.safetensors", NULL});
        assert_null(file.tensors);
    }
}

static void a_wrong_header_length_is_refused_at_once(void **state) {
    (void)state;
    static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 7, 1ULL << 63,
                                       57,         56 - 7,         LIMIT_SAFETENSORS_HEADER + 1ULL};
    unsigned char bytes[64] = {0};
    struct safetensors file;
    struct error err;
    uint64_t begin = clock_now_ns();
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        memcpy(bytes, &lengths[i], 8);
        assert_int_equal(safetensors_parse(bytes, sizeof bytes, "x", &file, &err), STATUS_BAD_FILE);
    }
    for (size_t n = 0; n < 8; n++) {
        assert_int_equal(safetensors_parse(bytes, n, "x", &file, &err), STATUS_BAD_FILE);
        assert_non_null(strstr(err.message, "too short"));
    }
    assert_true(clock_now_ns() - begin < NS_PER_S);
}

static void only_regular_files_are_opened(void **state) {
    (void)state;
    struct directory dir = directory_make();
    char path[PATH_MAX];
    struct safetensors file;
    struct error err;
    assert_int_equal(safetensors_open(dir.path, &file, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "not a regular file"));
    path_join(dir.path, "pipe", path, NULL);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(safetensors_open(path, &file, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "not a regular file"));
    path_join(dir.path, "absent", path, NULL);
    assert_int_equal(safetensors_open(path, &file, &err), STATUS_IO);
    assert_non_null(strstr(err.message, path));
    directory_write(&dir, "empty", "", 0);
    path_join(dir.path, "empty", path, NULL);
    assert_int_equal(safetensors_open(path, &file, &err), STATUS_BAD_FILE);
    assert_non_null(strstr(err.message, "0 bytes"));
    directory_remove(&dir);
}

static void a_mapped_file_is_read_through_a_link(void **state) {
    (void)state;
    struct directory dir = directory_make();
    char path[PATH_MAX];
    struct safetensors file;
    directory_write_safetensors(&dir, "blob", "{" ENTRY("a", "U8", "[3]", "0", "3") "}", "xyz", 3);
    path_join(dir.path, "link", path, NULL);
    assert_int_equal(symlink("blob", path), 0);
    assert_int_equal(safetensors_open(path, &file, NULL), STATUS_OK);
    assert_int_equal(file.count, 1);
    assert_memory_equal(file.tensors[0].data, "xyz", 3);
    assert_true(safetensors_holds(&file, &file.tensors[0]));
    safetensors_close(&file);
    directory_remove(&dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_found_at_odd_places_in_any_order),
        cmocka_unit_test(a_file_without_tensors_is_whole),
        cmocka_unit_test(damage_is_refused_with_tensor_field_and_value),
        cmocka_unit_test(a_wrong_header_length_is_refused_at_once),
        cmocka_unit_test(only_regular_files_are_opened),
        cmocka_unit_test(a_mapped_file_is_read_through_a_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
