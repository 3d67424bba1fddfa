/* fixtures.h: comparing encodings with fixtures, for the tests of the tokenizer. Tests run in the
 * root of the repository. A fixture row is an object with ids, type_ids and offsets in code points;
 * offsets are [[start, end], ...] or flat. */
#ifndef BERTD_TESTS_TEXT_FIXTURES_H
#define BERTD_TESTS_TEXT_FIXTURES_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/text/tokenizer.h"

static inline struct view fixture_view(const json_t *string) {
    return (struct view){json_string_value(string), json_string_length(string)};
}

/* Code points in front of a byte of the text. */
static inline uint32_t fixture_code_points(struct view text, uint32_t bytes) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < bytes; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

static inline json_int_t fixture_offset(const json_t *offsets, uint32_t token, int side) {
    const json_t *first = json_array_get(offsets, 0);
    return json_is_array(first)
               ? json_integer_value(json_array_get(json_array_get(offsets, token), (size_t)side))
               : json_integer_value(json_array_get(offsets, 2 * (size_t)token + (size_t)side));
}

/* Whether ids, types and offsets are those of the row; says on standard error where they differ. */
static inline bool fixture_matches(const struct encoding *encoding, const json_t *row,
                                   struct view text, struct view pair) {
    const json_t *ids = json_object_get(row, "ids"), *types = json_object_get(row, "type_ids");
    const json_t *offsets = json_object_get(row, "offsets");
    bool same = json_array_size(ids) == encoding->count;
    for (uint32_t i = 0; same && i < encoding->count; i++) {
        struct view own = encoding->segments[i] == 1 ? pair : text;
        same = json_integer_value(json_array_get(ids, i)) == encoding->ids[i] &&
               (types == NULL ||
                json_integer_value(json_array_get(types, i)) == encoding->type_ids[i]) &&
               fixture_offset(offsets, i, 0) == fixture_code_points(own, encoding->starts[i]) &&
               fixture_offset(offsets, i, 1) == fixture_code_points(own, encoding->ends[i]);
    }
    if (!same) {
        char *shown = json_dumps(row, JSON_ENSURE_ASCII | JSON_COMPACT);
        fprintf(stderr, "differs from: %.1500s\ngot:", shown);
        free(shown);
        for (uint32_t i = 0; i < encoding->count && i < 60; i++)
            fprintf(stderr, " %d(%u,%u)t%u", encoding->ids[i], encoding->starts[i],
                    encoding->ends[i], encoding->type_ids[i]);
        fprintf(stderr, "\n");
    }
    return same;
}

#endif
