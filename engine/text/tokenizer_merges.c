/* tokenizer_merges.c: vocab.json with merges.txt into the parts of a tokenizer, for checkpoints
 * that have no tokenizer.json: byte-level BPE as the pinned `transformers` builds it for RoBERTa.
 * Its <mask> takes no blank before it unless a file says so. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/limits.h"
#include "engine/text/tokenizer_json.h"
#include "engine/text/tokenizer_settings.h"
#include "engine/text/utf8.h"

static const char *const USUAL[SPECIAL_ROLES] = {"<s>",   "</s>", "<unk>", "</s>",
                                                 "<pad>", "<s>",  "<mask>"};

/* The next line, without its end. False behind the last one. */
static bool take_line(struct view *text, struct view *line) {
    if (text->bytes == 0)
        return false;
    const char *end = memchr(text->data, '\n', text->bytes);
    size_t bytes = end == NULL ? text->bytes : (size_t)(end - text->data);
    *line = (struct view){text->data, bytes};
    size_t step = end == NULL ? bytes : bytes + 1;
    *text = (struct view){text->data + step, text->bytes - step};
    if (end != NULL && bytes > 0 && line->data[bytes - 1] == '\r')
        line->bytes--;
    return true;
}

static bool is_version(struct view line) {
    return line.bytes >= 8 && memcmp(line.data, "#version", 8) == 0;
}

static enum status add_merges(struct tokenizer *tokenizer, struct view text, struct error *err) {
    struct bpe *bpe = &tokenizer->model.bpe;
    const struct bpe_settings settings = {.unknown = {NULL, 0}};
    size_t lines = 0;
    struct view rest = text, line;
    while (take_line(&rest, &line))
        lines++;
    enum status status = bpe_init(bpe, &tokenizer->vocabulary.trie, &settings, lines, err);
    if (status == STATUS_OK)
        tokenizer->model.kind = TOKEN_MODEL_BPE;
    rest = text;
    while (status == STATUS_OK && take_line(&rest, &line))
        if (!is_version(line))
            status = bpe_add_merge_line(bpe, line, err);
    return status;
}

static enum status read_merges(struct tokenizer *tokenizer, const char *path, struct error *err) {
    char *data = NULL;
    size_t bytes = 0, fault;
    enum status status = file_read(path, LIMIT_TOKENIZER_FILE_BYTES, &data, &bytes, err);
    if (status != STATUS_OK)
        return status;
    if (!utf8_check((struct view){data, bytes}, &fault))
        status = error_set(err, STATUS_BAD_FILE, "not valid UTF-8 at byte %zu", fault);
    else
        status = add_merges(tokenizer, (struct view){data, bytes}, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", path);
    free(data);
    return status;
}

static enum status read_vocab(struct tokenizer *tokenizer, const char *path, struct error *err) {
    json_t *vocab;
    enum status status = json_file_read(path, false, &vocab, err);
    if (status != STATUS_OK)
        return status;
    status = tokenizer_json_read_ids(tokenizer, (struct json_place){vocab, "", err, 0});
    if (status != STATUS_OK)
        error_prefix(err, "%s", path);
    json_decref(vocab);
    return status;
}

/* The parts around the model. */
static enum status add_parts(struct tokenizer *tokenizer, struct tokenizer_settings *settings,
                             struct error *err) {
    bool prefix_space = false, trim = true, splits_specials = false;
    enum status status = tokenizer_settings_flag(settings, "add_prefix_space", &prefix_space, err);
    if (status == STATUS_OK)
        status = tokenizer_settings_flag(settings, "trim_offsets", &trim, err);
    if (status == STATUS_OK)
        status = tokenizer_settings_flag(settings, "split_special_tokens", &splits_specials, err);
    if (status == STATUS_OK && splits_specials)
        status = error_set(err, STATUS_UNSUPPORTED, "split_special_tokens is not supported");
    if (status == STATUS_OK)
        status = tokenizer_settings_read_roles(settings, USUAL, err);
    if (status == STATUS_OK)
        status = pretokenizer_add_byte_level(&tokenizer->pretokenizer, prefix_space, true);
    const struct decoder_step decoder = {.kind = DECODER_BYTE_LEVEL};
    tokenizer->decoder.present = true;
    if (status == STATUS_OK)
        status = decoder_add(&tokenizer->decoder, &decoder);
    if (status == STATUS_OK)
        status = tokenizer_settings_add_tokens(settings, tokenizer, NULL, 0, err);
    if (status != STATUS_OK)
        return status;
    int32_t cls = tokenizer_find(tokenizer, settings->roles[SPECIAL_CLS].content);
    int32_t sep = tokenizer_find(tokenizer, settings->roles[SPECIAL_SEP].content);
    if (cls < 0 || sep < 0)
        return error_set(err, STATUS_BAD_FILE, "cls_token or sep_token is empty");
    tokenizer_begin_templates(tokenizer);
    if (trim)
        status = tokenizer_add_offset_trim(tokenizer, prefix_space);
    if (status == STATUS_OK)
        status = tokenizer_add_roberta_templates(tokenizer, cls, sep);
    tokenizer_end_templates(tokenizer);
    return status;
}

static enum status check_class(const struct tokenizer_settings *settings, struct error *err) {
    struct view said = settings->class_name.bytes > 0 ? settings->class_name : settings->model_type;
    bool right = settings->class_name.bytes > 0 ? view_equals_c(said, "RobertaTokenizer")
                                                : view_equals_c(said, "roberta");
    return right ? STATUS_OK
                 : error_set(err, STATUS_UNSUPPORTED,
                             "vocab.json with merges.txt of a \"%.*s\" is not supported; a "
                             "tokenizer.json would be",
                             view_shown(said), said.data);
}

enum status tokenizer_read_merges(struct tokenizer *tokenizer, const char *dir, struct error *err) {
    char vocab[PATH_MAX], merges[PATH_MAX];
    int length = snprintf(vocab, sizeof vocab, "%s/vocab.json", dir);
    if (length < 0 || (size_t)length >= sizeof vocab)
        return error_set(err, STATUS_IO, "the path of the model directory is too long");
    length = snprintf(merges, sizeof merges, "%s/merges.txt", dir);
    if (length < 0 || (size_t)length >= sizeof merges)
        return error_set(err, STATUS_IO, "the path of the model directory is too long");
    struct tokenizer_settings settings;
    enum status status = tokenizer_settings_open(dir, &settings, err);
    if (status != STATUS_OK)
        return status;
    status = check_class(&settings, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", dir);
    if (status == STATUS_OK)
        status = read_vocab(tokenizer, vocab, err);
    if (status == STATUS_OK)
        status = read_merges(tokenizer, merges, err);
    if (status == STATUS_OK) {
        status = add_parts(tokenizer, &settings, err);
        if (status == STATUS_NO_MEMORY)
            error_set(err, status, "no memory for the tokenizer");
        if (status != STATUS_OK)
            error_prefix(err, "%s", dir);
    }
    tokenizer->file_options.add_special_tokens = true;
    tokenizer_settings_close(&settings);
    return status;
}
