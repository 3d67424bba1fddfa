/* inspect_tokenizer.c: a model directory's tokenizer for people: tokens as text, offsets in code
 * points. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/limits.h"
#include "engine/inspect.h"
#include "engine/model/config.h"
#include "engine/text/tokenizer.h"

struct inspect_tokenizer {
    struct tokenizer *tokenizer;
    struct tokenizer_scratch *scratch;
    struct tokenizer_options options;
    struct encoding encoding;
    struct view *tokens; /* [tokens_room] */
    uint32_t tokens_room;
};

/* The limit of the model files, where there are any. */
static enum status limit_read(const char *dir, uint32_t *tokens_max, struct error *err) {
    char path[PATH_MAX];
    struct arena arena;
    struct config config;
    if (snprintf(path, sizeof path, "%s/config.json", dir) >= (int)sizeof path ||
        access(path, F_OK) != 0)
        return STATUS_OK;
    arena_init(&arena, LIMIT_MODEL_ARENA_BYTES);
    enum status status = config_open(dir, &arena, &config, err);
    if (status == STATUS_OK)
        *tokens_max = config.values.tokens_max;
    arena_free(&arena);
    return status;
}

enum status inspect_tokenizer_open(const char *dir, struct inspect_tokenizer **out,
                                   struct error *err) {
    struct inspect_tokenizer *inspect = calloc(1, sizeof *inspect);
    uint32_t limit = 0;
    *out = NULL;
    if (!inspect)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a tokenizer");
    encoding_init(&inspect->encoding);
    enum status status = tokenizer_open(dir, &inspect->tokenizer, err);
    if (status == STATUS_OK)
        status = limit_read(dir, &limit, err);
    if (status == STATUS_OK) {
        inspect->options = tokenizer_file_options(inspect->tokenizer);
        /* What serves the model counts on its limit, not on what the tokenizer's file asks for. */
        if (limit > 0)
            inspect->options = (struct tokenizer_options){.tokens_max = limit};
        inspect->options.add_special_tokens = true;
        status = tokenizer_scratch_open(inspect->tokenizer, &inspect->scratch);
        if (status != STATUS_OK)
            error_set(err, status, "no memory for a tokenizer");
    }
    if (status != STATUS_OK)
        inspect_tokenizer_close(inspect);
    else
        *out = inspect;
    return status;
}

void inspect_tokenizer_close(struct inspect_tokenizer *inspect) {
    if (!inspect)
        return;
    free(inspect->tokens);
    encoding_free(&inspect->encoding);
    tokenizer_scratch_close(inspect->scratch);
    tokenizer_close(inspect->tokenizer);
    free(inspect);
}

uint32_t inspect_tokenizer_limit(const struct inspect_tokenizer *inspect) {
    return inspect->options.tokens_max;
}

/* A position in a text in both units. Offsets mostly grow, so the count goes on from the last. */
struct cursor {
    struct view text;
    uint32_t byte, code_point;
};

static bool starts_code_point(struct view text, uint32_t byte) {
    return ((unsigned char)text.data[byte] & 0xC0) != 0x80;
}

/* The code points before `byte`. */
static uint32_t cursor_move(struct cursor *cursor, uint32_t byte) {
    while (cursor->byte < byte && cursor->byte < cursor->text.bytes)
        cursor->code_point += starts_code_point(cursor->text, cursor->byte++);
    while (cursor->byte > byte)
        cursor->code_point -= starts_code_point(cursor->text, --cursor->byte);
    return cursor->code_point;
}

static enum status tokens_reserve(struct inspect_tokenizer *inspect, uint32_t count,
                                  struct error *err) {
    if (count <= inspect->tokens_room)
        return STATUS_OK;
    struct view *more = realloc(inspect->tokens, count * sizeof *more);
    if (!more)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u tokens", count);
    inspect->tokens = more;
    inspect->tokens_room = count;
    return STATUS_OK;
}

enum status inspect_tokenize(struct inspect_tokenizer *inspect, struct view text,
                             const struct view *pair, struct inspect_encoding *out,
                             struct error *err) {
    struct encoding *encoding = &inspect->encoding;
    struct cursor cursors[2] = {{.text = text}, {.text = pair ? *pair : (struct view){0}}};
    enum status status = tokenizer_encode(inspect->tokenizer, inspect->scratch, text, pair,
                                          &inspect->options, encoding, err);
    if (status == STATUS_OK)
        status = tokens_reserve(inspect, encoding->count, err);
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < encoding->count; i++) {
        inspect->tokens[i] = tokenizer_token(inspect->tokenizer, encoding->ids[i]);
        if (encoding->specials[i])
            continue;
        struct cursor *cursor = &cursors[encoding->segments[i]];
        encoding->starts[i] = cursor_move(cursor, encoding->starts[i]);
        encoding->ends[i] = cursor_move(cursor, encoding->ends[i]);
    }
    *out = (struct inspect_encoding){
        .count = encoding->count,
        .ids = encoding->ids,
        .tokens = inspect->tokens,
        .starts = encoding->starts,
        .ends = encoding->ends,
        .type_ids = encoding->type_ids,
        .segments = encoding->segments,
        .special_tokens_mask = encoding->specials,
        .truncated = encoding->truncated,
        .count_whole = encoding->count_whole,
    };
    return STATUS_OK;
}
