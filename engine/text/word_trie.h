/* word_trie.h: a trie walked with the characters of a word; what the models share. */
#ifndef BERTD_TEXT_WORD_TRIE_H
#define BERTD_TEXT_WORD_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/text/normal_text.h"
#include "engine/text/trie.h"
#include "engine/text/utf8.h"

/* The node behind the character, or TRIE_NONE. `trie` has at least one string. */
static inline uint32_t trie_step_code(const struct trie *trie, uint32_t node, uint32_t code) {
    if (code < 0x80)
        return trie_step(trie, node, (unsigned char)code);
    char bytes[UTF8_BYTES_MAX];
    size_t length = utf8_encode(code, bytes);
    for (size_t i = 0; i < length && node != TRIE_NONE; i++)
        node = trie_step(trie, node, (unsigned char)bytes[i]);
    return node;
}

/* The value of the string that the characters spell, or -1. */
int32_t trie_find_word(const struct trie *trie, const struct normal_char *word, size_t count);

/* The ids of the byte tokens <0x00> to <0xFF>, -1 where there is none. */
void trie_find_byte_tokens(const struct trie *trie, int32_t ids[256]);

#endif
