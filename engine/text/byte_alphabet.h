/* byte_alphabet.h: the characters that stand for bytes in byte-level tokenizers. Printable Latin-1
 * stands for itself; the other 68 bytes, in their order, for U+0100 and on. */
#ifndef BERTD_TEXT_BYTE_ALPHABET_H
#define BERTD_TEXT_BYTE_ALPHABET_H

#include <stdint.h>

/* The code point that stands for a byte. */
uint32_t byte_alphabet_code(unsigned char byte);

/* The byte that a code point stands for, or -1. */
int byte_alphabet_byte(uint32_t code);

#endif
