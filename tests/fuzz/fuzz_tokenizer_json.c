/* fuzz_tokenizer_json.c: hostile bytes as a tokenizer.json; what opens must also encode. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "engine/text/tokenizer_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tokenizer *tokenizer;
    struct error err;
    if (tokenizer_open_json((struct view){(const char *)data, size}, &tokenizer, &err) !=
        STATUS_OK) {
        if (tokenizer != NULL || err.message[0] == '\0')
            abort();
        return 0;
    }
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
    encoding_init(&encoding);
    struct tokenizer_options options = tokenizer_file_options(tokenizer);
    struct view text = view_of("a [SEP] \xc3\xa9\xcc\x81 b  x"), pair = view_of("b");
    if (tokenizer_scratch_open(tokenizer, &scratch) == STATUS_OK)
        (void)tokenizer_encode(tokenizer, scratch, text, &pair, &options, &encoding, &err);
    for (uint32_t i = 0; i < encoding.count; i++)
        if (encoding.ids[i] < 0 || encoding.starts[i] > encoding.ends[i])
            abort();
    encoding_free(&encoding);
    tokenizer_scratch_close(scratch);
    tokenizer_close(tokenizer);
    return 0;
}
