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

/* Belongs to a scratch: grows on demand, is emptied by setting count to 0. */
struct token_list {
    struct token *tokens;
    size_t count, capacity;
};

/* Appends a token. Error: NO_MEMORY. */
enum status token_list_add(struct token_list *list, struct token token);

/* Gives the memory back; the list is empty then. */
void token_list_free(struct token_list *list);

#endif
