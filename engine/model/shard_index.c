/* shard_index.c: the map from tensors to files, with every file name checked: the index is outside
 * input, and a name with a directory in it would lead out of the model. */
#include "engine/model/shard_index.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/model/model_json.h"

static int compare_entries(const void *left, const void *right) {
    const struct shard_entry *a = left, *b = right;
    return strcmp(a->tensor, b->tensor);
}

static int compare_names(const void *left, const void *right) {
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

static enum status no_memory(const char *path, struct error *err) {
    return error_set(err, STATUS_NO_MEMORY, "%s: no memory for the index", path);
}

/* Fills files[] with the names, sorted, each once. */
static enum status collect_files(json_t *map, const char *path, struct shard_index *index,
                                 struct error *err) {
    const char *tensor;
    json_t *value;
    uint32_t count = 0;
    index->files = arena_calloc(&index->arena, json_object_size(map), sizeof *index->files);
    if (index->files == NULL)
        return no_memory(path, err);
    json_object_foreach(map, tensor, value) {
        const char *name = json_string_value(value);
        if (name == NULL || name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL) {
            char text[MODEL_JSON_TEXT_BYTES];
            model_json_format(value, text);
            return error_set(err, STATUS_BAD_FILE,
                             "%s: weight_map: \"%.100s\" is in %s, not a plain file name", path,
                             tensor, text);
        }
        index->files[count++] = name;
    }
    qsort(index->files, count, sizeof *index->files, compare_names);
    for (uint32_t i = 0; i < count; i++) {
        if (index->files_count > 0 &&
            strcmp(index->files[index->files_count - 1], index->files[i]) == 0)
            continue;
        index->files[index->files_count++] = index->files[i];
    }
    if (index->files_count > LIMIT_SAFETENSORS_SHARDS)
        return error_set(err, STATUS_BAD_FILE, "%s: weight_map: %u files, at most %u are supported",
                         path, index->files_count, LIMIT_SAFETENSORS_SHARDS);
    for (uint32_t i = 0; i < index->files_count; i++) {
        index->files[i] = arena_copy(&index->arena, view_of(index->files[i]));
        if (index->files[i] == NULL)
            return no_memory(path, err);
    }
    return STATUS_OK;
}

static enum status collect_entries(json_t *map, const char *path, struct shard_index *index,
                                   struct error *err) {
    const char *tensor;
    json_t *value;
    index->entries = arena_calloc(&index->arena, json_object_size(map), sizeof *index->entries);
    if (index->entries == NULL)
        return no_memory(path, err);
    json_object_foreach(map, tensor, value) {
        const char *name = json_string_value(value);
        const char **file =
            bsearch(&name, index->files, index->files_count, sizeof *index->files, compare_names);
        struct shard_entry *entry = &index->entries[index->entries_count++];
        entry->file = (uint32_t)(file - index->files);
        entry->tensor = arena_copy(&index->arena, view_of(tensor));
        if (entry->tensor == NULL)
            return no_memory(path, err);
    }
    qsort(index->entries, index->entries_count, sizeof *index->entries, compare_entries);
    return STATUS_OK;
}

enum status shard_index_parse(struct view text, const char *path, struct shard_index *out,
                              struct error *err) {
    *out = (struct shard_index){0};
    json_t *root;
    enum status status = model_json_parse(text, path, MODEL_JSON_REAL, &root, err);
    if (status != STATUS_OK)
        return status;
    arena_init(&out->arena, LIMIT_MODEL_ARENA_BYTES);
    json_t *map = json_object_get(root, "weight_map");
    if (!json_is_object(map) || json_object_size(map) == 0)
        status = error_set(err, STATUS_BAD_FILE, "%s: weight_map is %s", path,
                           map == NULL ? "missing" : "not an object with tensors");
    else
        status = collect_files(map, path, out, err);
    if (status == STATUS_OK)
        status = collect_entries(map, path, out, err);
    json_decref(root);
    if (status != STATUS_OK)
        shard_index_free(out);
    return status;
}

void shard_index_free(struct shard_index *index) {
    if (index == NULL)
        return;
    arena_free(&index->arena);
    *index = (struct shard_index){0};
}
