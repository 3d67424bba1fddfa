/* labels.c: id2label, label2id, num_labels and thresholds.json. */
#include "engine/model/labels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/limits.h"

enum { LABELS_DEFAULT = 2 };

static enum status no_memory(const struct model_json *file, struct error *err) {
    return error_set(err, STATUS_NO_MEMORY, "%s: no memory for the labels", file->path);
}

/* An index written in decimal as id2label's keys are: "0", "12", no sign and no leading zero. */
static bool parse_index(const char *text, uint32_t *out) {
    uint32_t value = 0;
    size_t digits = strlen(text);
    if (digits == 0 || digits > 6 || (digits > 1 && text[0] == '0'))
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint32_t)(*text - '0');
    }
    *out = value;
    return true;
}

/* Makes room for the `count` labels of the field, all NULL. */
static enum status labels_reserve(const struct model_json *file, const char *field, size_t count,
                                  struct arena *arena, struct model_config *config,
                                  const char ***out, struct error *err) {
    if (count == 0 || count > LIMIT_LABELS)
        return error_set(err, STATUS_BAD_FILE, "%s: %s has %zu labels, not 1 to %u", file->path,
                         field, count, LIMIT_LABELS);
    *out = arena_calloc(arena, count, sizeof **out);
    if (*out == NULL)
        return no_memory(file, err);
    config->labels = *out;
    config->labels_count = (uint32_t)count;
    return STATUS_OK;
}

/* Puts one label at its index, which must be below the count and still free. */
static enum status label_put(const struct model_json *file, const char *field, uint32_t index,
                             const char *label, struct arena *arena,
                             const struct model_config *config, const char **labels,
                             struct error *err) {
    if (index >= config->labels_count || labels[index] != NULL)
        return error_set(err, STATUS_BAD_FILE, "%s: %s: index %u of \"%.60s\" is %s", file->path,
                         field, index, label,
                         index >= config->labels_count ? "not below the number of labels"
                                                       : "taken by another label");
    labels[index] = arena_copy(arena, view_of(label));
    return labels[index] != NULL ? STATUS_OK : no_memory(file, err);
}

static enum status read_id2label(const struct model_json *file, json_t *map, struct arena *arena,
                                 struct model_config *config, struct error *err) {
    const char **labels, *key;
    json_t *value;
    enum status status =
        labels_reserve(file, "id2label", json_object_size(map), arena, config, &labels, err);
    if (status != STATUS_OK)
        return status;
    json_object_foreach(map, key, value) {
        uint32_t index;
        if (!parse_index(key, &index))
            return error_set(err, STATUS_BAD_FILE,
                             "%s: id2label has the key \"%.60s\", not an index", file->path, key);
        if (!json_is_string(value))
            return model_json_refuse(file, "a label of id2label", value, STATUS_BAD_FILE,
                                     "not a string", err);
        status = label_put(file, "id2label", index, json_string_value(value), arena, config, labels,
                           err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_label2id(const struct model_json *file, json_t *map, struct arena *arena,
                                 struct model_config *config, struct error *err) {
    const char **labels, *label;
    json_t *value;
    enum status status =
        labels_reserve(file, "label2id", json_object_size(map), arena, config, &labels, err);
    if (status != STATUS_OK)
        return status;
    json_object_foreach(map, label, value) {
        json_int_t index = json_integer_value(value);
        if (!json_is_integer(value) || index < 0 || index > LIMIT_LABELS)
            return model_json_refuse(file, "an index of label2id", value, STATUS_BAD_FILE,
                                     "not an index", err);
        status = label_put(file, "label2id", (uint32_t)index, label, arena, config, labels, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status number_labels(const struct model_json *file, struct arena *arena,
                                 struct model_config *config, struct error *err) {
    uint32_t count = LABELS_DEFAULT;
    const char **labels;
    enum status status = model_json_u32(file, "num_labels", 1, LIMIT_LABELS, &count, err);
    if (status == STATUS_OK)
        status = labels_reserve(file, "num_labels", count, arena, config, &labels, err);
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++) {
        char label[32];
        snprintf(label, sizeof label, "LABEL_%u", i);
        status = label_put(file, "num_labels", i, label, arena, config, labels, err);
    }
    return status;
}

enum status labels_read(const struct model_json *file, struct arena *arena,
                        struct model_config *config, struct error *err) {
    json_t *id2label = json_object_get(file->root, "id2label");
    json_t *label2id = json_object_get(file->root, "label2id");
    if (id2label != NULL && !json_is_null(id2label)) {
        if (!json_is_object(id2label))
            return model_json_refuse(file, "id2label", id2label, STATUS_BAD_FILE, "not an object",
                                     err);
        return read_id2label(file, id2label, arena, config, err);
    }
    if (label2id != NULL && !json_is_null(label2id)) {
        if (!json_is_object(label2id))
            return model_json_refuse(file, "label2id", label2id, STATUS_BAD_FILE, "not an object",
                                     err);
        return read_label2id(file, label2id, arena, config, err);
    }
    return number_labels(file, arena, config, err);
}

enum status labels_read_thresholds(const struct model_json *file, struct arena *arena,
                                   struct model_config *config, struct error *err) {
    const char *label;
    json_t *value;
    bool any = config->problem_type == PROBLEM_REGRESSION;
    uint32_t used = 0;
    float *thresholds = arena_calloc(arena, config->labels_count, sizeof *thresholds);
    if (thresholds == NULL)
        return no_memory(file, err);
    for (uint32_t i = 0; i < config->labels_count; i++) {
        const json_t *number = json_object_get(file->root, config->labels[i]);
        double threshold = json_number_value(number);
        if (number == NULL) {
            thresholds[i] = NAN;
            continue;
        }
        if (!json_is_number(number) || (!any && (threshold < 0 || threshold > 1)))
            return model_json_refuse(file, config->labels[i], number, STATUS_BAD_FILE,
                                     any ? "not a number" : "not a number from 0 to 1", err);
        thresholds[i] = (float)threshold;
        used++;
    }
    /* Two indices may share a name, so the count says enough only when it falls short. */
    if (used < json_object_size(file->root)) {
        json_object_foreach(file->root, label, value) {
            bool known = false;
            for (uint32_t i = 0; i < config->labels_count && !known; i++)
                known = strcmp(config->labels[i], label) == 0;
            if (!known)
                return error_set(err, STATUS_BAD_FILE, "%s: the model has no label \"%.100s\"",
                                 file->path, label);
        }
    }
    config->thresholds = thresholds;
    return STATUS_OK;
}
