/* token_limit.c: max_seq_length and model_max_length. */
#include "engine/model/token_limit.h"

#include <math.h>

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
