/* family.c: the list of families. */
#include "engine/model/family.h"

#include <string.h>

static const struct family *const families[] = {&family_bert};

const struct family *family_find(const char *model_type) {
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (strcmp(families[i]->name, model_type) == 0)
            return families[i];
    }
    return NULL;
}

const char *family_names(void) {
    return "bert";
}

const struct family_head *family_find_head(const struct family *family, const char *architecture) {
    for (uint32_t i = 0; i < family->heads_count; i++) {
        if (strcmp(family->heads[i].architecture, architecture) == 0)
            return &family->heads[i];
    }
    return NULL;
}

const struct family *family_find_by_architecture(const char *architecture,
                                                 const struct family_head **head) {
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        *head = family_find_head(families[i], architecture);
        if (*head != NULL)
            return families[i];
    }
    return NULL;
}
