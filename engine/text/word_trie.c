/* word_trie.c: see word_trie.h. */
#include "engine/text/word_trie.h"

#include <stdio.h>

int32_t trie_find_word(const struct trie *trie, const struct normal_char *word, size_t count) {
    uint32_t node = trie->nodes_count == 0 ? TRIE_NONE : TRIE_ROOT;
    for (size_t i = 0; i < count && node != TRIE_NONE; i++)
        node = trie_step_code(trie, node, word[i].code);
    return trie_value(trie, node);
}

void trie_find_byte_tokens(const struct trie *trie, int32_t ids[256]) {
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        ids[byte] = trie_find(trie, view_of(name));
    }
}
