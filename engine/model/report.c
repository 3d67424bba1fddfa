/* report.c: what `bertd check` lists about a model directory, servable or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/model_parts.h"

/* Adds a row; the name is copied, since the checkpoint is closed afterwards. */
static struct model_tensor_report *row_add(struct model_report *report, const char *name,
                                           enum tensor_use use) {
    struct model_tensor_report *row = &report->tensors[report->tensors_count];
    row->name = strdup(name);
    if (row->name == NULL)
        return NULL;
    row->use = use;
    report->tensors_count++;
    return row;
}

static int compare_rows(const void *left, const void *right) {
    const struct model_tensor_report *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* Rows for the checkpoint's tensors and for the missing ones, by name. */
static enum status list_tensors(const struct model *model, struct model_report *report) {
    uint32_t count = 0;
    const struct tensor *tensors = NULL;
    const struct binding *binding = &model->binding;
    if (model->checkpoint != NULL)
        tensors = checkpoint_tensors(model->checkpoint, &count);
    report->tensors = calloc((size_t)count + binding->missing_count + 1, sizeof *report->tensors);
    if (report->tensors == NULL)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        bool used = binding->used != NULL && binding->used[i];
        const char *reason = NULL;
        char shape[TENSOR_SHAPE_TEXT_BYTES];
        struct model_tensor_report *row =
            row_add(report, tensors[i].name, used ? TENSOR_USED : TENSOR_UNUSED);
        if (row == NULL)
            return STATUS_NO_MEMORY;
        if (binding->used != NULL && !used)
            reason = binding_ignored_reason(model->config.family, binding, tensors[i].name);
        tensor_shape_format(tensors[i].shape, tensors[i].rank, shape);
        int bytes = snprintf(row->detail, sizeof row->detail, "%s %s",
                             tensor_type_name(tensors[i].type), shape);
        if (reason != NULL && bytes > 0 && (size_t)bytes < sizeof row->detail)
            snprintf(row->detail + bytes, sizeof row->detail - (size_t)bytes, ", %s", reason);
    }
    for (uint32_t i = 0; i < binding->missing_count; i++) {
        struct model_tensor_report *row = row_add(report, binding->missing[i], TENSOR_MISSING);
        if (row == NULL)
            return STATUS_NO_MEMORY;
        snprintf(row->detail, sizeof row->detail, "%s needs it", model->config.head->architecture);
    }
    qsort(report->tensors, report->tensors_count, sizeof *report->tensors, compare_rows);
    return STATUS_OK;
}

enum status model_report_open(const char *dir, struct model_report *out) {
    *out = (struct model_report){0};
    struct model model;
    enum status status = model_load(dir, &model, &out->error);
    out->servable = status == STATUS_OK;
    /* A fault in the configuration does not keep the tensors from being listed. */
    if (model.checkpoint == NULL)
        checkpoint_open(dir, &model.checkpoint, NULL);
    if (model.config.family != NULL)
        snprintf(out->family, sizeof out->family, "%s", model.config.family->name);
    if (model.config.head != NULL)
        snprintf(out->task, sizeof out->task, "%s", model_task_name(model.config.head->task));
    status = status == STATUS_NO_MEMORY ? status : list_tensors(&model, out);
    model_unload(&model);
    if (status != STATUS_OK)
        model_report_close(out);
    return status;
}

void model_report_close(struct model_report *report) {
    if (report == NULL)
        return;
    for (uint32_t i = 0; i < report->tensors_count; i++)
        free((char *)(uintptr_t)report->tensors[i].name);
    free(report->tensors);
    *report = (struct model_report){0};
}
