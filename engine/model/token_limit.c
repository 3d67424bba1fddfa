/* token_limit.c: positions, max_seq_length and model_max_length. */
#include "engine/model/token_limit.h"

#include <math.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/path.h"
#include "engine/model/model_json.h"

/* Below this there is no room for the special tokens of one text. */
enum { TOKENS_MIN = 2 };

/* Where `name` is there and has the field, sets *found and lowers the limit to its value. */
static enum status read_limit(const char *dir, const char *name, const char *field, bool *found,
                              uint32_t *tokens_max, struct error *err) {
    char path[PATH_MAX];
    struct model_json file = {.path = path};
    enum status status = path_join(dir, name, path, err);
    if (status == STATUS_OK)
        status =
            model_json_read(path, LIMIT_CONFIG_FILE_BYTES, true, MODEL_JSON_REAL, &file.root, err);
    const json_t *value = json_object_get(file.root, field);
    if (status == STATUS_OK && value != NULL && !json_is_null(value)) {
        double limit = json_number_value(value);
        if (!json_is_number(value) || limit < TOKENS_MIN || floor(limit) != limit)
            status = model_json_refuse(&file, field, value, STATUS_BAD_FILE,
                                       "not a whole number of 2 or more", err);
        else if (limit < *tokens_max)
            *tokens_max = (uint32_t)limit;
        *found = true;
    }
    json_decref(file.root);
    return status;
}

enum status token_limit_read(const char *dir, uint32_t *tokens_max, struct error *err) {
    /* The names that sentence-transformers looks for, one for each family it once knew. */
    static const char *const sentence_files[] = {
        "sentence_bert_config.json",       "sentence_roberta_config.json",
        "sentence_distilbert_config.json", "sentence_camembert_config.json",
        "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
        "sentence_xlnet_config.json"};
    bool found = false;
    for (size_t i = 0; i < sizeof sentence_files / sizeof sentence_files[0] && !found; i++) {
        enum status status =
            read_limit(dir, sentence_files[i], "max_seq_length", &found, tokens_max, err);
        if (status != STATUS_OK)
            return status;
    }
    if (found)
        return STATUS_OK;
    return read_limit(dir, "tokenizer_config.json", "model_max_length", &found, tokens_max, err);
}

uint32_t token_limit_positions(const char *model_type, uint32_t positions, int32_t pad_id) {
    /* Those that count positions from the padding id on. */
    static const char *const types[] = {
        "roberta", "xlm-roberta",   "camembert",  "mpnet", "xlm-roberta-xl",
        "xmod",    "data2vec-text", "longformer", "ibert", "roberta-prelayernorm"};
    for (size_t i = 0; model_type != NULL && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(model_type, types[i]) == 0) {
            uint32_t first = (uint32_t)(pad_id + 1);
            return positions > first ? positions - first : 0;
        }
    return positions;
}

/* A whole number of config.json, whatever else that file says: models that are not served have
 * tokenizers too. */
static json_int_t number_of(const struct model_json *file, const char *field, json_int_t usual) {
    const json_t *value = json_object_get(file->root, field);
    return json_is_integer(value) ? json_integer_value(value) : usual;
}

static uint32_t read_positions(const struct model_json *file) {
    enum { PAD_ID_USUAL = 1 }; /* of the models that count from it, which may leave it out */
    json_int_t positions = number_of(file, "max_position_embeddings", 0);
    json_int_t pad_id = number_of(file, "pad_token_id", PAD_ID_USUAL);
    if (positions <= 0 || positions >= UINT32_MAX || pad_id < -1 || pad_id >= LIMIT_VOCABULARY)
        return 0;
    return token_limit_positions(json_string_value(json_object_get(file->root, "model_type")),
                                 (uint32_t)positions, (int32_t)pad_id);
}

enum status token_limit_find(const char *dir, uint32_t *tokens_max, struct error *err) {
    char path[PATH_MAX];
    struct model_json file = {.path = path};
    *tokens_max = 0;
    enum status status = path_join(dir, "config.json", path, err);
    if (status == STATUS_OK)
        status =
            model_json_read(path, LIMIT_CONFIG_FILE_BYTES, true, MODEL_JSON_EXACT, &file.root, err);
    if (status != STATUS_OK || file.root == NULL)
        return status;
    *tokens_max = read_positions(&file);
    json_decref(file.root);
    uint32_t limit = *tokens_max > 0 ? *tokens_max : UINT32_MAX;
    status = token_limit_read(dir, &limit, err);
    if (limit != UINT32_MAX)
        *tokens_max = limit;
    return status;
}
