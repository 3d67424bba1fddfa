/* fuzz_sentencepiece.c: hostile bytes as a sentencepiece model and as the character map in it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "engine/text/charsmap.h"
#include "engine/text/sentencepiece_file.h"
#include "engine/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sentencepiece_file file;
    struct error err = {0};
    struct view bytes = {(const char *)data, size};
    if (sentencepiece_file_parse(bytes, &file, &err) != STATUS_OK) {
        if (err.message[0] == '\0' || file.pieces != NULL)
            abort();
        return 0;
    }
    for (uint32_t i = 0; i < file.pieces_count; i++) {
        struct view text = file.pieces[i].text;
        if (!utf8_check(text, NULL) || !(file.pieces[i].score - file.pieces[i].score == 0))
            abort();
        if (text.bytes > 0 &&
            (text.data < bytes.data || text.data + text.bytes > bytes.data + size))
            abort();
    }
    struct charsmap *map = NULL;
    if (file.charsmap.bytes > 0 && charsmap_open_bytes(file.charsmap, &map, &err) == STATUS_OK) {
        struct view replacement;
        for (uint32_t i = 0; i < file.pieces_count; i++)
            (void)charsmap_find(map, file.pieces[i].text, &replacement);
        charsmap_close(map);
    }
    sentencepiece_file_free(&file);
    return 0;
}
