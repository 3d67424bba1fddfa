/* tokenize.c: a tokenizer for people: tokens as text, offsets in code points. */
#include <stdlib.h>

#include "engine/engine_internal.h"
#include "engine/model/token_limit.h"
#include "engine/text/tokenizer.h"
#include "engine/tokenize.h"

struct engine_tokenizer {
    struct tokenizer *owned; /* of a directory; NULL: the engine's */
    const struct tokenizer *tokenizer;
    struct tokenizer_scratch *scratch;
    struct tokenizer_options options;
    struct encoding encoding;
    struct view *tokens; /* [2 * tokens_room] tokens, then texts */
    uint32_t tokens_room;
};

/* The handle without a tokenizer. */
static enum status handle_new(struct engine_tokenizer **out, struct error *err) {
    struct engine_tokenizer *handle = calloc(1, sizeof *handle);
    *out = handle;
    if (!handle)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a tokenizer");
    encoding_init(&handle->encoding);
    return STATUS_OK;
}

/* Opens the scratch and hands the handle out, or closes it after a failure. */
static enum status handle_opened(enum status status, struct engine_tokenizer *handle,
                                 struct engine_tokenizer **out, struct error *err) {
    *out = NULL;
    if (status == STATUS_OK) {
        status = tokenizer_scratch_open(handle->tokenizer, &handle->scratch);
        if (status != STATUS_OK)
            error_set(err, status, "no memory for a tokenizer");
    }
    if (status != STATUS_OK)
        engine_tokenizer_close(handle);
    else
        *out = handle;
    return status;
}

enum status engine_tokenizer_open(const struct engine *engine, struct engine_tokenizer **out,
                                  struct error *err) {
    struct engine_tokenizer *handle;
    enum status status = handle_new(&handle, err);
    if (status == STATUS_OK) {
        handle->tokenizer = engine->tokenizer;
        handle->options = (struct tokenizer_options){.add_special_tokens = true,
                                                     .tokens_max = engine->info.tokens_max};
    }
    return handle_opened(status, handle, out, err);
}

enum status engine_tokenizer_open_dir(const char *dir, struct engine_tokenizer **out,
                                      struct error *err) {
    struct engine_tokenizer *handle;
    uint32_t limit = 0;
    enum status status = handle_new(&handle, err);
    if (status == STATUS_OK)
        status = tokenizer_open(dir, &handle->owned, err);
    if (status == STATUS_OK)
        status = token_limit_find(dir, &limit, err);
    if (status == STATUS_OK) {
        handle->tokenizer = handle->owned;
        handle->options = tokenizer_file_options(handle->tokenizer);
        /* What serves the model counts on its limit, not on what the tokenizer's file asks for. */
        if (limit > 0)
            handle->options = (struct tokenizer_options){.tokens_max = limit};
        handle->options.add_special_tokens = true;
    }
    return handle_opened(status, handle, out, err);
}

void engine_tokenizer_close(struct engine_tokenizer *handle) {
    if (!handle)
        return;
    free(handle->tokens);
    encoding_free(&handle->encoding);
    tokenizer_scratch_close(handle->scratch);
    tokenizer_close(handle->owned);
    free(handle);
}

uint32_t engine_tokenizer_limit(const struct engine_tokenizer *handle) {
    return handle->options.tokens_max;
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

static enum status tokens_reserve(struct engine_tokenizer *handle, uint32_t count,
                                  struct error *err) {
    if (count <= handle->tokens_room)
        return STATUS_OK;
    struct view *more = reallocarray(handle->tokens, (size_t)count * 2, sizeof *more);
    if (!more)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u tokens", count);
    handle->tokens = more;
    handle->tokens_room = count;
    return STATUS_OK;
}

enum status engine_tokenize(struct engine_tokenizer *handle, struct view text,
                            const struct view *pair, const struct engine_tokenize_options *options,
                            struct engine_tokens *out, struct error *err) {
    struct encoding *encoding = &handle->encoding;
    struct cursor cursors[2] = {{.text = text}, {.text = pair ? *pair : (struct view){0}}};
    struct tokenizer_options own = handle->options;
    if (options) {
        own.add_special_tokens = options->add_special_tokens;
        own.side = options->side == TRUNCATION_LEFT ? TOKENIZER_LEFT : TOKENIZER_RIGHT;
        if (!options->truncate)
            own.tokens_max = 0;
    }
    enum status status =
        tokenizer_encode(handle->tokenizer, handle->scratch, text, pair, &own, encoding, err);
    if (status == STATUS_OK)
        status = tokens_reserve(handle, encoding->count, err);
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < encoding->count; i++) {
        struct view *of = &handle->tokens[handle->tokens_room + i];
        handle->tokens[i] = tokenizer_token(handle->tokenizer, encoding->ids[i]);
        *of = (struct view){"", 0};
        if (encoding->specials[i])
            continue;
        struct cursor *cursor = &cursors[encoding->segments[i]];
        if (encoding->ends[i] > encoding->starts[i])
            *of = (struct view){cursor->text.data + encoding->starts[i],
                                encoding->ends[i] - encoding->starts[i]};
        encoding->starts[i] = cursor_move(cursor, encoding->starts[i]);
        encoding->ends[i] = cursor_move(cursor, encoding->ends[i]);
    }
    *out = (struct engine_tokens){
        .count = encoding->count,
        .ids = encoding->ids,
        .tokens = handle->tokens,
        .texts = handle->tokens + handle->tokens_room,
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

enum status engine_detokenize(struct engine_tokenizer *handle, const int32_t *ids, uint32_t count,
                              bool skip_special_tokens, bool clean_up, char **text, size_t *bytes,
                              struct error *err) {
    return clean_up ? tokenizer_decode_clean(handle->tokenizer, ids, count, skip_special_tokens,
                                             text, bytes, err)
                    : tokenizer_decode(handle->tokenizer, ids, count, skip_special_tokens, text,
                                       bytes, err);
}
