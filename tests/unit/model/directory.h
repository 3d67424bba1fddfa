/* directory.h: temporary directories with model files, and a tiny BERT classifier whose tensors a
 * test can spoil before they are written. For the tests in this directory only. */
#ifndef BERTD_TESTS_UNIT_MODEL_DIRECTORY_H
#define BERTD_TESTS_UNIT_MODEL_DIRECTORY_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/path.h"
#include "engine/base/status.h"

struct directory {
    char path[64];
};

static inline struct directory directory_make(void) {
    struct directory dir = {"/tmp/bertd-test-XXXXXX"};
    assert_non_null(mkdtemp(dir.path));
    return dir;
}

/* Removes the directory and the files in it. */
static inline void directory_remove(const struct directory *dir) {
    char path[PATH_MAX];
    DIR *list = opendir(dir->path);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        assert_int_equal(path_join(dir->path, entry->d_name, path, NULL), STATUS_OK);
        assert_int_equal(remove(path), 0);
    }
    closedir(list);
    assert_int_equal(rmdir(dir->path), 0);
}

static inline void directory_write(const struct directory *dir, const char *name, const void *data,
                                   size_t bytes) {
    char path[PATH_MAX];
    assert_int_equal(path_join(dir->path, name, path, NULL), STATUS_OK);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static inline void directory_write_text(const struct directory *dir, const char *name,
                                        const char *text) {
    directory_write(dir, name, text, strlen(text));
}

/* Writes a safetensors file: the length, the header text, then `data`. */
static inline void directory_write_safetensors(const struct directory *dir, const char *name,
                                               const char *header, const void *data,
                                               size_t data_bytes) {
    uint64_t length = strlen(header);
    size_t bytes = sizeof length + length + data_bytes;
    unsigned char *all = malloc(bytes);
    assert_non_null(all);
    memcpy(all, &length, sizeof length);
    memcpy(all + sizeof length, header, length);
    if (data_bytes > 0)
        memcpy(all + sizeof length + length, data, data_bytes);
    directory_write(dir, name, all, bytes);
    free(all);
}

/* Fails the test unless the message has every one of the words, which NULL ends. */
static inline void assert_message(const struct error *err, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strstr(err->message, *words) == NULL)
            fail_msg("\"%s\" is not in the message: %s", *words, err->message);
    }
}

/* H 4, A 2, I 6, L 1, V 10, P 8, T2 2, K 3 */
static const char tiny_config[] =
    "{\"architectures\":[\"BertForSequenceClassification\"],\"model_type\":\"bert\","
    "\"vocab_size\":10,\"hidden_size\":4,\"num_hidden_layers\":1,\"num_attention_heads\":2,"
    "\"intermediate_size\":6,\"max_position_embeddings\":8,\"type_vocab_size\":2,"
    "\"id2label\":{\"0\":\"a\",\"1\":\"b\",\"2\":\"c\"}}";

enum { TINY_TENSORS = 25, TINY_TENSORS_MAX = 32 };

struct tiny_tensor {
    char name[128];
    const char *dtype;      /* "F32", "F16", "BF16" or "I64" */
    uint32_t rows, columns; /* columns 0: one dimension */
};

struct tiny_model {
    struct tiny_tensor tensors[TINY_TENSORS_MAX];
    uint32_t count;
};

static inline struct tiny_tensor *tiny_add(struct tiny_model *model, const char *name,
                                           uint32_t rows, uint32_t columns) {
    struct tiny_tensor *tensor = &model->tensors[model->count++];
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    tensor->dtype = "F32";
    tensor->rows = rows;
    tensor->columns = columns;
    return tensor;
}

static inline struct tiny_model tiny_make(void) {
    static const struct {
        const char *name;
        uint32_t rows, columns;
    } modules[] = {
        {"bert.encoder.layer.0.attention.self.query", 4, 4},
        {"bert.encoder.layer.0.attention.self.key", 4, 4},
        {"bert.encoder.layer.0.attention.self.value", 4, 4},
        {"bert.encoder.layer.0.attention.output.dense", 4, 4},
        {"bert.encoder.layer.0.attention.output.LayerNorm", 4, 0},
        {"bert.encoder.layer.0.intermediate.dense", 6, 4},
        {"bert.encoder.layer.0.output.dense", 4, 6},
        {"bert.encoder.layer.0.output.LayerNorm", 4, 0},
        {"bert.embeddings.LayerNorm", 4, 0},
        {"bert.pooler.dense", 4, 4},
        {"classifier", 3, 4},
    };
    struct tiny_model model = {0};
    tiny_add(&model, "bert.embeddings.word_embeddings.weight", 10, 4);
    tiny_add(&model, "bert.embeddings.position_embeddings.weight", 8, 4);
    tiny_add(&model, "bert.embeddings.token_type_embeddings.weight", 2, 4);
    for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s.weight", modules[i].name);
        tiny_add(&model, name, modules[i].rows, modules[i].columns);
        snprintf(name, sizeof name, "%s.bias", modules[i].name);
        tiny_add(&model, name, modules[i].rows, 0);
    }
    assert_int_equal(model.count, TINY_TENSORS);
    return model;
}

static inline struct tiny_tensor *tiny_find(struct tiny_model *model, const char *name) {
    for (uint32_t i = 0; i < model->count; i++) {
        if (strcmp(model->tensors[i].name, name) == 0)
            return &model->tensors[i];
    }
    fail_msg("no tensor %s", name);
    return NULL;
}

static inline void tiny_remove(struct tiny_model *model, const char *name) {
    struct tiny_tensor *tensor = tiny_find(model, name);
    *tensor = model->tensors[--model->count];
}

static inline size_t tiny_bytes(const struct tiny_tensor *tensor) {
    size_t item = tensor->dtype[0] == 'I' ? 8 : strcmp(tensor->dtype, "F32") == 0 ? 4 : 2;
    return item * tensor->rows * (tensor->columns == 0 ? 1 : tensor->columns);
}

/* Writes tensors `first` to `end` into one file; every data byte is its place in the file's data
 * modulo 61, so that two tensors differ. */
static inline void tiny_write_part(const struct tiny_model *model, uint32_t first, uint32_t end,
                                   const struct directory *dir, const char *name) {
    char header[16384], shape[64];
    unsigned char data[8192];
    size_t used = 0, offset = 0;
    for (uint32_t i = first; i < end; i++) {
        const struct tiny_tensor *tensor = &model->tensors[i];
        size_t bytes = tiny_bytes(tensor);
        if (tensor->columns == 0)
            snprintf(shape, sizeof shape, "[%u]", tensor->rows);
        else
            snprintf(shape, sizeof shape, "[%u,%u]", tensor->rows, tensor->columns);
        used += (size_t)snprintf(
            header + used, sizeof header - used,
            "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
            i == first ? "{" : ",", tensor->name, tensor->dtype, shape, offset, offset + bytes);
        offset += bytes;
    }
    snprintf(header + used, sizeof header - used, "}");
    assert_in_range(offset, 1, sizeof data);
    for (size_t i = 0; i < offset; i++)
        data[i] = (unsigned char)(i % 61);
    directory_write_safetensors(dir, name, header, data, offset);
}

static inline void tiny_write(const struct tiny_model *model, const struct directory *dir) {
    directory_write_text(dir, "config.json", tiny_config);
    tiny_write_part(model, 0, model->count, dir, "model.safetensors");
}

#endif
