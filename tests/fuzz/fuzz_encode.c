/* fuzz_encode.c: hostile texts and options through a tokenizer with every kind of added token. The
 * first byte chooses options, the second the limit; a byte 0xFF parts the text from its pair. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/tokenizer_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN(id, content, flags)                                                                  \
    "{\"id\":" id ",\"content\":\"" content "\",\"special\":false," flags "}"
#define FLAGS(single, left, right, normalized)                                                     \
    "\"single_word\":" single ",\"lstrip\":" left ",\"rstrip\":" right ",\"normalized\""           \
    ":" normalized

/* The demo of every step; `normalized` is the flag of the tokens that may be in either set. */
/* clang-format off */
#define DOCUMENT(normalized)                                                                       \
    "{\"version\":\"1.0\",\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"        \
    "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true},"                    \
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"                                           \
    "\"post_processor\":{\"type\":\"BertProcessing\","                                           \
    "\"sep\":[\"[SEP]\",2],\"cls\":[\"[CLS]\",1]},"                                              \
    "\"added_tokens\":[" TOKEN("2", "[SEP]", FLAGS("false", "false", "false", "false")) ","        \
    TOKEN("7", "[L]", FLAGS("false", "true", "false", normalized)) ","                            \
    TOKEN("8", "[R]", FLAGS("false", "false", "true", normalized)) ","                            \
    TOKEN("9", " x", FLAGS("true", "true", "true", normalized)) ","                               \
    TOKEN("10", "ab", FLAGS("false", "false", "false", normalized)) ","                           \
    TOKEN("11", "abc", FLAGS("true", "false", "false", normalized)) "],"                          \
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":"    \
    "\"##\",\"max_input_chars_per_word\":20,\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]\":2,"      \
    "\"a\":3,\"##b\":4,\"##bc\":5,\"e\":6}}}"

/* clang-format on */

static struct tokenizer *tokenizers[2];
static struct tokenizer_scratch *scratch;

static void open_once(void) {
    static const char *const DOCUMENTS[2] = {DOCUMENT("false"), DOCUMENT("true")};
    for (int i = 0; i < 2; i++)
        if (tokenizers[i] == NULL &&
            tokenizer_open_json(view_of(DOCUMENTS[i]), &tokenizers[i], NULL) != STATUS_OK)
            abort();
    if (scratch == NULL && tokenizer_scratch_open(tokenizers[0], &scratch) != STATUS_OK)
        abort();
}

/* Every range lies in its text, and a limit is kept. */
static void check(const struct encoding *encoding, const struct tokenizer_options *options,
                  struct view text, struct view pair) {
    if (options->tokens_max > 0 && encoding->count > options->tokens_max)
        abort();
    if (encoding->count > encoding->count_whole ||
        encoding->truncated != (encoding->count < encoding->count_whole))
        abort();
    for (uint32_t i = 0; i < encoding->count; i++) {
        size_t bytes = encoding->segments[i] == 1 ? pair.bytes : text.bytes;
        if (encoding->starts[i] > encoding->ends[i] || encoding->ends[i] > bytes)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    open_once();
    const struct tokenizer *tokenizer = tokenizers[data[0] & 1];
    struct tokenizer_options options = {.add_special_tokens = (data[0] & 2) != 0,
                                        .tokens_max = data[1],
                                        .side = (enum tokenizer_side)(data[0] >> 2 & 1),
                                        .strategy =
                                            (enum tokenizer_strategy)(data[0] >> 3 & 3) % 3};
    const char *bytes = (const char *)data + 2, *border = memchr(bytes, '\xff', size - 2);
    size_t length = border == NULL ? size - 2 : (size_t)(border - bytes);
    struct view text = {bytes, length}, pair = {bytes + size - 2, 0};
    if (border != NULL)
        pair = (struct view){border + 1, size - 2 - length - 1};
    struct encoding encoding;
    struct error err;
    encoding_init(&encoding);
    if (tokenizer_encode(tokenizer, scratch, text, border != NULL ? &pair : NULL, &options,
                         &encoding, &err) == STATUS_OK)
        check(&encoding, &options, text, pair);
    encoding_free(&encoding);
    return 0;
}
