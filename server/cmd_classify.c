/* cmd_classify.c: `bertd classify`: labels of texts, in the order of the inputs; text_run.c runs
 * it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/classification.h"
#include "server/classify_read.h"
#include "server/commands.h"
#include "server/text_run.h"

#define STRIDE_AUTO UINT64_MAX

enum { TABLE_LABELS = 5 };

struct settings {
    struct engine_settings engine;
    uint64_t top_k, window_stride;
    double threshold; /* NAN: none, INFINITY: the model's */
    uint32_t activation, truncation_side, window_aggregate;
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
     .word = "all",
     .help = "best labels to show (all; a table shows 5)"},
    {.name = "threshold",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, threshold),
     .word = "model",
     .help = "drop labels below; `model` takes those of thresholds.json"},
    {.name = "activation",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, activation),
     .choices = "auto|softmax|sigmoid|none",
     .fallback = "auto",
     .help = "how logits become scores"},
    OPTION_ROW_TRUNCATE(struct settings, truncate),
    {.name = "truncation-side",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, truncation_side),
     .choices = "right|left",
     .fallback = "right",
     .help = "which end is cut"},
    {.name = "window-stride",
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, window_stride),
     .max = LIMIT_POSITIONS,
     .word = "auto",
     .word_value = STRIDE_AUTO,
     .fallback = "auto",
     .help = "long texts in windows that overlap by N tokens; auto: 64 with --window-aggregate, "
             "else none"},
    {.name = "window-aggregate",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, window_aggregate),
     .choices = "max|mean",
     .help = "how the windows' scores become one; max unless given"},
    OPTION_ROW_DTYPE(struct settings, engine),
    OPTION_ROWS_PLAN(struct settings, engine),
    OPTION_ROWS_FLOW(struct settings, engine),
};

static int run(int argc, char **argv);

const struct command command_classify = {
    .name = "classify",
    .arguments = "[TEXT...]",
    .arguments_max = UINT32_MAX,
    .summary = "Labels of the arguments, or of standard input line by line.",
    OPTION_TABLE(struct settings, options),
    .run = run,
};

/* What the printing thread works with. */
struct labels {
    const struct engine_info *info;
    struct classification_cut cut;
    struct ranked_label *ranked; /* [labels_count] */
};

static void write_json(void *context, const struct text_answer *item, struct json_writer *json) {
    const struct labels *labels = context;
    classification_write(json, labels->info, item->answer, &labels->cut, item->index,
                         labels->ranked);
}

static void print_table(void *context, const struct text_answer *item) {
    const struct labels *labels = context;
    const struct call_answer *answer = item->answer;
    struct ranked_label top;
    uint32_t count = classification_rank(labels->info, answer, &labels->cut, labels->ranked, &top);
    printf("%s  (%u tokens%s)\n", item->shown, answer->tokens,
           answer->truncated ? ", truncated" : "");
    for (uint32_t i = 0; i < count; i++)
        printf("  %8.4f  %s\n", (double)labels->ranked[i].score,
               labels->info->labels[labels->ranked[i].index]);
}

/* The cut that the options ask for; false after a line about what the model does not have. */
static bool make_cut(struct labels *labels, const struct settings *settings) {
    labels->cut.top_k = (uint32_t)settings->top_k;
    if (!settings->json && settings->top_k == 0)
        labels->cut.top_k = TABLE_LABELS;
    if (isinf(settings->threshold)) {
        if (!labels->info->thresholds) {
            fprintf(stderr,
                    "bertd classify: --threshold: got 'model', but %s has no thresholds.json\n",
                    labels->info->name);
            return false;
        }
        labels->cut.kind = THRESHOLD_MODEL;
    } else if (!isnan(settings->threshold)) {
        labels->cut.kind = THRESHOLD_VALUE;
        labels->cut.threshold = (float)settings->threshold;
    }
    return true;
}

static bool classify_all(struct engine *engine, const struct settings *settings,
                         const struct options_rest *arguments) {
    struct labels labels = {.info = engine_get_info(engine)};
    if (!make_cut(&labels, settings))
        return false;
    labels.ranked = calloc(labels.info->labels_count, sizeof *labels.ranked);
    if (!labels.ranked) {
        fprintf(stderr, "bertd classify: %s\n", status_meaning(STATUS_NO_MEMORY));
        return false;
    }
    const bool strides = settings->window_stride != STRIDE_AUTO;
    const bool aggregates = settings->window_aggregate != UINT32_MAX;
    const struct text_run run = {
        .command = &command_classify,
        .arguments = arguments,
        .json = settings->json,
        .jsonl = settings->jsonl,
        .engine = engine,
        .spec = {.truncate = settings->truncate,
                 .side = (enum truncation_side)settings->truncation_side,
                 .window = strides || aggregates,
                 .window_stride =
                     strides ? (uint32_t)settings->window_stride : CLASSIFY_STRIDE_DEFAULT,
                 .task = ENGINE_TEXT_CLASSIFICATION,
                 .classify = {.activation = (enum activation)settings->activation,
                              .aggregate = aggregates ? (enum aggregate)settings->window_aggregate
                                                      : AGGREGATE_MAX}},
        .context = &labels,
        .write_json = write_json,
        .print_table = print_table,
    };
    bool good = text_run_all(&run);
    free(labels.ranked);
    return good;
}

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    int exit_status;
    if (!options_begin(&command_classify, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    struct engine *engine = text_run_start(&command_classify, ENGINE_TEXT_CLASSIFICATION,
                                           &settings.engine, &exit_status);
    if (!engine)
        return exit_status;
    bool good = classify_all(engine, &settings, &rest);
    engine_close(engine);
    return good ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
