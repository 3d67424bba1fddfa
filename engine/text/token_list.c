/* token_list.c: growth of a list of tokens. */
#include "engine/text/token_list.h"

#include <stdlib.h>
#include <string.h>

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

enum status token_list_add_surface(struct token_list *list, struct token token,
                                   struct token_blanks blanks) {
    if (list->surfaces_count == list->surfaces_capacity) {
        size_t capacity = list->surfaces_capacity == 0 ? 16 : list->surfaces_capacity * 2;
        struct token_surface *grown = reallocarray(list->surfaces, capacity, sizeof *grown);
        if (grown == NULL)
            return STATUS_NO_MEMORY;
        list->surfaces = grown;
        list->surfaces_capacity = capacity;
    }
    list->surfaces[list->surfaces_count++] = (struct token_surface){list->count, blanks};
    return token_list_add(list, token);
}

size_t token_list_find_surface(const struct token_list *list, size_t token) {
    size_t low = 0, high = list->surfaces_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->surfaces[middle].token < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void token_list_clear(struct token_list *list) {
    list->count = 0;
    list->surfaces_count = 0;
}

void token_list_free(struct token_list *list) {
    free(list->tokens);
    free(list->surfaces);
    memset(list, 0, sizeof *list);
}
