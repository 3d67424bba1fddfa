/* fuzz_text_input.c: any bytes as the file of a command, plain and as JSON lines. Every input must
 * be a view that can be read to its end. */
#include <stdlib.h>

#include "server/text_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Reads every byte, for the sanitizer to see. */
static void touch(struct view view) {
    static volatile char last;
    for (size_t i = 0; i < view.bytes; i++)
        last = view.data[i];
    (void)last;
}

static void read_all(FILE *file, bool jsonl) {
    struct text_input input;
    struct text_item item;
    struct error err;
    enum text_input_result result;
    uint64_t count = 0;
    rewind(file);
    text_input_init(&input, &(struct options_rest){.count = 0}, file, jsonl);
    while ((result = text_input_next(&input, &item, &err)) != TEXT_INPUT_END) {
        if (++count > input.lines.lines_read)
            abort();
        if (result == TEXT_INPUT_ITEM && !item.text.data)
            abort();
        if (result == TEXT_INPUT_ITEM) {
            touch(item.text);
            touch(item.text_pair);
        }
    }
    text_input_free(&input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    FILE *file = bytes ? fmemopen((void *)(uintptr_t)data, bytes, "r") : NULL;
    if (!file)
        return 0;
    read_all(file, false);
    read_all(file, true);
    fclose(file);
    return 0;
}
