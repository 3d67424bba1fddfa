/* tokenizer_decode.c: ids back into text: ids -> tokens -> decoder -> one string. */
#include <stdlib.h>

#include "engine/text/decoder.h"
#include "engine/text/tokenizer_parts.h"

/* Whether an id is of a special token. The library asks that of what it shows as the token. */
static bool is_special(const struct tokenizer *tokenizer, int32_t id) {
    struct view form = added_tokens_form(&tokenizer->added, id);
    return added_tokens_is_special(&tokenizer->added,
                                   form.data == NULL ? id : tokenizer_find(tokenizer, form));
}

/* Appends the tokens of the ids that have one. */
static enum status gather(const struct tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                          bool skip_special_tokens, struct pieces *pieces) {
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++) {
        struct view token = tokenizer_token(tokenizer, ids[i]);
        if (token.data == NULL || (skip_special_tokens && is_special(tokenizer, ids[i])))
            continue;
        status = pieces_append(pieces, token);
        if (status == STATUS_OK)
            status = pieces_close(pieces);
    }
    return status;
}

static enum status decode(const struct tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                          bool skip_special_tokens, bool clean_up, char **out, size_t *bytes,
                          struct error *err) {
    struct pieces pieces;
    pieces_init(&pieces);
    *out = NULL;
    enum status status = gather(tokenizer, ids, count, skip_special_tokens, &pieces);
    if (status == STATUS_OK)
        status = decoder_apply(&tokenizer->decoder, &pieces);
    if (status == STATUS_OK && clean_up)
        status = decoder_clean_up(&pieces);
    size_t length = pieces.bytes_count;
    if (status == STATUS_OK)
        status = pieces_append(&pieces, (struct view){"", 1});
    if (status != STATUS_OK) {
        pieces_free(&pieces);
        return error_set(err, status,
                         status == STATUS_NO_MEMORY ? "no memory for the text"
                                                    : "the ids decode to too long a text");
    }
    free(pieces.ends);
    *out = pieces.bytes;
    if (bytes != NULL)
        *bytes = length;
    return STATUS_OK;
}

enum status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                             bool skip_special_tokens, char **out, size_t *bytes,
                             struct error *err) {
    return decode(tokenizer, ids, count, skip_special_tokens, false, out, bytes, err);
}

enum status tokenizer_decode_clean(const struct tokenizer *tokenizer, const int32_t *ids,
                                   uint32_t count, bool skip_special_tokens, char **out,
                                   size_t *bytes, struct error *err) {
    return decode(tokenizer, ids, count, skip_special_tokens, tokenizer->clean_up, out, bytes, err);
}
