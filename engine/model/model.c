/* model.c: opens a model directory: name, configuration, checkpoint, then tensors by the tables. */
#include "engine/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/limits.h"
#include "engine/base/log.h"
#include "engine/model/model_name.h"
#include "engine/model/model_parts.h"

static enum status check_directory(const char *dir, struct error *err) {
    struct stat info;
    if (stat(dir, &info) != 0)
        return error_set(err, STATUS_IO, "%s: %s", dir, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return error_set(err, STATUS_IO, "%s: not a directory", dir);
    return STATUS_OK;
}

static enum status choose_head(struct config *config, const struct checkpoint *checkpoint,
                               const char *dir, struct error *err) {
    if (config->head == NULL)
        config->head = binding_guess_head(config->family, checkpoint);
    if (config->head == NULL)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s/config.json: architectures is missing, and the tensors are of no head "
                         "that is supported",
                         dir);
    /* config.json may list labels of its own making for any model. */
    if (config->head->task != TASK_TEXT_CLASSIFICATION) {
        config->values.labels = NULL;
        config->values.thresholds = NULL;
        config->values.labels_count = 0;
    }
    return STATUS_OK;
}

enum status model_load(const char *dir, struct model *model, struct error *err) {
    *model = (struct model){.name = "", .revision = ""};
    arena_init(&model->arena, LIMIT_MODEL_ARENA_BYTES);
    enum status status = check_directory(dir, err);
    if (status == STATUS_OK)
        status = model_name_find(dir, &model->arena, &model->name, &model->revision, err);
    if (status == STATUS_OK)
        status = config_open(dir, &model->arena, &model->config, err);
    if (status == STATUS_OK)
        status = checkpoint_open(dir, &model->checkpoint, err);
    if (status == STATUS_OK)
        status = choose_head(&model->config, model->checkpoint, dir, err);
    if (status == STATUS_OK)
        status = binding_open(&model->config, model->checkpoint, &model->arena, &model->weights,
                              &model->binding, err);
    return status;
}

void model_unload(struct model *model) {
    checkpoint_close(model->checkpoint);
    arena_free(&model->arena);
}

/* One line when the checkpoint has tensors that no table knows of. */
static void log_unknown(const struct model *model) {
    uint32_t count, unknown = 0, first = 0;
    const struct tensor *tensors = checkpoint_tensors(model->checkpoint, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (model->binding.used[i] ||
            binding_ignored_reason(model->config.family, &model->binding, tensors[i].name) != NULL)
            continue;
        if (unknown++ == 0)
            first = i;
    }
    if (unknown > 0)
        log_write(LOG_WARN, "model %s: %u tensors are not used, the first is %.200s", model->name,
                  unknown, tensors[first].name);
}

enum status model_open(const char *dir, struct model **out, struct error *err) {
    *out = NULL;
    struct model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory for the model", dir);
    enum status status = model_load(dir, model, err);
    if (status != STATUS_OK) {
        model_close(model);
        return status;
    }
    log_unknown(model);
    *out = model;
    return STATUS_OK;
}

void model_close(struct model *model) {
    if (model == NULL)
        return;
    model_unload(model);
    free(model);
}

const struct model_config *model_get_config(const struct model *model) {
    return &model->config.values;
}

const struct model_weights *model_get_weights(const struct model *model) {
    return &model->weights;
}

const char *model_get_name(const struct model *model) {
    return model->name;
}

const char *model_get_family(const struct model *model) {
    return model->config.family->name;
}

const char *model_get_revision(const struct model *model) {
    return model->revision;
}

enum model_task model_get_task(const struct model *model) {
    return model->config.head->task;
}

const char *model_task_name(enum model_task task) {
    switch (task) {
    case TASK_TEXT_CLASSIFICATION:
        return "text-classification";
    case TASK_FILL_MASK:
        return "fill-mask";
    }
    return "";
}

void model_drop_pages(const struct model *model, const struct tensor *tensor) {
    (void)model;
    if (tensor->data == NULL || tensor->bytes == 0)
        return;
    /* Neighbours on the border pages are read from the file again if anyone needs them. */
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t border = (uintptr_t)tensor->data % page;
    unsigned char *start = (unsigned char *)(uintptr_t)tensor->data - border;
    madvise(start, tensor->bytes + border, MADV_DONTNEED);
}
