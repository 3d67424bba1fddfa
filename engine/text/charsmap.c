/* charsmap.c: the double array of darts-clone, read as its units say.
 *
 * A unit holds a label (bits 0-7 and 31), whether a leaf follows (bit 8), and the offset to its
 * children (bits 10-30, times 256 where bit 9 is set). The child for byte c of the node at `at` is
 * unit at ^ c, and stands if its label is c; the leaf of a node is unit `at` itself. */
#include "engine/text/charsmap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/utf8.h"

enum { LABELS = 256, SIZE_BYTES = 4 };

struct charsmap {
    uint32_t *units;
    size_t units_count;
    char *strings; /* ended by NUL */
    size_t strings_bytes;
};

static uint32_t label_of(uint32_t unit) {
    return unit & 0x800000FFu;
}

static uint32_t offset_of(uint32_t unit) {
    return unit >> 10 << ((unit & 0x200) >> 6);
}

static bool has_leaf(uint32_t unit) {
    return (unit & 0x100) != 0;
}

static uint32_t value_of(uint32_t unit) {
    return unit & 0x7FFFFFFFu;
}

static uint32_t read_u32(const char *data) {
    const unsigned char *p = (const unsigned char *)data;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool charsmap_find(const struct charsmap *map, struct view text, struct view *replacement) {
    size_t at = offset_of(map->units[0]);
    for (size_t i = 0; i < text.bytes && text.data[i] != '\0'; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        at ^= byte;
        uint32_t unit = map->units[at];
        if (label_of(unit) != byte)
            return false;
        at ^= offset_of(unit);
        if (has_leaf(unit)) {
            const char *string = map->strings + value_of(map->units[at]);
            *replacement = view_of(string);
            return true;
        }
    }
    return false;
}

/* Whether all children of the node at `at` are inside the array. */
static bool is_inside(const struct charsmap *map, size_t at) {
    return (at | (LABELS - 1)) < map->units_count;
}

/* Whether a replacement starts there, at a border of code points. */
static bool is_string(const struct charsmap *map, uint32_t value) {
    return value < map->strings_bytes && ((unsigned char)map->strings[value] & 0xC0) != 0x80;
}

/* Follows every node that can be reached once. `stack` has room for all units. */
static bool check_nodes(const struct charsmap *map, uint32_t *stack, bool *seen) {
    size_t depth = 0;
    uint32_t root = offset_of(map->units[0]);
    if (!is_inside(map, root))
        return false;
    seen[root] = true;
    stack[depth++] = root;
    while (depth > 0) {
        uint32_t at = stack[--depth];
        for (uint32_t byte = 1; byte < LABELS; byte++) {
            uint32_t unit = map->units[at ^ byte];
            if (label_of(unit) != byte)
                continue;
            uint32_t child = at ^ byte ^ offset_of(unit);
            if (!is_inside(map, child) ||
                (has_leaf(unit) && !is_string(map, value_of(map->units[child]))))
                return false;
            if (!seen[child]) {
                seen[child] = true;
                stack[depth++] = child;
            }
        }
    }
    return true;
}

static enum status check(const struct charsmap *map, struct error *err) {
    size_t fault;
    if (!utf8_check((struct view){map->strings, map->strings_bytes}, &fault))
        return error_set(err, STATUS_BAD_FILE, "the replacements are not valid UTF-8 at byte %zu",
                         fault);
    uint32_t *stack = reallocarray(NULL, map->units_count, sizeof *stack);
    bool *seen = calloc(map->units_count, sizeof *seen);
    enum status status = STATUS_OK;
    if (stack == NULL || seen == NULL)
        status = error_set(err, STATUS_NO_MEMORY, "no memory");
    else if (!check_nodes(map, stack, seen))
        status = error_set(err, STATUS_BAD_FILE, "the trie points out of the map");
    free(seen);
    free(stack);
    return status;
}

static enum status fill(struct charsmap *map, struct view bytes, struct error *err) {
    size_t trie_bytes = bytes.bytes < SIZE_BYTES ? 0 : read_u32(bytes.data);
    if (trie_bytes == 0 || trie_bytes % sizeof *map->units != 0 ||
        trie_bytes > bytes.bytes - SIZE_BYTES)
        return error_set(err, STATUS_BAD_FILE, "the trie's size does not fit the map's %zu bytes",
                         bytes.bytes);
    map->units_count = trie_bytes / sizeof *map->units;
    map->strings_bytes = bytes.bytes - SIZE_BYTES - trie_bytes;
    map->units = malloc(trie_bytes);
    map->strings = malloc(map->strings_bytes + 1);
    if (map->units == NULL || map->strings == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    for (size_t i = 0; i < map->units_count; i++)
        map->units[i] = read_u32(bytes.data + SIZE_BYTES + i * sizeof *map->units);
    memcpy(map->strings, bytes.data + SIZE_BYTES + trie_bytes, map->strings_bytes);
    map->strings[map->strings_bytes] = '\0';
    return check(map, err);
}

enum status charsmap_open_bytes(struct view bytes, struct charsmap **out, struct error *err) {
    *out = NULL;
    struct charsmap *map = calloc(1, sizeof *map);
    if (map == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    enum status status = fill(map, bytes, err);
    if (status == STATUS_OK)
        *out = map;
    else
        charsmap_close(map);
    return status;
}

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes into `bytes`, which has room for three bytes of each four digits; padding may be absent.
 * Returns false for other characters and a length that no bytes have. */
static bool base64_decode(struct view text, char *bytes, size_t *count) {
    size_t digits = text.bytes;
    while (digits > 0 && text.bytes - digits < 2 && text.data[digits - 1] == '=')
        digits--;
    uint32_t gathered = 0;
    *count = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = base64_digit(text.data[i]);
        if (digit < 0)
            return false;
        gathered = gathered << 6 | (uint32_t)digit;
        if (i % 4 != 0)
            bytes[(*count)++] = (char)(gathered >> (6 - i % 4 * 2) & 0xFF);
    }
    return digits % 4 != 1;
}

enum status charsmap_open(struct view base64, struct charsmap **out, struct error *err) {
    *out = NULL;
    char *bytes = malloc(base64.bytes / 4 * 3 + 3);
    if (bytes == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    size_t count;
    enum status status = base64_decode(base64, bytes, &count)
                             ? charsmap_open_bytes((struct view){bytes, count}, out, err)
                             : error_set(err, STATUS_BAD_FILE, "is not base64");
    free(bytes);
    return status;
}

void charsmap_close(struct charsmap *map) {
    if (map != NULL) {
        free(map->units);
        free(map->strings);
        free(map);
    }
}
