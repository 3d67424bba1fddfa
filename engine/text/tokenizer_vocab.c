/* tokenizer_vocab.c: vocab.txt with tokenizer_config.json into the parts of a tokenizer, for
 * checkpoints that have no tokenizer.json; and model_max_length, which stands beside either. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/limits.h"
#include "engine/text/json_field.h"
#include "engine/text/tokenizer_parts.h"
#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

enum { WORD_CHARS_MAX = 100 };

/* A larger model_max_length is the mark of tokenizers that know no limit. */
static const double MODEL_MAX_LENGTH_MEANT = 1e9;

static void join(char path[PATH_MAX], const char *dir, const char *name) {
    snprintf(path, PATH_MAX, "%s/%s", dir, name);
}

/* The configuration, or NULL in *out when there is none. */
static enum status read_config(const char *dir, const char *name, json_t **out, struct error *err) {
    char path[PATH_MAX];
    join(path, dir, name);
    *out = NULL;
    return file_exists(path) ? json_file_read(path, true, out, err) : STATUS_OK;
}

static enum status read_max_length(struct tokenizer *tokenizer, struct json_place config) {
    const json_t *length = json_object_get(config.object, "model_max_length");
    if (length != NULL && !json_is_null(length) &&
        (!json_is_real(length) || json_real_value(length) < 1))
        return json_field_fault(config, "model_max_length", STATUS_BAD_FILE,
                                "is not a number above 0");
    if (json_is_real(length) && json_real_value(length) < MODEL_MAX_LENGTH_MEANT)
        tokenizer->model_max_length = (uint64_t)json_real_value(length);
    return STATUS_OK;
}

enum status tokenizer_read_config(struct tokenizer *tokenizer, const char *dir, struct error *err) {
    struct json_place config = {NULL, "", err, 0};
    bool despite_bpe = false;
    enum status status = read_config(dir, "tokenizer_config.json", &config.object, err);
    if (status != STATUS_OK || config.object == NULL)
        return status;
    status = read_max_length(tokenizer, config);
    if (status == STATUS_OK)
        status =
            json_field_bool_optional(config, "clean_up_tokenization_spaces", &tokenizer->clean_up);
    if (status == STATUS_OK)
        status = json_field_bool_optional(
            config, "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
            &despite_bpe);
    if (tokenizer->model.kind == TOKEN_MODEL_BPE && !despite_bpe)
        tokenizer->clean_up = false;
    if (status != STATUS_OK)
        error_prefix(err, "%s/tokenizer_config.json", dir);
    json_decref(config.object);
    return status;
}

/* The line without white space at its end, as the pinned library reads it. */
static struct view trim_end(struct view line) {
    while (line.bytes > 0) {
        size_t start = utf8_back(line.data, line.bytes);
        if (!unicode_is(utf8_decode(line.data + start), UNICODE_SPACE))
            break;
        line.bytes = start;
    }
    return line;
}

/* One token a line; its number is its id. Of equal lines the last one counts. */
static enum status read_lines(struct tokenizer *tokenizer, const char *path, struct error *err) {
    char *data;
    size_t bytes, fault, at = 0;
    enum status status = file_read(path, LIMIT_TOKENIZER_FILE_BYTES, &data, &bytes, err);
    if (status != STATUS_OK)
        return status;
    if (!utf8_check((struct view){data, bytes}, &fault))
        status = error_set(err, STATUS_BAD_FILE, "%s: not valid UTF-8 at byte %zu", path, fault);
    for (int64_t id = 0; status == STATUS_OK && at < bytes; id++) {
        const char *newline = memchr(data + at, '\n', bytes - at);
        size_t end = newline == NULL ? bytes : (size_t)(newline - data);
        struct view token = trim_end((struct view){data + at, end - at});
        status = vocabulary_replace(&tokenizer->vocabulary, token, id, err);
        if (status != STATUS_OK)
            error_prefix(err, "%s: line %lld", path, (long long)id + 1);
        at = end + 1;
    }
    free(data);
    return status;
}

/* The name of a special token: a string, or an object with its content; else what is usual. */
static struct view special_name(const json_t *config, const json_t *map, const char *field,
                                const char *usual) {
    const json_t *sources[] = {config, map};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const json_t *value = json_object_get(sources[i], field);
        if (json_is_object(value))
            value = json_object_get(value, "content");
        if (json_is_string(value))
            return json_view(value);
    }
    return view_of(usual);
}

/* Finds the five special tokens; [PAD] and [MASK] may be missing, as in small vocabularies. */
static enum status read_specials(struct tokenizer *tokenizer, const json_t *config,
                                 const json_t *map, struct error *err) {
    static const struct {
        const char *field, *usual;
        bool required;
    } SPECIALS[] = {{"cls_token", "[CLS]", true},
                    {"sep_token", "[SEP]", true},
                    {"unk_token", "[UNK]", true},
                    {"pad_token", "[PAD]", false},
                    {"mask_token", "[MASK]", false}};
    int32_t ids[3] = {0};
    for (size_t i = 0; i < sizeof SPECIALS / sizeof *SPECIALS; i++) {
        struct view name = special_name(config, map, SPECIALS[i].field, SPECIALS[i].usual);
        int32_t id = vocabulary_find(&tokenizer->vocabulary, name);
        if (id < 0 && SPECIALS[i].required)
            return error_set(err, STATUS_BAD_FILE, "%s \"%.*s\" is not in vocab.txt",
                             SPECIALS[i].field, view_shown(name), name.data);
        if (i < 3)
            ids[i] = id;
        struct added_token token = {.special = true};
        enum status status =
            id < 0 ? STATUS_OK : tokenizer_add_token(tokenizer, token, id, name, err);
        if (status != STATUS_OK)
            return status;
    }
    struct view unknown = special_name(config, map, "unk_token", "[UNK]");
    enum status status = wordpiece_init(&tokenizer->model.wordpiece, &tokenizer->vocabulary.trie,
                                        view_of("##"), unknown, WORD_CHARS_MAX, err);
    struct decoder_step decoder = {DECODER_WORDPIECE, .pattern = view_of("##"), .flag = true};
    tokenizer->decoder.present = true;
    if (status == STATUS_OK)
        status = decoder_add(&tokenizer->decoder, &decoder);
    tokenizer_begin_templates(tokenizer);
    if (status == STATUS_OK)
        status = tokenizer_add_bert_templates(tokenizer, ids[0], ids[1]);
    tokenizer_end_templates(tokenizer);
    return status;
}

static enum status read_flags(struct tokenizer *tokenizer, struct json_place place) {
    bool lowercase = true, ideographs = true;
    enum status status = json_field_bool_optional(place, "do_lower_case", &lowercase);
    if (status == STATUS_OK)
        status = json_field_bool_optional(place, "tokenize_chinese_chars", &ideographs);
    bool strip = lowercase;
    if (status == STATUS_OK)
        status = json_field_bool_optional(place, "strip_accents", &strip);
    if (status == STATUS_OK)
        status = normalizer_add_bert(&tokenizer->normalizer, true, ideographs, strip, lowercase);
    return status;
}

enum status tokenizer_read_vocab(struct tokenizer *tokenizer, const char *dir, struct error *err) {
    char path[PATH_MAX];
    json_t *config = NULL, *map = NULL;
    join(path, dir, "vocab.txt");
    enum status status = read_lines(tokenizer, path, err);
    if (status == STATUS_OK)
        status = read_config(dir, "tokenizer_config.json", &config, err);
    if (status == STATUS_OK)
        status = read_config(dir, "special_tokens_map.json", &map, err);
    if (status == STATUS_OK) {
        status =
            read_flags(tokenizer, (struct json_place){config, "tokenizer_config.json", err, 0});
        if (status == STATUS_OK)
            status = pretokenizer_add(&tokenizer->pretokenizer,
                                      &(const struct pretokenizer_step){.kind = PRETOKENIZER_BERT});
        if (status == STATUS_OK)
            status = read_specials(tokenizer, config, map, err);
        if (status != STATUS_OK)
            error_prefix(err, "%s", dir);
    }
    tokenizer->model.kind = TOKEN_MODEL_WORDPIECE;
    tokenizer->file_options.add_special_tokens = true;
    json_decref(map);
    json_decref(config);
    return status;
}
