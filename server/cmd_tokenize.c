/* cmd_tokenize.c: `bertd tokenize`: ids, tokens and offsets of texts, without the engine. */
#include <stdio.h>
#include <string.h>

#include "engine/tokenize.h"
#include "server/commands.h"
#include "server/engine_start.h"
#include "server/progress.h"
#include "server/text_input.h"
#include "server/text_output.h"
#include "server/tokenize_run.h"

enum { JSON_LINE_BYTES_MAX = 1 << 30 };

struct settings {
    struct engine_settings engine; /* only the model */
    bool jsonl, json;
};

static const struct option options[] = {
    OPTION_ROW_MODEL(struct settings, engine),
    OPTION_ROW_JSONL(struct settings, jsonl),
    OPTION_ROW_JSON(struct settings, json),
};

static int run(int argc, char **argv);

const struct command command_tokenize = {
    .name = "tokenize",
    .arguments = "[TEXT...]",
    .arguments_max = UINT32_MAX,
    .summary = "Token ids, tokens and offsets of the arguments, or of standard input line by line.",
    OPTION_TABLE(struct settings, options),
    .run = run,
};

/* One line a token: id, type, range of code points, token. */
static void print_table(const struct text_item *item, const struct engine_tokens *encoding) {
    char shown[TEXT_OUTPUT_SHOWN_BYTES];
    text_output_shorten(item->text, 80, shown);
    printf("%s", shown);
    if (item->text_pair.data) {
        text_output_shorten(item->text_pair, 80, shown);
        printf(" | %s", shown);
    }
    printf("\n%8s %4s %11s  token  (%u tokens", "id", "type", "offsets", encoding->count);
    if (encoding->truncated)
        printf(" of %u, truncated", encoding->count_whole);
    printf(")\n");
    for (uint32_t i = 0; i < encoding->count; i++) {
        char range[32];
        snprintf(range, sizeof range, "%u-%u", encoding->starts[i], encoding->ends[i]);
        text_output_shorten(encoding->tokens[i], 80, shown);
        printf("%8d %4u %11s  %s\n", encoding->ids[i], encoding->type_ids[i],
               encoding->special_tokens_mask[i] ? "-" : range, shown);
    }
}

static bool print_error(const struct settings *settings, const struct error *err) {
    if (settings->json)
        text_output_json_error(stdout, NULL, err->message);
    else
        printf("error: %s\n", err->message);
    return false;
}

/* False when the input failed; its line says why. */
static bool tokenize_one(const struct settings *settings, struct engine_tokenizer *tokenizer,
                         const struct text_item *item, struct json_writer *json) {
    struct engine_tokens encoding;
    struct error err;
    const struct view *pair = item->text_pair.data ? &item->text_pair : NULL;
    if (engine_tokenize(tokenizer, item->text, pair, NULL, &encoding, &err) != STATUS_OK)
        return print_error(settings, &err);
    if (!settings->json) {
        print_table(item, &encoding);
        return true;
    }
    json_put_begin_object(json);
    tokenize_write_fields(&encoding, json);
    json_put_end_object(json);
    return text_output_json_line(stdout, json);
}

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    struct model_source source;
    struct engine_tokenizer *tokenizer;
    struct text_input input;
    struct text_item item;
    struct json_writer json;
    struct progress progress;
    struct error err;
    int exit_status;
    if (!options_begin(&command_tokenize, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    if (!engine_start_find(&command_tokenize, &settings.engine, &source, &exit_status))
        return exit_status;
    if (engine_tokenizer_open_dir(source.dir, &tokenizer, &err) != STATUS_OK)
        return engine_start_fail(&command_tokenize, &err);

    bool good = true;
    uint64_t count = 0;
    enum text_input_result result;
    text_input_init(&input, &rest, stdin, settings.jsonl);
    json_writer_init(&json, JSON_LINE_BYTES_MAX);
    progress_init(&progress, stdin);
    while ((result = text_input_next(&input, &item, &err)) != TEXT_INPUT_END) {
        good &= result == TEXT_INPUT_ITEM ? tokenize_one(&settings, tokenizer, &item, &json)
                                          : print_error(&settings, &err);
        progress_update(&progress, ++count, input.lines.bytes_read);
    }
    progress_end(&progress);
    good &= text_input_check_end(&input, &command_tokenize);
    json_writer_free(&json);
    text_input_free(&input);
    engine_tokenizer_close(tokenizer);
    return good ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
