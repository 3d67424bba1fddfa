/* driver.c: the tokenizer behind a pipe, for the comparison with the pinned library. Reads one JSON
 * object a line and answers each with one:
 *
 * {"json": "..."} or {"dir": "..."}  opens a tokenizer in place of the one before
 *     -> {"open": true} or {"refused": message, "unsupported": bool}
 * {"text", "pair"?, "special"?, "max"?, "stride"?, "side"?, "strategy"?}  encodes
 *     -> windows: the encoding, then what was cut off, each {"ids", "offsets" (flat, bytes),
 *        "types", "specials", "segments", "tokens"}; or {"error": message}
 * {"decode": [ids], "skip"?}  -> {"text"} or {"error"}
 * {"list": true}  -> {"tokens": [the token of each id, null where there is none]}
 * {"time": [texts], "fresh"?, options as above}  encodes all, in an empty scratch if asked
 *     -> {"seconds" (of the processor), "tokens"}
 * {"load": "...", "dir": true?}  opens and closes a tokenizer -> {"seconds"}
 *
 * Ends with the input; a line that is none of these ends it with status 1. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/text/tokenizer.h"
#include "engine/text/tokenizer_parts.h"

struct driver {
    struct tokenizer *tokenizer;
    struct tokenizer_scratch *scratch;
    struct encoding encoding;
    struct error err;
};

static struct view string_view(const json_t *string) {
    return (struct view){json_string_value(string), json_string_length(string)};
}

/* Of this process: other programs on the machine do not count. */
static double seconds_used(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static json_t *answer_error(const struct driver *driver) {
    return json_pack("{s:s}", "error", driver->err.message);
}

static void close_tokenizer(struct driver *driver) {
    tokenizer_scratch_close(driver->scratch);
    tokenizer_close(driver->tokenizer);
    driver->scratch = NULL;
    driver->tokenizer = NULL;
}

static enum status open_source(const json_t *json, const char *dir, struct tokenizer **out,
                               struct error *err) {
    return json != NULL ? tokenizer_open_json(string_view(json), out, err)
                        : tokenizer_open(dir, out, err);
}

static json_t *answer_open(struct driver *driver, const json_t *json, const char *dir) {
    close_tokenizer(driver);
    enum status status = open_source(json, dir, &driver->tokenizer, &driver->err);
    if (status == STATUS_OK)
        status = tokenizer_scratch_open(driver->tokenizer, &driver->scratch);
    if (status != STATUS_OK)
        return json_pack("{s:s, s:b}", "refused", driver->err.message, "unsupported",
                         status == STATUS_UNSUPPORTED);
    return json_pack("{s:b}", "open", 1);
}

static json_t *answer_load(struct driver *driver, const json_t *load) {
    struct tokenizer *tokenizer;
    double start = seconds_used();
    enum status status = tokenizer_open(json_string_value(load), &tokenizer, &driver->err);
    double seconds = seconds_used() - start;
    tokenizer_close(tokenizer);
    return status == STATUS_OK ? json_pack("{s:f}", "seconds", seconds) : answer_error(driver);
}

static struct tokenizer_options read_options(const json_t *ask) {
    struct tokenizer_options options = {.add_special_tokens = true};
    const json_t *special = json_object_get(ask, "special");
    const char *side = json_string_value(json_object_get(ask, "side"));
    const char *strategy = json_string_value(json_object_get(ask, "strategy"));
    if (special != NULL)
        options.add_special_tokens = json_is_true(special);
    options.tokens_max = (uint32_t)json_integer_value(json_object_get(ask, "max"));
    options.stride = (uint32_t)json_integer_value(json_object_get(ask, "stride"));
    options.keep_overflow = options.tokens_max > 0;
    if (side != NULL && strcmp(side, "left") == 0)
        options.side = TOKENIZER_LEFT;
    if (strategy != NULL && strcmp(strategy, "only_first") == 0)
        options.strategy = TOKENIZER_ONLY_FIRST;
    if (strategy != NULL && strcmp(strategy, "only_second") == 0)
        options.strategy = TOKENIZER_ONLY_SECOND;
    return options;
}

static json_t *list_encoding(const struct tokenizer *tokenizer, const struct encoding *encoding) {
    json_t *ids = json_array(), *offsets = json_array(), *types = json_array();
    json_t *specials = json_array(), *segments = json_array(), *tokens = json_array();
    for (uint32_t i = 0; i < encoding->count; i++) {
        struct view token = tokenizer_token(tokenizer, encoding->ids[i]);
        json_array_append_new(ids, json_integer(encoding->ids[i]));
        json_array_append_new(offsets, json_integer(encoding->starts[i]));
        json_array_append_new(offsets, json_integer(encoding->ends[i]));
        json_array_append_new(types, json_integer(encoding->type_ids[i]));
        json_array_append_new(specials, json_integer(encoding->specials[i]));
        json_array_append_new(segments, json_integer(encoding->segments[i]));
        json_array_append_new(tokens, token.data == NULL ? json_null()
                                                         : json_stringn(token.data, token.bytes));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "ids", ids, "offsets", offsets, "types",
                     types, "specials", specials, "segments", segments, "tokens", tokens);
}

static json_t *answer_encode(struct driver *driver, const json_t *ask) {
    struct tokenizer_options options = read_options(ask);
    const json_t *second = json_object_get(ask, "pair");
    struct view text = string_view(json_object_get(ask, "text")), pair = {"", 0};
    if (second != NULL)
        pair = string_view(second);
    enum status status =
        tokenizer_encode(driver->tokenizer, driver->scratch, text, second == NULL ? NULL : &pair,
                         &options, &driver->encoding, &driver->err);
    if (status != STATUS_OK)
        return answer_error(driver);
    json_t *windows = json_array();
    json_array_append_new(windows, list_encoding(driver->tokenizer, &driver->encoding));
    uint64_t count = tokenizer_overflow_count(driver->scratch);
    for (uint64_t i = 0; status == STATUS_OK && i < count; i++) {
        status = tokenizer_overflow(driver->tokenizer, driver->scratch, i, &driver->encoding,
                                    &driver->err);
        json_array_append_new(windows, list_encoding(driver->tokenizer, &driver->encoding));
    }
    json_t *said = json_pack("{s:O}", "windows", windows);
    json_decref(windows);
    return said;
}

static json_t *answer_decode(struct driver *driver, const json_t *list, bool skip) {
    size_t count = json_array_size(list), bytes;
    int32_t *ids = malloc(count * sizeof *ids + 1);
    char *text;
    if (ids == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    enum status status = tokenizer_decode(driver->tokenizer, ids, (uint32_t)count, skip, &text,
                                          &bytes, &driver->err);
    free(ids);
    if (status != STATUS_OK)
        return answer_error(driver);
    json_t *said = json_pack("{s:s%}", "text", text, bytes);
    free(text);
    return said;
}

static json_t *answer_list(const struct driver *driver) {
    json_t *tokens = json_array();
    for (uint32_t id = 0; id < tokenizer_ids_count(driver->tokenizer); id++) {
        struct view token = tokenizer_token(driver->tokenizer, (int32_t)id);
        json_array_append_new(tokens, token.data == NULL ? json_null()
                                                         : json_stringn(token.data, token.bytes));
    }
    return json_pack("{s:o}", "tokens", tokens);
}

static json_t *answer_time(struct driver *driver, const json_t *texts, const json_t *options_ask) {
    struct tokenizer_options options = read_options(options_ask);
    uint64_t tokens = 0;
    if (json_is_true(json_object_get(options_ask, "fresh"))) {
        tokenizer_scratch_close(driver->scratch);
        driver->scratch = NULL;
        if (tokenizer_scratch_open(driver->tokenizer, &driver->scratch) != STATUS_OK)
            return NULL;
    }
    double start = seconds_used();
    for (size_t i = 0; i < json_array_size(texts); i++) {
        struct view text = string_view(json_array_get(texts, i));
        if (tokenizer_encode(driver->tokenizer, driver->scratch, text, NULL, &options,
                             &driver->encoding, &driver->err) != STATUS_OK)
            return answer_error(driver);
        tokens += driver->encoding.count;
    }
    return json_pack("{s:f, s:I}", "seconds", seconds_used() - start, "tokens", (json_int_t)tokens);
}

static json_t *answer(struct driver *driver, const json_t *ask) {
    const json_t *json = json_object_get(ask, "json"), *load = json_object_get(ask, "load");
    const char *dir = json_string_value(json_object_get(ask, "dir"));
    driver->err.message[0] = '\0';
    if (load != NULL)
        return answer_load(driver, load);
    if (json != NULL || dir != NULL)
        return answer_open(driver, json, dir);
    if (driver->tokenizer == NULL)
        return json_pack("{s:s}", "error", "no tokenizer is open");
    if (json_object_get(ask, "text") != NULL)
        return answer_encode(driver, ask);
    if (json_object_get(ask, "decode") != NULL)
        return answer_decode(driver, json_object_get(ask, "decode"),
                             json_is_true(json_object_get(ask, "skip")));
    if (json_object_get(ask, "list") != NULL)
        return answer_list(driver);
    if (json_object_get(ask, "time") != NULL)
        return answer_time(driver, json_object_get(ask, "time"), ask);
    return NULL;
}

int main(void) {
    struct driver driver = {0};
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    int status = EXIT_SUCCESS;
    encoding_init(&driver.encoding);
    while (status == EXIT_SUCCESS && (length = getline(&line, &capacity, stdin)) > 0) {
        json_error_t fault;
        json_t *ask = json_loadb(line, (size_t)length, JSON_ALLOW_NUL, &fault);
        json_t *said = ask == NULL ? NULL : answer(&driver, ask);
        if (said == NULL || json_dumpf(said, stdout, JSON_COMPACT) != 0) {
            fprintf(stderr, "driver: a line that it cannot answer: %.200s\n", line);
            status = EXIT_FAILURE;
        }
        putchar('\n');
        fflush(stdout);
        json_decref(said);
        json_decref(ask);
    }
    free(line);
    close_tokenizer(&driver);
    encoding_free(&driver.encoding);
    return status;
}
