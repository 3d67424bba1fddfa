/* checkpoint.c: finds a model's safetensors files and puts their tensors into one sorted list. */
#include "engine/model/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/limits.h"
#include "engine/base/path.h"
#include "engine/model/safetensors.h"
#include "engine/model/shard_index.h"

static const char single_name[] = "model.safetensors";
static const char index_name[] = "model.safetensors.index.json";

struct checkpoint {
    char path[PATH_MAX]; /* of the file, or of the index */
    struct safetensors *files;
    uint32_t files_count;
    struct tensor *tensors; /* sorted by name */
    uint32_t tensors_count;
};

static int compare_tensors(const void *left, const void *right) {
    const struct tensor *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* Merges the files' tensors, sorted. A name in two files comes out as two neighbours. */
static enum status merge(struct checkpoint *checkpoint, struct error *err) {
    size_t count = 0;
    for (uint32_t i = 0; i < checkpoint->files_count; i++)
        count += checkpoint->files[i].count;
    checkpoint->tensors = calloc(count + 1, sizeof *checkpoint->tensors);
    if (checkpoint->tensors == NULL)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory for %zu tensors", checkpoint->path,
                         count);
    for (uint32_t i = 0; i < checkpoint->files_count; i++) {
        const struct safetensors *file = &checkpoint->files[i];
        memcpy(checkpoint->tensors + checkpoint->tensors_count, file->tensors,
               file->count * sizeof *file->tensors);
        checkpoint->tensors_count += file->count;
    }
    qsort(checkpoint->tensors, count, sizeof *checkpoint->tensors, compare_tensors);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(checkpoint->tensors[i - 1].name, checkpoint->tensors[i].name) == 0)
            return error_set(err, STATUS_BAD_FILE, "%s: tensor \"%.100s\" is in two files",
                             checkpoint->path, checkpoint->tensors[i].name);
    }
    return STATUS_OK;
}

/* Every tensor of the index must be in the file that the index says. Tensors that the index does
 * not know of are as good as unused. */
static enum status check_index(const struct checkpoint *checkpoint, const struct shard_index *index,
                               struct error *err) {
    for (uint32_t i = 0; i < index->entries_count; i++) {
        const struct shard_entry *entry = &index->entries[i];
        const struct safetensors *file = &checkpoint->files[entry->file];
        const struct tensor *tensor = checkpoint_find(checkpoint, entry->tensor);
        if (tensor == NULL || !safetensors_holds(file, tensor))
            return error_set(err, STATUS_BAD_FILE,
                             "%s: weight_map: \"%.100s\" is not in \"%.100s\"", checkpoint->path,
                             entry->tensor, index->files[entry->file]);
    }
    return STATUS_OK;
}

static enum status open_files(const char *dir, const char *const *names, uint32_t count,
                              struct checkpoint *checkpoint, struct error *err) {
    checkpoint->files = calloc(count, sizeof *checkpoint->files);
    if (checkpoint->files == NULL)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory for %u files", dir, count);
    for (uint32_t i = 0; i < count; i++) {
        char path[PATH_MAX];
        enum status status = path_join(dir, names[i], path, err);
        if (status == STATUS_OK)
            status = safetensors_open(path, &checkpoint->files[i], err);
        if (status != STATUS_OK)
            return status;
        checkpoint->files_count++;
    }
    return merge(checkpoint, err);
}

static enum status open_shards(const char *dir, struct checkpoint *checkpoint, struct error *err) {
    char *text;
    size_t bytes;
    struct shard_index index = {0};
    enum status status = file_read(checkpoint->path, LIMIT_CONFIG_FILE_BYTES, &text, &bytes, err);
    if (status != STATUS_OK)
        return status;
    status = shard_index_parse((struct view){text, bytes}, checkpoint->path, &index, err);
    free(text);
    if (status == STATUS_OK)
        status = open_files(dir, index.files, index.files_count, checkpoint, err);
    if (status == STATUS_OK)
        status = check_index(checkpoint, &index, err);
    shard_index_free(&index);
    return status;
}

/* Says what is there instead of the files that are looked for. */
static enum status refuse_absent(const char *dir, struct error *err) {
    static const char *const others[] = {"pytorch_model.bin", "pytorch_model.bin.index.json",
                                         "tf_model.h5", "flax_model.msgpack", "model.onnx"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (path_join(dir, others[i], path, NULL) == STATUS_OK && file_exists(path))
            return error_set(
                err, STATUS_UNSUPPORTED,
                "%s: no %s in the directory; %s is there, convert it with save_pretrained", dir,
                single_name, others[i]);
    }
    return error_set(err, STATUS_IO, "%s: neither %s nor %s is in the directory", dir, single_name,
                     index_name);
}

enum status checkpoint_open(const char *dir, struct checkpoint **out, struct error *err) {
    *out = NULL;
    const char *const single[] = {single_name};
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (checkpoint == NULL)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory for the checkpoint", dir);
    enum status status = path_join(dir, single_name, checkpoint->path, err);
    if (status == STATUS_OK && file_exists(checkpoint->path)) {
        status = open_files(dir, single, 1, checkpoint, err);
    } else if (status == STATUS_OK) {
        status = path_join(dir, index_name, checkpoint->path, err);
        if (status == STATUS_OK && file_exists(checkpoint->path))
            status = open_shards(dir, checkpoint, err);
        else if (status == STATUS_OK)
            status = refuse_absent(dir, err);
    }
    if (status == STATUS_OK)
        *out = checkpoint;
    else
        checkpoint_close(checkpoint);
    return status;
}

void checkpoint_close(struct checkpoint *checkpoint) {
    if (checkpoint == NULL)
        return;
    for (uint32_t i = 0; i < checkpoint->files_count; i++)
        safetensors_close(&checkpoint->files[i]);
    free(checkpoint->files);
    free(checkpoint->tensors);
    free(checkpoint);
}

const struct tensor *checkpoint_tensors(const struct checkpoint *checkpoint, uint32_t *count) {
    *count = checkpoint->tensors_count;
    return checkpoint->tensors;
}

const struct tensor *checkpoint_find(const struct checkpoint *checkpoint, const char *name) {
    const struct tensor key = {.name = name};
    if (checkpoint->tensors_count == 0)
        return NULL;
    return bsearch(&key, checkpoint->tensors, checkpoint->tensors_count,
                   sizeof *checkpoint->tensors, compare_tensors);
}

const char *checkpoint_path(const struct checkpoint *checkpoint) {
    return checkpoint->path;
}
