/* token_list.c: growth of a list of tokens. */
#include "engine/text/token_list.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 256 };

enum status token_list_add(struct token_list *list, struct token token) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? FIRST_CAPACITY : list->capacity * 2;
        struct token *tokens = reallocarray(list->tokens, capacity, sizeof *tokens);
        if (tokens == NULL)
            return STATUS_NO_MEMORY;
        list->tokens = tokens;
        list->capacity = capacity;
    }
    list->tokens[list->count++] = token;
    return STATUS_OK;
}

void token_list_free(struct token_list *list) {
    free(list->tokens);
    *list = (struct token_list){NULL, 0, 0};
}
