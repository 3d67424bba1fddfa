/* tokenizer.c: runs the steps of an encoding in their order, over the parts that a file filled.
 *
 * raw text -> added tokens of the raw text -> per piece: normalizer -> added tokens of the
 * normalised text -> pre-tokenizer -> model -> list of tokens; both lists -> truncation ->
 * template -> encoding. */
#include "engine/text/tokenizer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/limits.h"
#include "engine/text/encode_finish.h"
#include "engine/text/offset_trim.h"
#include "engine/text/tokenizer_parts.h"
#include "engine/text/truncation.h"
#include "engine/text/utf8.h"

enum {
    CHUNK_BYTES = 1 << 14,     /* long texts are normalised in chunks of about this, if they may */
    SCRATCH_KEPT_MAX = 1 << 21 /* code points or tokens that a scratch keeps between texts */
};

struct tokenizer_scratch {
    struct normal_text text;
    struct pretokenizer_scratch words;
    struct token_list segments[2];
    struct token_model_scratch model;
    struct added_matches raw_matches, normal_matches;
    struct finish finish; /* of the last input */
};

static enum status tokenizer_new(struct tokenizer **out, struct error *err) {
    struct tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    *out = tokenizer;
    if (tokenizer == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the tokenizer");
    vocabulary_init(&tokenizer->vocabulary);
    added_tokens_init(&tokenizer->added);
    decoder_init(&tokenizer->decoder);
    return STATUS_OK;
}

static enum status read_json_file(struct tokenizer *tokenizer, const char *path,
                                  struct error *err) {
    char *data;
    size_t bytes;
    enum status status = file_read(path, LIMIT_TOKENIZER_FILE_BYTES, &data, &bytes, err);
    if (status != STATUS_OK)
        return status;
    status = tokenizer_read_json(tokenizer, (struct view){data, bytes}, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", path);
    free(data);
    return status;
}

/* Whether the directory, whose path is not too long, has the file. */
static bool is_there(const char *dir, const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return file_exists(path);
}

/* Reads whatever files the directory has into an empty tokenizer. */
static enum status read_files(struct tokenizer *tokenizer, const char *dir, struct error *err) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/special_tokens_map.json", dir);
    if (length < 0 || (size_t)length >= sizeof path) /* the longest name that is looked for */
        return error_set(err, STATUS_IO, "the path of the model directory is too long");
    static const char *const SPM_NAMES[] = {"spiece.model", "sentencepiece.bpe.model", "spm.model",
                                            "tokenizer.model"};
    size_t spm = 0, spm_count = sizeof SPM_NAMES / sizeof *SPM_NAMES;
    while (spm < spm_count && !is_there(dir, SPM_NAMES[spm]))
        spm++;
    enum status status;
    if (is_there(dir, "tokenizer.json")) {
        snprintf(path, sizeof path, "%s/tokenizer.json", dir);
        status = read_json_file(tokenizer, path, err);
    } else if (is_there(dir, "vocab.txt")) {
        status = tokenizer_read_vocab(tokenizer, dir, err);
    } else if (spm < spm_count) {
        status = tokenizer_read_spm(tokenizer, dir, SPM_NAMES[spm], err);
    } else if (is_there(dir, "vocab.json") && is_there(dir, "merges.txt")) {
        status = tokenizer_read_merges(tokenizer, dir, err);
    } else {
        return error_set(err, STATUS_IO,
                         "%s: neither tokenizer.json nor vocab.txt is there, nor vocab.json with "
                         "merges.txt, nor a sentencepiece model",
                         dir);
    }
    if (status == STATUS_OK)
        status = tokenizer_read_roles(tokenizer, dir, err);
    return status == STATUS_OK ? tokenizer_read_config(tokenizer, dir, err) : status;
}

/* Hands the tokenizer out, or closes it after a failure. */
static enum status opened(enum status status, struct tokenizer *tokenizer, struct tokenizer **out,
                          struct error *err) {
    *out = tokenizer;
    if (status == STATUS_OK && added_tokens_build(&tokenizer->added) != STATUS_OK)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for the added tokens");
    if (status != STATUS_OK) {
        tokenizer_close(tokenizer);
        *out = NULL;
    }
    return status;
}

enum status tokenizer_open(const char *dir, struct tokenizer **out, struct error *err) {
    struct tokenizer *tokenizer;
    enum status status = tokenizer_new(&tokenizer, err);
    if (status == STATUS_OK)
        status = read_files(tokenizer, dir, err);
    return opened(status, tokenizer, out, err);
}

enum status tokenizer_open_json(struct view json, struct tokenizer **out, struct error *err) {
    struct tokenizer *tokenizer;
    enum status status = tokenizer_new(&tokenizer, err);
    if (status == STATUS_OK)
        status = tokenizer_read_json(tokenizer, json, err);
    return opened(status, tokenizer, out, err);
}

void tokenizer_close(struct tokenizer *tokenizer) {
    if (tokenizer != NULL) {
        token_model_free(&tokenizer->model);
        normalizer_free(&tokenizer->normalizer);
        pretokenizer_free(&tokenizer->pretokenizer);
        vocabulary_free(&tokenizer->vocabulary);
        added_tokens_free(&tokenizer->added);
        decoder_free(&tokenizer->decoder);
        free(tokenizer);
    }
}

enum status tokenizer_scratch_open(const struct tokenizer *tokenizer,
                                   struct tokenizer_scratch **out) {
    (void)tokenizer;
    *out = calloc(1, sizeof **out);
    return *out == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

void tokenizer_scratch_close(struct tokenizer_scratch *scratch) {
    if (scratch != NULL) {
        normal_text_free(&scratch->text);
        pretokenizer_scratch_free(&scratch->words);
        token_model_scratch_free(&scratch->model);
        token_list_free(&scratch->segments[0]);
        token_list_free(&scratch->segments[1]);
        added_matches_free(&scratch->raw_matches);
        added_matches_free(&scratch->normal_matches);
        free(scratch);
    }
}

/* Gives back what an unusually long text made the scratch grow to. */
static void scratch_trim(struct tokenizer_scratch *scratch) {
    if (scratch->text.now.capacity + scratch->text.next.capacity > SCRATCH_KEPT_MAX)
        normal_text_free(&scratch->text);
    if (pretokenizer_scratch_capacity(&scratch->words) > SCRATCH_KEPT_MAX)
        pretokenizer_scratch_free(&scratch->words);
    token_model_scratch_trim(&scratch->model, SCRATCH_KEPT_MAX);
    for (int i = 0; i < 2; i++)
        if (scratch->segments[i].capacity > SCRATCH_KEPT_MAX)
            token_list_free(&scratch->segments[i]);
    if (scratch->raw_matches.capacity + scratch->normal_matches.capacity > SCRATCH_KEPT_MAX) {
        added_matches_free(&scratch->raw_matches);
        added_matches_free(&scratch->normal_matches);
    }
}

enum status tokenizer_add_token(struct tokenizer *tokenizer, struct added_token token, int64_t id,
                                struct view content, struct error *err) {
    struct added_tokens *added = &tokenizer->added;
    if (content.bytes == 0)
        return STATUS_OK;
    token.id = tokenizer_find(tokenizer, content);
    bool known = token.id >= 0;
    if (!known) {
        uint32_t next = tokenizer->vocabulary.ids_count;
        if (added->names.ids_count > next)
            next = added->names.ids_count;
        token.id = (int32_t)next;
    }
    if (id >= 0 && id != token.id)
        return error_set(err, STATUS_BAD_FILE, "id %lld contradicts the vocabulary, which gives %d",
                         (long long)id, token.id);
    enum status status = STATUS_OK;
    if (!known)
        status = vocabulary_add(&added->names, content, token.id, err);
    return status == STATUS_OK
               ? added_tokens_add(added, &token, content, &tokenizer->normalizer, err)
               : status;
}

/* What a word needs on its way to the list of tokens. */
struct sink {
    const struct tokenizer *tokenizer;
    struct token_model_scratch *scratch;
    struct token_list *tokens;
    struct error *err;
};

static enum status tokenize_word(void *context, const struct normal_char *word, size_t count) {
    struct sink *sink = context;
    return token_model_tokenize(&sink->tokenizer->model, sink->scratch, word, count, sink->tokens,
                                sink->err);
}

/* Appends an added token that was matched in the normalised text. */
static enum status add_normal_token(const struct tokenizer *tokenizer, int32_t id,
                                    const struct normal_char *chars, size_t count,
                                    struct token_list *tokens) {
    struct token token = {id, chars[0].start, chars[count - 1].end};
    if (!tokenizer->trims_offsets)
        return token_list_add(tokens, token);
    return token_list_add_surface(tokens, token, offset_trim_count_chars(chars, count));
}

/* Bytes [start, end) hold no added token of the raw text: the steps from the normalizer on. */
static enum status encode_plain(const struct tokenizer *tokenizer,
                                struct tokenizer_scratch *scratch, struct view original,
                                size_t start, size_t end, struct token_list *tokens,
                                struct error *err) {
    struct sink sink = {tokenizer, &scratch->model, tokens, err};
    struct normal_text *text = &scratch->text;
    enum status status = normal_text_set(text, original, start, end);
    if (status == STATUS_OK)
        status = normalizer_apply(&tokenizer->normalizer, text);
    const struct normal_buffer *now = &text->now;
    if (status != STATUS_OK || tokenizer->added.normal.count == 0)
        return status != STATUS_OK
                   ? status
                   : pretokenizer_apply(&tokenizer->pretokenizer, &scratch->words, now->chars,
                                        now->count, tokenize_word, &sink);
    status = added_tokens_scan_normal(&tokenizer->added, now, &scratch->normal_matches);
    struct added_search search = added_search_start(&scratch->normal_matches);
    struct added_piece piece;
    while (status == STATUS_OK &&
           added_tokens_next_normal(&tokenizer->added, now, &search, &piece)) {
        const struct normal_char *chars = now->chars + piece.start;
        size_t count = piece.end - piece.start;
        if (piece.id < 0)
            status = pretokenizer_apply(&tokenizer->pretokenizer, &scratch->words, chars, count,
                                        tokenize_word, &sink);
        else
            status = add_normal_token(tokenizer, piece.id, chars, count, tokens);
    }
    return status;
}

/* Where the chunk that starts at `start` may end: at the text's end, or in front of a blank behind
 * a printable ASCII character, if no step looks across that. Added tokens in the normalised text
 * could reach across. */
static size_t chunk_end(const struct tokenizer *tokenizer, struct view text, size_t start,
                        size_t end) {
    if (end - start <= CHUNK_BYTES || tokenizer->added.normal.count > 0 ||
        !normalizer_cuts_at_blank(&tokenizer->normalizer) ||
        !pretokenizer_cuts_at_blank(&tokenizer->pretokenizer))
        return end;
    for (size_t at = start + CHUNK_BYTES; at < end; at++) {
        const char *blank = memchr(text.data + at, ' ', end - at);
        if (blank == NULL)
            return end;
        at = (size_t)(blank - text.data);
        if (blank[-1] > ' ' && blank[-1] < 0x7F)
            return at;
    }
    return end;
}

static enum status encode_segment(const struct tokenizer *tokenizer,
                                  struct tokenizer_scratch *scratch, struct view text,
                                  struct token_list *tokens, struct error *err) {
    if (text.bytes > LIMIT_TEXT_BYTES)
        return error_set(err, STATUS_INPUT_TOO_LONG, "the text has %zu bytes, the limit is %llu",
                         text.bytes, (unsigned long long)LIMIT_TEXT_BYTES);
    size_t fault = 0;
    if (!utf8_check(text, &fault))
        return error_set(err, STATUS_INVALID_UTF8, "the text is not valid UTF-8 at byte %zu",
                         fault);
    token_list_clear(tokens);
    enum status status = added_tokens_scan_raw(&tokenizer->added, text, &scratch->raw_matches);
    struct added_search search = added_search_start(&scratch->raw_matches);
    struct added_piece piece;
    while (status == STATUS_OK && added_tokens_next_raw(&tokenizer->added, text, &search, &piece)) {
        if (piece.id >= 0) {
            struct view matched = {text.data + piece.start, piece.end - piece.start};
            struct token token = {piece.id, (uint32_t)piece.start, (uint32_t)piece.end};
            status = tokenizer->trims_offsets
                         ? token_list_add_surface(tokens, token, offset_trim_count(matched))
                         : token_list_add(tokens, token);
            continue;
        }
        for (size_t at = piece.start; status == STATUS_OK && at < piece.end;) {
            size_t end = chunk_end(tokenizer, text, at, piece.end);
            status = encode_plain(tokenizer, scratch, text, at, end, tokens, err);
            at = end;
        }
    }
    if (status == STATUS_INPUT_TOO_LONG)
        return error_set(err, status,
                         "the text is too much work for the tokenizer's patterns, or becomes "
                         "too long");
    return status == STATUS_NO_MEMORY ? error_set(err, status, "no memory for the text") : status;
}

enum status tokenizer_encode(const struct tokenizer *tokenizer, struct tokenizer_scratch *scratch,
                             struct view text, const struct view *pair,
                             const struct tokenizer_options *options, struct encoding *out,
                             struct error *err) {
    struct finish *finish = &scratch->finish;
    *finish = (struct finish){.options = *options, .pair = pair != NULL};
    out->count = 0;
    scratch_trim(scratch);
    finish->segments[0] = (struct finish_segment){.text = text, .tokens = &scratch->segments[0]};
    enum status status = encode_segment(tokenizer, scratch, text, &scratch->segments[0], err);
    if (status == STATUS_OK && pair != NULL) {
        finish->segments[1] =
            (struct finish_segment){.text = *pair, .tokens = &scratch->segments[1]};
        status = encode_segment(tokenizer, scratch, *pair, &scratch->segments[1], err);
    }
    if (status == STATUS_OK)
        status = finish_encode(finish, tokenizer, out, err);
    if (!options->keep_overflow)
        scratch_trim(scratch);
    return status;
}

uint64_t tokenizer_overflow_count(const struct tokenizer_scratch *scratch) {
    return scratch->finish.overflow_count;
}

enum status tokenizer_overflow(const struct tokenizer *tokenizer,
                               const struct tokenizer_scratch *scratch, uint64_t index,
                               struct encoding *out, struct error *err) {
    return finish_overflow(&scratch->finish, tokenizer, index, out, err);
}

uint32_t tokenizer_windows_count(const struct tokenizer *tokenizer, uint32_t content_count,
                                 uint32_t tokens_max, uint32_t stride) {
    uint32_t specials = tokenizer->templates[0][1].special_count;
    return truncation_windows(content_count, tokens_max - specials, stride);
}

uint32_t tokenizer_window_write(const struct tokenizer *tokenizer, const int32_t *content_ids,
                                uint32_t content_count, uint32_t tokens_max, uint32_t stride,
                                uint32_t index, int32_t *ids, uint8_t *type_ids) {
    const struct token_template *template = &tokenizer->templates[0][1];
    uint32_t window = tokens_max - template->special_count;
    uint32_t start = index * (window - stride), written = 0;
    uint32_t kept = content_count > start ? content_count - start : 0;
    kept = kept < window ? kept : window;
    for (uint32_t i = 0; i < template->pieces_count; i++) {
        const struct template_piece *piece = &template->pieces[i];
        uint32_t count = piece->id >= 0 ? 1 : kept;
        for (uint32_t k = 0; k < count; k++) {
            ids[written] = piece->id >= 0 ? piece->id : content_ids[start + k];
            type_ids[written++] = piece->type_id;
        }
    }
    return written;
}

struct tokenizer_options tokenizer_file_options(const struct tokenizer *tokenizer) {
    return tokenizer->file_options;
}

uint32_t tokenizer_ids_count(const struct tokenizer *tokenizer) {
    uint32_t model = tokenizer->vocabulary.ids_count, added = tokenizer->added.names.ids_count;
    return model > added ? model : added;
}

struct view tokenizer_token(const struct tokenizer *tokenizer, int32_t id) {
    struct view form = added_tokens_form(&tokenizer->added, id);
    if (form.data != NULL)
        return form;
    struct view token = vocabulary_token(&tokenizer->vocabulary, id);
    return token.data != NULL ? token : vocabulary_token(&tokenizer->added.names, id);
}

int32_t tokenizer_find(const struct tokenizer *tokenizer, struct view token) {
    int32_t id = vocabulary_find(&tokenizer->vocabulary, token);
    return id >= 0 ? id : vocabulary_find(&tokenizer->added.names, token);
}

uint64_t tokenizer_model_max_length(const struct tokenizer *tokenizer) {
    return tokenizer->model_max_length;
}
