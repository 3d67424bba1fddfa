/* test_digests.c: normalizers and pre-tokenizers on all code points. What they make of "a" c "b"
 * is compared through checksums with tests/golden/tokenizer/digests.json. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/text/normalizer.h"
#include "engine/text/pretokenizer.h"
#include "engine/text/utf8.h"

enum { BLOCK = 4096, CODES = 0x110000 };

/* CRC-32 as zlib has it. */
static uint32_t crc_table[256];

static void crc_prepare(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = (value & 1) != 0 ? value >> 1 ^ 0xEDB88320u : value >> 1;
        crc_table[i] = value;
    }
}

static uint32_t crc_add(uint32_t crc, const char *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        crc = crc >> 8 ^ crc_table[(crc ^ (unsigned char)data[i]) & 0xFF];
    return crc;
}

static uint32_t crc_add_chars(uint32_t crc, const struct normal_char *chars, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char bytes[UTF8_BYTES_MAX];
        crc = crc_add(crc, bytes, utf8_encode(chars[i].code, bytes));
    }
    return crc;
}

static enum status add_word(void *context, const struct normal_char *word, size_t count) {
    uint32_t *crc = context;
    *crc = crc_add(crc_add_chars(*crc, word, count), "\xfe", 1);
    return STATUS_OK;
}

static bool flag(const json_t *object, const char *name) {
    return json_is_true(json_object_get(object, name));
}

static void set_up(const json_t *row, struct normalizer *normalizer,
                   struct pretokenizer *pretokenizer) {
    const json_t *part = json_object_get(row, "normalizer");
    const char *type = json_string_value(
        json_object_get(part != NULL ? part : json_object_get(row, "pre_tokenizer"), "type"));
    if (strcmp(type, "BertNormalizer") == 0) {
        const json_t *strip = json_object_get(part, "strip_accents");
        bool lowercase = flag(part, "lowercase");
        normalizer_add_bert(normalizer, flag(part, "clean_text"),
                            flag(part, "handle_chinese_chars"),
                            json_is_null(strip) ? lowercase : json_is_true(strip), lowercase);
        return;
    }
    const struct {
        const char *name;
        enum normalizer_kind kind;
    } normalizers[] = {{"NFD", NORMALIZER_NFD},
                       {"StripAccents", NORMALIZER_STRIP_MARKS},
                       {"Lowercase", NORMALIZER_LOWERCASE}};
    for (size_t i = 0; i < 3; i++)
        if (strcmp(type, normalizers[i].name) == 0)
            normalizer_add(normalizer,
                           &(const struct normalizer_step){.kind = normalizers[i].kind});
    const struct {
        const char *name;
        enum pretokenizer_kind kind;
    } splits[] = {{"BertPreTokenizer", PRETOKENIZER_BERT},
                  {"Whitespace", PRETOKENIZER_WHITESPACE},
                  {"WhitespaceSplit", PRETOKENIZER_WHITESPACE_SPLIT}};
    for (size_t i = 0; i < 3; i++)
        if (strcmp(type, splits[i].name) == 0)
            pretokenizer_add(pretokenizer,
                             &(const struct pretokenizer_step){.kind = splits[i].kind});
    assert_int_equal(normalizer->steps_count + pretokenizer->steps_count, 1);
}

/* The checksum of one block of code points. */
static uint32_t digest(const struct normalizer *normalizer, const struct pretokenizer *pretokenizer,
                       struct normal_text *text, uint32_t first) {
    uint32_t crc = UINT32_MAX;
    struct pretokenizer_scratch scratch = {0}; /* these kinds do not rewrite */
    for (uint32_t code = first; code < first + BLOCK; code++) {
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        char bytes[UTF8_BYTES_MAX + 2] = "a";
        size_t length = 1 + utf8_encode(code, bytes + 1);
        bytes[length++] = 'b';
        assert_true(utf8_check((struct view){bytes, length}, NULL));
        normal_text_set(text, (struct view){bytes, length}, 0, length);
        assert_int_equal(normalizer_apply(normalizer, text), STATUS_OK);
        if (pretokenizer->steps_count > 0)
            pretokenizer_apply(pretokenizer, &scratch, text->now.chars, text->now.count, add_word,
                               &crc);
        else
            crc = crc_add_chars(crc, text->now.chars, text->now.count);
        crc = crc_add(crc, "\xff", 1);
    }
    return ~crc;
}

static void every_code_point_is_treated_as_by_the_reference(void **state) {
    (void)state;
    crc_prepare();
    json_t *rows = json_load_file("tests/golden/tokenizer/digests.json", 0, NULL);
    assert_true(json_array_size(rows) >= 13);
    struct normal_text text;
    normal_text_init(&text);
    size_t wrong = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *sums = json_object_get(row, "crc32");
        struct normalizer normalizer = {.steps_count = 0};
        struct pretokenizer pretokenizer = {.steps_count = 0};
        set_up(row, &normalizer, &pretokenizer);
        assert_int_equal(json_array_size(sums), CODES / BLOCK);
        for (uint32_t block = 0; block < CODES / BLOCK; block++) {
            char sum[16];
            snprintf(sum, sizeof sum, "%08x",
                     digest(&normalizer, &pretokenizer, &text, block * BLOCK));
            if (strcmp(sum, json_string_value(json_array_get(sums, block))) != 0) {
                fprintf(stderr, "row %zu differs in U+%05X..U+%05X\n", i, block * BLOCK,
                        block * BLOCK + BLOCK - 1);
                wrong++;
            }
        }
    }
    normal_text_free(&text);
    json_decref(rows);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_treated_as_by_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
