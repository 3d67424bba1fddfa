/* fuzz_tokenizer_json.c: hostile bytes as a tokenizer.json; what opens must also encode, hand
 * out what overflows, and decode. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "engine/text/tokenizer_parts.h"
#include "engine/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ranges lie in their texts, and the text of the ids is UTF-8. */
static void check(const struct tokenizer *tokenizer, const struct encoding *encoding,
                  struct view text, struct view pair) {
    for (uint32_t i = 0; i < encoding->count; i++)
        if (encoding->ids[i] < 0 || encoding->starts[i] > encoding->ends[i] ||
            encoding->ends[i] > (encoding->segments[i] ? pair : text).bytes)
            abort();
    char *decoded;
    size_t bytes;
    if (tokenizer_decode(tokenizer, encoding->ids, encoding->count, false, &decoded, &bytes,
                         NULL) == STATUS_OK &&
        (!utf8_check((struct view){decoded, bytes}, NULL) || decoded[bytes] != '\0'))
        abort();
    free(decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tokenizer *tokenizer;
    struct error err;
    if (tokenizer_open_json((struct view){(const char *)data, size}, &tokenizer, &err) !=
        STATUS_OK) {
        if (tokenizer != NULL || err.message[0] == '\0')
            abort();
        return 0;
    }
    struct tokenizer_scratch *scratch = NULL;
    struct encoding encoding;
    encoding_init(&encoding);
    struct tokenizer_options options = tokenizer_file_options(tokenizer);
    struct view text = view_of("a [SEP] \xc3\xa9\xcc\x81 b  x"), pair = view_of("b");
    options.keep_overflow = (size & 1) != 0;
    if (tokenizer_scratch_open(tokenizer, &scratch) == STATUS_OK &&
        tokenizer_encode(tokenizer, scratch, text, &pair, &options, &encoding, &err) == STATUS_OK)
        check(tokenizer, &encoding, text, pair);
    else
        encoding.count = 0;
    for (uint64_t i = 0; scratch != NULL && i < tokenizer_overflow_count(scratch) && i < 40; i++)
        if (tokenizer_overflow(tokenizer, scratch, i, &encoding, &err) == STATUS_OK)
            check(tokenizer, &encoding, text, pair);
    encoding_free(&encoding);
    tokenizer_scratch_close(scratch);
    tokenizer_close(tokenizer);
    return 0;
}
