/* expect_parse.c: one line of the file of `bertd check --expect`, in any of its forms. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "server/expect.h"

static uint32_t find_label(const struct engine_info *info, const char *name) {
    for (uint32_t i = 0; i < info->labels_count; i++)
        if (strcmp(info->labels[i], name) == 0)
            return i;
    return EXPECT_NO_LABEL;
}

/* {"label", "score"} */
static enum status read_prediction(const json_t *value, const struct engine_info *info,
                                   struct expected_answer *out, uint32_t *index,
                                   struct error *err) {
    const char *name = json_string_value(json_object_get(value, "label"));
    const json_t *score = json_object_get(value, "score");
    if (!name || (score && !json_is_number(score)))
        return error_set(err, STATUS_INVALID_VALUE, "a prediction must have a label and a score");
    *index = find_label(info, name);
    if (*index == EXPECT_NO_LABEL)
        return error_set(err, STATUS_INVALID_VALUE, "the model has no label '%.100s'", name);
    if (score)
        out->scores[*index] = (float)json_number_value(score);
    return STATUS_OK;
}

static enum status read_predictions(const json_t *array, const struct engine_info *info,
                                    struct expected_answer *out, struct error *err) {
    size_t i;
    const json_t *value;
    uint32_t index;
    json_array_foreach(array, i, value) {
        enum status status = read_prediction(value, info, out, &index, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_numbers(const json_t *array, const char *field,
                                const struct engine_info *info, struct expected_answer *out,
                                struct error *err) {
    if (json_array_size(array) != info->labels_count)
        return error_set(err, STATUS_INVALID_VALUE, "%s has %zu numbers, the model has %u labels",
                         field, json_array_size(array), info->labels_count);
    for (uint32_t i = 0; i < info->labels_count; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_number(value))
            return error_set(err, STATUS_INVALID_VALUE, "%s must be numbers", field);
        out->scores[i] = (float)json_number_value(value);
    }
    return STATUS_OK;
}

/* Logits to scores in place, as the model's own activation function has it. */
static void activate(const struct engine_info *info, float *scores) {
    double largest = -HUGE_VAL, sum = 0.0;
    for (uint32_t i = 0; i < info->labels_count; i++)
        largest = fmax(largest, (double)scores[i]);
    for (uint32_t i = 0; i < info->labels_count; i++)
        sum += exp((double)scores[i] - largest);
    for (uint32_t i = 0; i < info->labels_count; i++) {
        if (info->activation == ACTIVATION_SIGMOID)
            scores[i] = (float)(1.0 / (1.0 + exp(-(double)scores[i])));
        else if (info->activation == ACTIVATION_SOFTMAX)
            scores[i] = (float)(exp((double)scores[i] - largest) / sum);
    }
}

static enum status read_answer(const json_t *answer, const struct engine_info *info,
                               struct expected_answer *out, struct error *err) {
    static const char *const fields[] = {"scores", "probs", "logits"};
    if (json_is_array(answer) && json_is_array(json_array_get(answer, 0)))
        answer = json_array_get(answer, 0); /* pipelines nest the answer of one text */
    if (json_is_array(answer))
        return read_predictions(answer, info, out, err);
    bool has_label = json_object_get(answer, "label") != NULL;
    if (has_label) {
        enum status status = read_prediction(answer, info, out, &out->first_label, err);
        if (status != STATUS_OK)
            return status;
    }
    const json_t *predictions = json_object_get(answer, "predictions");
    if (json_is_array(predictions) && json_array_size(predictions))
        return read_predictions(predictions, info, out, err);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const json_t *numbers = json_object_get(answer, fields[i]);
        if (!numbers)
            continue;
        enum status status = read_numbers(numbers, fields[i], info, out, err);
        if (status == STATUS_OK && strcmp(fields[i], "logits") == 0)
            activate(info, out->scores);
        return status;
    }
    if (has_label)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID_VALUE,
                     "no answer: allowed are predictions, label, scores, probs or logits");
}

/* The input of the line, with a reference of its own. */
static enum status read_input(json_t *line, struct text_item *item, struct error *err) {
    json_t *input = json_object_get(line, "input");
    if (input)
        return text_item_from_json(input, TEXT_ALLOWS_IDS, item, err);
    json_t *object = json_object();
    if (!object)
        return error_set(err, STATUS_NO_MEMORY, "%s", status_meaning(STATUS_NO_MEMORY));
    static const char *const fields[] = {"text", "text_pair"};
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(line, fields[i]))
            json_object_set(object, fields[i], json_object_get(line, fields[i]));
    enum status status = text_item_from_json(object, 0, item, err);
    json_decref(object);
    return status;
}

/* The line's object, with its answer inside, and its input. Both are the caller's on success. */
static enum status read_line(struct view line, json_t **json, json_t **answer,
                             struct text_item *item, struct error *err) {
    json_error_t error;
    *item = (struct text_item){.json = NULL};
    *json = json_loadb(line.data, line.bytes, JSON_ALLOW_NUL, &error);
    if (!*json)
        return error_set(err, STATUS_INVALID_VALUE, "not JSON: %s (column %d)", error.text,
                         error.column);
    enum status status = json_is_object(*json)
                             ? read_input(*json, item, err)
                             : error_set(err, STATUS_INVALID_VALUE,
                                         "a line must be an object with input and answer");
    *answer = json_object_get(*json, "answer");
    if (!*answer)
        *answer = *json;
    if (status != STATUS_OK)
        json_decref(*json);
    return status;
}

/* The best of the scores, unless one was named. */
static enum status first_find(struct expected_answer *out, uint32_t count, struct error *err) {
    for (uint32_t i = 0, named = out->first_label; named == EXPECT_NO_LABEL && i < count; i++)
        if (!isnan(out->scores[i]) &&
            (out->first_label == EXPECT_NO_LABEL || out->scores[i] > out->scores[out->first_label]))
            out->first_label = i;
    return out->first_label != EXPECT_NO_LABEL
               ? STATUS_OK
               : error_set(err, STATUS_INVALID_VALUE, "the answer has no score");
}

static void expected_clear(struct expected_answer *out, uint32_t count) {
    out->first_label = EXPECT_NO_LABEL;
    for (uint32_t i = 0; i < count; i++)
        out->scores[i] = NAN;
}

enum status expect_parse(struct view line, const struct engine_info *info, struct text_item *item,
                         struct expected_answer *out, struct error *err) {
    json_t *json, *answer;
    expected_clear(out, info->labels_count);
    enum status status = read_line(line, &json, &answer, item, err);
    if (status != STATUS_OK)
        return status;
    status = read_answer(answer, info, out, err);
    if (status == STATUS_OK)
        status = first_find(out, info->labels_count, err);
    json_decref(json);
    if (status != STATUS_OK)
        text_item_free(item);
    return status;
}

enum status expect_parse_masks(struct view line, struct text_item *item, json_t **answer,
                               struct error *err) {
    json_t *json, *found;
    *answer = NULL;
    enum status status = read_line(line, &json, &found, item, err);
    if (status != STATUS_OK)
        return status;
    *answer = json_incref(found);
    json_decref(json);
    return STATUS_OK;
}

void expect_free_masks(json_t *answer) {
    json_decref(answer);
}

/* {"token", "score"} */
static enum status read_token(const json_t *value, const struct engine_info *info,
                              struct expected_answer *out, uint32_t *id, struct error *err) {
    const json_t *token = json_object_get(value, "token"), *score = json_object_get(value, "score");
    if (!json_is_integer(token) || (score && !json_is_number(score)))
        return error_set(err, STATUS_INVALID_VALUE,
                         "of a mask, an answer must have a token, which is its id, and a score");
    if (json_integer_value(token) < 0 || json_integer_value(token) >= info->vocab_size)
        return error_set(err, STATUS_INVALID_VALUE, "the model has no token %lld",
                         (long long)json_integer_value(token));
    *id = (uint32_t)json_integer_value(token);
    if (score)
        out->scores[*id] = (float)json_number_value(score);
    return STATUS_OK;
}

enum status expect_read_mask(const json_t *answer, uint32_t mask, uint32_t masks_count,
                             const struct engine_info *info, struct expected_answer *out,
                             struct error *err) {
    const json_t *masks = json_object_get(answer, "masks");
    expected_clear(out, info->vocab_size);
    if (!masks)
        masks = answer;
    if (json_is_array(json_array_get(masks, 0))) {
        if (json_array_size(masks) != masks_count)
            return error_set(err, STATUS_INVALID_VALUE, "the answer has %zu masks, the input %u",
                             json_array_size(masks), masks_count);
        masks = json_array_get(masks, mask);
    } else if (masks_count != 1) {
        return error_set(err, STATUS_INVALID_VALUE, "the answer has one mask, the input %u",
                         masks_count);
    }
    if (!json_is_array(masks))
        return read_token(masks, info, out, &out->first_label, err);
    for (size_t i = 0; i < json_array_size(masks); i++) {
        uint32_t id;
        enum status status = read_token(json_array_get(masks, i), info, out, &id, err);
        if (status != STATUS_OK)
            return status;
    }
    return first_find(out, info->vocab_size, err);
}
