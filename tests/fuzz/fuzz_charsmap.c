/* fuzz_charsmap.c: damaged character maps. What opens must find something or nothing for every
 * short text, without leaving the map. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "engine/text/charsmap.h"
#include "engine/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct charsmap *map;
    struct view bytes = {(const char *)data, size}, found;
    if (charsmap_open_bytes(bytes, &map, NULL) != STATUS_OK)
        return 0;
    for (uint32_t code = 0; code < 0x3000; code++) {
        char text[2 * UTF8_BYTES_MAX];
        size_t length = utf8_encode(code, text);
        length += utf8_encode(0x301, text + length);
        if (charsmap_find(map, (struct view){text, length}, &found) && !utf8_check(found, NULL))
            abort();
    }
    charsmap_close(map);
    return 0;
}
