/* fuzz_tokenize.c: hostile bodies of the tokenizer routes, both dialects; what is answered is JSON.
 */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "server/tokenize_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(tokenize_run *route, struct view body, struct engine_tokenizer *tokenizer) {
    const struct tokenize_rules rules = {"tiny", 100, 10000, true};
    struct json_writer out;
    struct api_error err = {.message = ""};
    json_writer_init(&out, 16 << 20);
    if (!route(body, &rules, tokenizer, &out, &err)) {
        if (err.message[0] == '\0')
            abort();
    } else if (!json_writer_failed(&out)) {
        json_t *answer = json_loadb(out.data, out.bytes, JSON_ALLOW_NUL, NULL);
        if (answer == NULL)
            abort();
        json_decref(answer);
    }
    json_writer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct engine_tokenizer *tokenizer;
    const struct view body = {(const char *)data, size};
    if (tokenizer == NULL &&
        engine_tokenizer_open_dir("tests/golden/cases/W", &tokenizer, NULL) != STATUS_OK)
        abort();
    run(tokenize_run_native, body, tokenizer);
    run(detokenize_run_native, body, tokenizer);
    run(tokenize_run_tei, body, tokenizer);
    run(detokenize_run_tei, body, tokenizer);
    return 0;
}
