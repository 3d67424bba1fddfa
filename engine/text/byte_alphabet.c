/* byte_alphabet.c: by arithmetic over the three ranges of bytes that stand for others. */
#include "engine/text/byte_alphabet.h"

#include <stddef.h>

/* Bytes that do not stand for themselves, and the code point that the first of them gets. */
static const struct {
    unsigned char first, last;
    uint32_t code;
} SHIFTED[] = {{0x00, 0x20, 0x100}, {0x7F, 0xA0, 0x121}, {0xAD, 0xAD, 0x143}};

uint32_t byte_alphabet_code(unsigned char byte) {
    for (size_t i = 0; i < sizeof SHIFTED / sizeof *SHIFTED; i++)
        if (byte >= SHIFTED[i].first && byte <= SHIFTED[i].last)
            return SHIFTED[i].code + byte - SHIFTED[i].first;
    return byte;
}

int byte_alphabet_byte(uint32_t code) {
    for (size_t i = 0; i < sizeof SHIFTED / sizeof *SHIFTED; i++) {
        uint32_t length = (uint32_t)SHIFTED[i].last - SHIFTED[i].first + 1;
        if (code >= SHIFTED[i].code && code < SHIFTED[i].code + length)
            return (int)(SHIFTED[i].first + code - SHIFTED[i].code);
    }
    return code < 0x100 && byte_alphabet_code((unsigned char)code) == code ? (int)code : -1;
}
