/* fuzz_regex.c: expressions of a file, translated, compiled and run. The bytes up to the first 0xFF
 * are the expression, the rest is the text. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/pattern.h"
#include "engine/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Matches come in order and lie in the text. */
static void run(const struct pattern *pattern, struct view text) {
    struct normal_text normal;
    normal_text_init(&normal);
    if (normal_text_set(&normal, text, 0, text.bytes) != STATUS_OK)
        abort();
    struct pattern_search search;
    size_t at = 0, start, end;
    bool found = true;
    if (pattern_search_start(&search, pattern, &normal.search, normal.now.chars,
                             normal.now.count) != STATUS_OK)
        abort();
    while (pattern_search_next(&search, &found, &start, &end) == STATUS_OK && found) {
        if (start < at || end < start || end > normal.now.count)
            abort();
        at = end;
    }
    normal_text_free(&normal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *parting = size == 0 ? NULL : memchr(data, 0xFF, size);
    size_t bytes = parting == NULL ? size : (size_t)(parting - data);
    struct view expression = {(const char *)data, bytes};
    struct view text = {(const char *)data + bytes + 1, parting == NULL ? 0 : size - bytes - 1};
    struct pattern *pattern;
    if (!utf8_check(expression, NULL) || !utf8_check(text, NULL) ||
        pattern_open_regex(expression, &pattern, NULL) != STATUS_OK)
        return 0;
    run(pattern, text);
    pattern_close(pattern);
    return 0;
}
