/* vocabulary.c: filling a vocabulary with checks; see vocabulary.h. */
#include "engine/text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"

/* start == ABSENT: no token has this id. */
struct vocabulary_span {
    uint32_t start, bytes;
};

static const uint32_t ABSENT = UINT32_MAX;

void vocabulary_init(struct vocabulary *vocabulary) {
    memset(vocabulary, 0, sizeof *vocabulary);
}

void vocabulary_free(struct vocabulary *vocabulary) {
    if (vocabulary != NULL) {
        trie_free(&vocabulary->trie);
        free(vocabulary->bytes);
        free(vocabulary->spans);
        vocabulary_init(vocabulary);
    }
}

static enum status reserve_id(struct vocabulary *vocabulary, uint32_t id) {
    if (id >= vocabulary->ids_capacity) {
        uint32_t capacity = id + id / 2 + 1024;
        struct vocabulary_span *spans = reallocarray(vocabulary->spans, capacity, sizeof *spans);
        if (spans == NULL)
            return STATUS_NO_MEMORY;
        vocabulary->spans = spans;
        vocabulary->ids_capacity = capacity;
    }
    while (vocabulary->ids_count <= id)
        vocabulary->spans[vocabulary->ids_count++].start = ABSENT;
    return STATUS_OK;
}

static enum status store(struct vocabulary *vocabulary, struct view token, uint32_t id) {
    size_t needed = vocabulary->bytes_count + token.bytes;
    if (needed >= ABSENT)
        return STATUS_UNSUPPORTED;
    if (needed > vocabulary->bytes_capacity || vocabulary->bytes == NULL) {
        size_t capacity = needed + needed / 2 + 1024;
        char *bytes = realloc(vocabulary->bytes, capacity);
        if (bytes == NULL)
            return STATUS_NO_MEMORY;
        vocabulary->bytes = bytes;
        vocabulary->bytes_capacity = capacity;
    }
    memcpy(vocabulary->bytes + vocabulary->bytes_count, token.data, token.bytes);
    vocabulary->spans[id] =
        (struct vocabulary_span){(uint32_t)vocabulary->bytes_count, (uint32_t)token.bytes};
    vocabulary->bytes_count = needed;
    return STATUS_OK;
}

/* Enters the token by a free id; a token that was there is found by it from now on. */
static enum status enter(struct vocabulary *vocabulary, struct view token, int64_t id,
                         struct error *err) {
    if (token.bytes > LIMIT_TOKEN_BYTES)
        return error_set(err, STATUS_BAD_FILE, "token \"%.*s...\" has %zu bytes, the limit is %u",
                         view_shown(token), token.data, token.bytes, LIMIT_TOKEN_BYTES);
    if (id < 0 || id >= LIMIT_VOCABULARY)
        return error_set(err, STATUS_BAD_FILE, "token \"%.*s\" has id %lld, outside 0..%u",
                         view_shown(token), token.data, (long long)id, LIMIT_VOCABULARY - 1);
    struct view taken = vocabulary_token(vocabulary, id);
    if (taken.data != NULL)
        return error_set(err, STATUS_BAD_FILE, "tokens \"%.*s\" and \"%.*s\" have one id, %lld",
                         view_shown(taken), taken.data, view_shown(token), token.data,
                         (long long)id);
    enum status status = reserve_id(vocabulary, (uint32_t)id);
    if (status == STATUS_OK)
        status = trie_insert(&vocabulary->trie, token, (int32_t)id);
    if (status == STATUS_OK)
        status = store(vocabulary, token, (uint32_t)id);
    if (status != STATUS_OK)
        return error_set(err, status, "token \"%.*s\": the vocabulary is too large",
                         view_shown(token), token.data);
    return STATUS_OK;
}

enum status vocabulary_replace(struct vocabulary *vocabulary, struct view token, int64_t id,
                               struct error *err) {
    int32_t before = vocabulary_find(vocabulary, token);
    enum status status = enter(vocabulary, token, id, err);
    if (status == STATUS_OK && before >= 0)
        vocabulary->spans[before].start = ABSENT;
    return status;
}

enum status vocabulary_append(struct vocabulary *vocabulary, struct view token, struct error *err) {
    return enter(vocabulary, token, vocabulary->ids_count, err);
}

enum status vocabulary_add(struct vocabulary *vocabulary, struct view token, int64_t id,
                           struct error *err) {
    if (vocabulary_find(vocabulary, token) >= 0)
        return error_set(err, STATUS_BAD_FILE, "token \"%.*s\" appears twice", view_shown(token),
                         token.data);
    return enter(vocabulary, token, id, err);
}

int32_t vocabulary_find(const struct vocabulary *vocabulary, struct view token) {
    return trie_find(&vocabulary->trie, token);
}

struct view vocabulary_token(const struct vocabulary *vocabulary, int64_t id) {
    if (id < 0 || id >= vocabulary->ids_count || vocabulary->spans[id].start == ABSENT)
        return (struct view){NULL, 0};
    struct vocabulary_span span = vocabulary->spans[id];
    return (struct view){vocabulary->bytes + span.start, span.bytes};
}
