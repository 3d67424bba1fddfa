/* tokenizer_roles.c: which tokens mask and pad, as transformers finds them: tokenizer_config.json,
 * then special_tokens_map.json, else the names that are usual. */
#include <limits.h>
#include <stdio.h>

#include "engine/base/file.h"
#include "engine/text/json_field.h"
#include "engine/text/tokenizer_parts.h"

/* The token's name in the file: a string, or an object with its content. Empty: not there. */
static struct view role_name(const json_t *file, const char *field) {
    const json_t *value = json_object_get(file, field);
    if (json_is_object(value))
        value = json_object_get(value, "content");
    return json_is_string(value) ? json_view(value) : (struct view){"", 0};
}

static int32_t role_find(const struct tokenizer *tokenizer, json_t *const *files, uint32_t count,
                         const char *field, const char *const *usual) {
    for (uint32_t i = 0; i < count; i++) {
        const struct view name = role_name(files[i], field);
        if (name.bytes > 0)
            return tokenizer_find(tokenizer, name);
    }
    int32_t id = -1;
    for (; *usual && id < 0; usual++)
        id = tokenizer_find(tokenizer, view_of(*usual));
    return id;
}

enum status tokenizer_read_roles(struct tokenizer *tokenizer, const char *dir, struct error *err) {
    static const char *const names[] = {"tokenizer_config.json", "special_tokens_map.json"};
    static const char *const masks[] = {"[MASK]", "<mask>", NULL};
    static const char *const pads[] = {"[PAD]", "<pad>", NULL};
    enum { FILES = sizeof names / sizeof names[0] };
    json_t *files[FILES] = {NULL};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < FILES && status == STATUS_OK; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (file_exists(path))
            status = json_file_read(path, true, &files[i], err);
    }
    if (status == STATUS_OK) {
        tokenizer->mask_id = role_find(tokenizer, files, FILES, "mask_token", masks);
        tokenizer->pad_id = role_find(tokenizer, files, FILES, "pad_token", pads);
    }
    for (uint32_t i = 0; i < FILES; i++)
        json_decref(files[i]);
    return status;
}

int32_t tokenizer_get_mask(const struct tokenizer *tokenizer) {
    return tokenizer->mask_id;
}

int32_t tokenizer_get_pad(const struct tokenizer *tokenizer) {
    return tokenizer->pad_id;
}
