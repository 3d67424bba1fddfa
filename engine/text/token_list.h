/* token_list.h: the content tokens of one segment, before truncation and template. */
#ifndef BERTD_TEXT_TOKEN_LIST_H
#define BERTD_TEXT_TOKEN_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"

struct token {
    int32_t id;
    uint32_t start, end; /* bytes of the segment's text */
};

/* Blanks at both ends of a token's text, in characters. */
struct token_blanks {
    uint32_t leading, trailing;
};

/* An added token, or an unknown one of a Unigram model: what it matched may have other blanks than
 * what the vocabulary spells. */
struct token_surface {
    size_t token; /* index in the list */
    struct token_blanks blanks;
};

/* Belongs to a scratch: grows on demand. */
struct token_list {
    struct token *tokens;
    size_t count, capacity;
    struct token_surface *surfaces; /* in the order of the tokens */
    size_t surfaces_count, surfaces_capacity;
};

/* Appends a token. Error: NO_MEMORY. */
enum status token_list_add(struct token_list *list, struct token token);

/* Appends a token with blanks of its own. Error: NO_MEMORY. */
enum status token_list_add_surface(struct token_list *list, struct token token,
                                   struct token_blanks blanks);

/* The first entry of surfaces for a token at or behind `token`; surfaces_count when there is none.
 */
size_t token_list_find_surface(const struct token_list *list, size_t token);

/* Empties the list and keeps its memory. */
void token_list_clear(struct token_list *list);

/* Gives the memory back; the list is empty then. */
void token_list_free(struct token_list *list);

#endif
