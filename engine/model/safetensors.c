/* safetensors.c: the checks that let everyone else read a checkpoint's tensors without checks. */
#include "engine/model/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/size.h"
#include "engine/model/model_json.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors data is little-endian and is used as it lies in the file"
#endif

enum { LENGTH_BYTES = 8 };

/* What is known while the header is read. */
struct header {
    const char *path;
    const unsigned char *data; /* first byte after the header */
    size_t data_bytes;
};

static enum status refuse(const struct header *header, const char *tensor, const char *field,
                          const json_t *value, const char *wanted, struct error *err) {
    char text[MODEL_JSON_TEXT_BYTES];
    model_json_format(value, text);
    return error_set(err, STATUS_BAD_FILE, "%s: tensor \"%.100s\": %s is %s, %s", header->path,
                     tensor, field, text, wanted);
}

/* A whole number of 0 or more. */
static bool read_size(const json_t *value, uint64_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static enum status read_shape(const struct header *header, const char *name, const json_t *shape,
                              struct tensor *tensor, struct error *err) {
    if (!json_is_array(shape))
        return refuse(header, name, "shape", shape, "not an array", err);
    if (json_array_size(shape) > LIMIT_TENSOR_RANK)
        return refuse(header, name, "shape", shape, "more dimensions than are supported", err);
    tensor->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (!read_size(json_array_get(shape, i), &tensor->shape[i]))
            return refuse(header, name, "shape", shape, "not all whole numbers of 0 or more", err);
    }
    return STATUS_OK;
}

/* Bytes that shape and type ask for; false when they are no whole number or overflow. */
static bool count_bytes(const struct tensor *tensor, size_t *out) {
    size_t bits = tensor_type_bits(tensor->type);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (!size_multiply(bits, tensor->shape[i], &bits))
            return false;
    }
    *out = bits / 8;
    return bits % 8 == 0;
}

static enum status read_range(const struct header *header, const char *name, const json_t *offsets,
                              struct tensor *tensor, struct error *err) {
    uint64_t begin, end;
    if (json_array_size(offsets) != 2 || !read_size(json_array_get(offsets, 0), &begin) ||
        !read_size(json_array_get(offsets, 1), &end))
        return refuse(header, name, "data_offsets", offsets, "not two whole numbers", err);
    if (begin > end || end > header->data_bytes)
        return error_set(err, STATUS_BAD_FILE,
                         "%s: tensor \"%.100s\": data_offsets are %" PRIu64 " to %" PRIu64
                         ", but the file has %zu bytes of data",
                         header->path, name, begin, end, header->data_bytes);
    size_t wanted;
    char shape[TENSOR_SHAPE_TEXT_BYTES];
    tensor_shape_format(tensor->shape, tensor->rank, shape);
    if (!count_bytes(tensor, &wanted))
        return error_set(err, STATUS_BAD_FILE,
                         "%s: tensor \"%.100s\": shape %s of %s has no size that can be counted",
                         header->path, name, shape, tensor_type_name(tensor->type));
    if (end - begin != wanted)
        return error_set(err, STATUS_BAD_FILE,
                         "%s: tensor \"%.100s\": data_offsets span %" PRIu64
                         " bytes, but shape %s of %s needs %zu",
                         header->path, name, end - begin, shape, tensor_type_name(tensor->type),
                         wanted);
    tensor->data = header->data + begin;
    tensor->bytes = wanted;
    return STATUS_OK;
}

static enum status read_tensor(const struct header *header, const char *name, json_t *entry,
                               struct arena *arena, struct tensor *tensor, struct error *err) {
    if (!json_is_object(entry))
        return refuse(header, name, "its entry", entry, "not an object", err);
    const char *key;
    json_t *value;
    json_object_foreach(entry, key, value) {
        if (strcmp(key, "dtype") != 0 && strcmp(key, "shape") != 0 &&
            strcmp(key, "data_offsets") != 0)
            return refuse(header, name, key, value, "a field that the format does not have", err);
    }
    const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    if (dtype == NULL || shape == NULL || offsets == NULL)
        return error_set(err, STATUS_BAD_FILE, "%s: tensor \"%.100s\": %s is missing", header->path,
                         name,
                         dtype == NULL   ? "dtype"
                         : shape == NULL ? "shape"
                                         : "data_offsets");
    tensor->type =
        json_is_string(dtype) ? tensor_type_find(json_string_value(dtype)) : TENSOR_TYPES_COUNT;
    if (tensor->type == TENSOR_TYPES_COUNT)
        return refuse(header, name, "dtype", dtype, "not a known type", err);
    enum status status = read_shape(header, name, shape, tensor, err);
    if (status == STATUS_OK)
        status = read_range(header, name, offsets, tensor, err);
    if (status != STATUS_OK)
        return status;
    tensor->name = arena_copy(arena, view_of(name));
    return tensor->name ? STATUS_OK
                        : error_set(err, STATUS_NO_MEMORY, "%s: no memory for names", header->path);
}

static int compare_ranges(const void *left, const void *right) {
    const struct tensor *a = left, *b = right;
    if (a->data != b->data)
        return a->data < b->data ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Tensors must follow each other without holes and end with the file. */
static enum status check_coverage(const struct header *header, const struct safetensors *file,
                                  struct error *err) {
    const unsigned char *next = header->data;
    for (uint32_t i = 0; i < file->count; i++) {
        const struct tensor *tensor = &file->tensors[i];
        if (tensor->data != next)
            return error_set(err, STATUS_BAD_FILE,
                             "%s: tensor \"%.100s\" begins at byte %td of the data, %s %td",
                             header->path, tensor->name, tensor->data - header->data,
                             tensor->data < next ? "inside the tensor before it, which ends at"
                                                 : "after a hole that begins at",
                             next - header->data);
        next = tensor->data + tensor->bytes;
    }
    size_t covered = (size_t)(next - header->data);
    if (covered != header->data_bytes)
        return error_set(err, STATUS_BAD_FILE,
                         "%s: the tensors end at byte %zu of the data, but the file has %zu",
                         header->path, covered, header->data_bytes);
    return STATUS_OK;
}

static enum status read_tensors(const struct header *header, json_t *root, struct safetensors *file,
                                struct error *err) {
    static const char metadata[] = "__metadata__";
    size_t count = json_object_size(root);
    if (count > LIMIT_TENSORS)
        return error_set(err, STATUS_BAD_FILE, "%s: %zu tensors, at most %u are supported",
                         header->path, count, LIMIT_TENSORS);
    file->tensors = arena_calloc(&file->arena, count + 1, sizeof *file->tensors);
    if (file->tensors == NULL)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory for %zu tensors", header->path,
                         count);
    const char *name;
    json_t *entry;
    json_object_foreach(root, name, entry) {
        if (strcmp(name, metadata) == 0)
            continue;
        enum status status =
            read_tensor(header, name, entry, &file->arena, &file->tensors[file->count], err);
        if (status != STATUS_OK)
            return status;
        file->count++;
    }
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_ranges);
    return check_coverage(header, file, err);
}

enum status safetensors_parse(const unsigned char *bytes, size_t bytes_count, const char *path,
                              struct safetensors *out, struct error *err) {
    *out = (struct safetensors){0};
    uint64_t length = 0;
    if (bytes_count < LENGTH_BYTES)
        return error_set(err, STATUS_BAD_FILE, "%s: %zu bytes, too short for a safetensors file",
                         path, bytes_count);
    memcpy(&length, bytes, LENGTH_BYTES);
    if (length > bytes_count - LENGTH_BYTES || length > LIMIT_SAFETENSORS_HEADER)
        return error_set(err, STATUS_BAD_FILE,
                         "%s: the header length is %" PRIu64
                         ", but the file has %zu bytes after it, and at most %u are supported",
                         path, length, bytes_count - LENGTH_BYTES, LIMIT_SAFETENSORS_HEADER);
    struct header header = {.path = path,
                            .data = bytes + LENGTH_BYTES + length,
                            .data_bytes = bytes_count - LENGTH_BYTES - (size_t)length};
    json_t *root;
    struct view text = {(const char *)bytes + LENGTH_BYTES, (size_t)length};
    enum status status = model_json_parse(text, path, MODEL_JSON_EXACT, &root, err);
    if (status != STATUS_OK)
        return status;
    arena_init(&out->arena, LIMIT_MODEL_ARENA_BYTES);
    status = read_tensors(&header, root, out, err);
    json_decref(root);
    if (status != STATUS_OK)
        safetensors_close(out);
    return status;
}

/* Maps a regular file of at least one byte; *map is NULL for an empty one. */
static enum status map_file(const char *path, void **map, size_t *bytes, struct error *err) {
    *map = NULL;
    *bytes = 0;
    struct stat info;
    enum status status = STATUS_OK;
    /* Without O_NONBLOCK a named pipe would wait here for its writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        status = error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        status = error_set(err, STATUS_IO, "%s: not a regular file", path);
    } else if (info.st_size > 0) {
        *bytes = (size_t)info.st_size;
        *map = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (*map == MAP_FAILED) {
            *map = NULL;
            status = error_set(err, STATUS_IO, "%s: cannot be mapped: %s", path, strerror(errno));
        }
    }
    if (fd >= 0)
        close(fd);
    return status;
}

enum status safetensors_open(const char *path, struct safetensors *out, struct error *err) {
    *out = (struct safetensors){0};
    void *map;
    size_t bytes;
    enum status status = map_file(path, &map, &bytes, err);
    if (status != STATUS_OK)
        return status;
    status = safetensors_parse(map, bytes, path, out, err);
    if (status == STATUS_OK) {
        out->map = map;
        out->map_bytes = bytes;
    } else if (map != NULL) {
        munmap(map, bytes);
    }
    return status;
}

void safetensors_close(struct safetensors *file) {
    if (file == NULL)
        return;
    arena_free(&file->arena);
    if (file->map != NULL)
        munmap(file->map, file->map_bytes);
    *file = (struct safetensors){0};
}

bool safetensors_holds(const struct safetensors *file, const struct tensor *tensor) {
    uintptr_t map = (uintptr_t)file->map, data = (uintptr_t)tensor->data;
    return data >= map && data - map <= file->map_bytes;
}
