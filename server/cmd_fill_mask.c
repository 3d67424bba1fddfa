/* cmd_fill_mask.c: `bertd fill-mask`: the best tokens for the masks of texts, in the order of the
 * inputs; text_run.c runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api_error.h"
#include "server/commands.h"
#include "server/fill_mask.h"
#include "server/text_output.h"
#include "server/text_run.h"

enum { SHOWN_SEQUENCE = 100 };

struct settings {
    struct engine_settings engine;
    uint64_t top_k;
    const char *targets;
    uint32_t truncation_side;
    bool truncate, jsonl, json;
};

static const struct option options[] = {
    OPTION_ROW_MODEL(struct settings, engine),
    OPTION_ROW_JSONL_IDS(struct settings, jsonl),
    OPTION_ROW_JSON(struct settings, json),
    {.name = "top-k",
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, top_k),
     .min = 1,
     .max = UINT32_MAX,
     .fallback = "5",
     .help = "best tokens to show for each mask"},
    {.name = "targets",
     .kind = OPTION_STRING,
     .offset = offsetof(struct settings, targets),
     .value_name = "WORD,WORD",
     .help = "only these compete, with their share of all"},
    OPTION_ROW_TRUNCATE(struct settings, truncate),
    {.name = "truncation-side",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, truncation_side),
     .choices = "right|left",
     .fallback = "right",
     .help = "which end is cut"},
    OPTION_ROW_DTYPE(struct settings, engine),
    OPTION_ROWS_PLAN(struct settings, engine),
    OPTION_ROWS_FLOW(struct settings, engine),
};

static int run(int argc, char **argv);

const struct command command_fill_mask = {
    .name = "fill-mask",
    .arguments = "[TEXT...]",
    .arguments_max = UINT32_MAX,
    .summary = "The best tokens for the masks of the arguments, or of standard input's lines.",
    OPTION_TABLE(struct settings, options),
    .run = run,
};

/* What the printing thread works with. */
struct masks {
    const struct engine *engine;
    bool warned; /* about targets, once for all texts */
};

static void warn_once(struct masks *masks, const struct call *call) {
    char warning[FILL_MASK_WARNING_BYTES];
    uint32_t next = 0, said = 0;
    while (!masks->warned && fill_mask_warn_next(call, &next, &said, warning))
        fprintf(stderr, "bertd fill-mask: %s\n", warning);
    masks->warned = true;
}

static void write_json(void *context, const struct text_answer *item, struct json_writer *json) {
    struct masks *masks = context;
    struct fill_mask_place place = {0};
    warn_once(masks, item->call);
    (void)fill_mask_write(json, masks->engine, item->answer, item->index, &place, SIZE_MAX);
}

static void print_entry(const struct engine *engine, const struct fill_mask_answer *answer,
                        uint32_t mask, const struct ranked *entry) {
    struct fill_mask_texts texts;
    char token[TEXT_OUTPUT_SHOWN_BYTES], sequence[TEXT_OUTPUT_SHOWN_BYTES];
    if (engine_fill_mask_read(engine, answer, mask, entry->id, &texts, NULL) != STATUS_OK) {
        printf("  %9.4g  token %d\n", (double)entry->score, (int)entry->id);
        return;
    }
    text_output_shorten((struct view){texts.token, texts.token_bytes}, SHOWN_SEQUENCE, token);
    text_output_shorten((struct view){texts.sequence, texts.sequence_bytes}, SHOWN_SEQUENCE,
                        sequence);
    printf("  %9.4g  %-16s %s\n", (double)entry->score, token, sequence);
    free(texts.sequence);
    free(texts.token);
}

static void print_table(void *context, const struct text_answer *item) {
    struct masks *masks = context;
    const struct call_answer *answer = item->answer;
    const struct fill_mask_answer *found = &answer->fill_mask;
    warn_once(masks, item->call);
    printf("%s  (%u tokens%s)\n", item->shown, answer->tokens,
           answer->truncated ? ", truncated" : "");
    for (uint32_t mask = 0; mask < found->masks_count; mask++) {
        if (found->masks_count > 1)
            printf("  mask %u\n", mask + 1);
        for (uint32_t i = 0; i < found->ranked_count; i++)
            print_entry(masks->engine, found, mask,
                        &found->ranked[(size_t)mask * found->ranked_count + i]);
    }
}

/* "a,b" as views of it, each once; NULL when there is no memory. */
static struct view *targets_split(const char *list, uint32_t *count) {
    struct view *targets = calloc(strlen(list) + 1, sizeof *targets);
    *count = 0;
    for (const char *end; targets; list = end + 1) {
        end = list + strcspn(list, ",");
        targets[(*count)++] = (struct view){list, (size_t)(end - list)};
        if (*end == '\0')
            break;
    }
    if (targets && fill_mask_distinct(targets, count))
        return targets;
    free(targets);
    return NULL;
}

static bool fill_all(struct engine *engine, const struct settings *settings,
                     const struct options_rest *arguments) {
    struct masks masks = {.engine = engine};
    struct fill_mask_options fill_mask = {.top_k = (uint32_t)settings->top_k};
    struct view *targets = NULL;
    if (settings->targets) {
        targets = targets_split(settings->targets, &fill_mask.targets_count);
        if (!targets) {
            fprintf(stderr, "bertd fill-mask: %s\n", status_meaning(STATUS_NO_MEMORY));
            return false;
        }
        fill_mask.targets = targets;
    }
    const struct text_run run = {
        .command = &command_fill_mask,
        .arguments = arguments,
        .json = settings->json,
        .jsonl = settings->jsonl,
        .engine = engine,
        .spec = {.truncate = settings->truncate,
                 .side = (enum truncation_side)settings->truncation_side,
                 .task = ENGINE_FILL_MASK,
                 .fill_mask = fill_mask},
        .context = &masks,
        .write_json = write_json,
        .print_table = print_table,
    };
    bool good = text_run_all(&run);
    free(targets);
    return good;
}

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    int exit_status;
    if (!options_begin(&command_fill_mask, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    if (settings.targets && strspn(settings.targets, ",") == strlen(settings.targets))
        return options_refuse(&command_fill_mask,
                              "--targets: got '%.64s', allowed: words with commas between them",
                              settings.targets);
    if (settings.targets && !api_text_is_utf8(settings.targets, strlen(settings.targets)))
        return options_refuse(&command_fill_mask,
                              "--targets: got bytes that are no UTF-8, allowed: words with commas "
                              "between them");
    struct engine *engine =
        text_run_start(&command_fill_mask, ENGINE_FILL_MASK, &settings.engine, &exit_status);
    if (!engine)
        return exit_status;
    bool good = fill_all(engine, &settings, &rest);
    engine_close(engine);
    return good ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
