/* cmd_classify.c: `bertd classify`: labels of texts, in the order of the inputs.
 *
 * The main thread reads inputs and submits each as a call of its own; a second thread takes the
 * answers in order and prints them, so that a line that is typed is answered at once and a million
 * lines need no more memory than the calls in flight. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/callers.h"
#include "server/classification.h"
#include "server/commands.h"
#include "server/engine_start.h"
#include "server/progress.h"
#include "server/text_input.h"
#include "server/text_output.h"

#define WINDOW_OFF UINT64_MAX

enum { IN_FLIGHT_MAX = 1024, JSON_LINE_BYTES_MAX = 1 << 28, TABLE_LABELS = 5, SHOWN_TEXT = 60 };

struct settings {
    struct engine_settings engine;
    uint64_t top_k, window_stride;
    double threshold; /* NAN: none, INFINITY: the model's */
    uint32_t activation, truncation_side, window_aggregate;
    bool truncate, jsonl, json;
};

static const struct option options[] = {
    OPTION_ROW_MODEL(struct settings, engine),
    OPTION_ROW_JSONL(struct settings, jsonl),
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
     .word = "off",
     .word_value = WINDOW_OFF,
     .fallback = "off",
     .help = "long texts in windows that overlap by N tokens"},
    {.name = "window-aggregate",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, window_aggregate),
     .choices = "max|mean",
     .fallback = "max",
     .help = "how the windows' scores become one"},
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

/* What the two threads share. */
struct work {
    const struct settings *settings;
    const struct engine_info *info;
    struct callers *callers;
    struct classification_cut cut;
    char (*shown)[TEXT_OUTPUT_SHOWN_BYTES]; /* by slot; NULL with --json */
    bool good;                              /* the printer's; read after it has ended */
};

static void print_table(const struct work *work, const struct call_answer *answer, const char *text,
                        struct ranked_label *ranked) {
    struct ranked_label top;
    uint32_t count = classification_rank(work->info, answer, &work->cut, ranked, &top);
    printf("%s  (%u tokens%s)\n", text, answer->tokens, answer->truncated ? ", truncated" : "");
    for (uint32_t i = 0; i < count; i++)
        printf("  %8.4f  %s\n", (double)ranked[i].score, work->info->labels[ranked[i].index]);
}

static void print_error(const struct work *work, const struct error *err, const char *text) {
    if (work->settings->json)
        text_output_json_error(stdout, err->message);
    else
        printf("%s\n  error: %s\n", text, err->message);
}

static void *print_answers(void *context) {
    struct work *work = context;
    struct json_writer json;
    struct caller_result result;
    struct call_answer answer;
    struct ranked_label *ranked = calloc(work->info->labels_count, sizeof *ranked);
    struct error no_memory;
    error_set(&no_memory, STATUS_NO_MEMORY, "%s", status_meaning(STATUS_NO_MEMORY));
    json_writer_init(&json, JSON_LINE_BYTES_MAX);
    for (uint64_t index = 0; callers_take(work->callers, &result); index++) {
        const char *text = work->shown ? work->shown[result.slot] : "";
        bool answered = result.outcome == STATUS_OK && ranked;
        if (!answered) {
            print_error(work, ranked ? &result.error : &no_memory, text);
        } else {
            call_get_answer(result.call, 0, &answer);
            if (work->settings->json) {
                classification_write(&json, work->info, &answer, &work->cut, index, ranked);
                answered = text_output_json_line(stdout, &json);
            } else {
                print_table(work, &answer, text, ranked);
            }
        }
        work->good &= answered;
        callers_give_back(work->callers, &result);
        if (!callers_ready(work->callers))
            fflush(stdout); /* who types or pipes line by line sees the answer now */
    }
    json_writer_free(&json);
    free(ranked);
    return NULL;
}

static void keep_shown(struct work *work, uint32_t slot, const struct text_item *item) {
    if (!work->shown)
        return;
    char *out = work->shown[slot];
    char pair[TEXT_OUTPUT_SHOWN_BYTES];
    text_output_shorten(item->text, SHOWN_TEXT, out);
    if (!item->text_pair.data)
        return;
    text_output_shorten(item->text_pair, SHOWN_TEXT, pair);
    size_t used = strlen(out);
    snprintf(out + used, TEXT_OUTPUT_SHOWN_BYTES - used, " | %s", pair);
}

/* Reads all inputs; answers are printed meanwhile. False when the input could not be read. */
static bool submit_inputs(struct work *work, const struct options_rest *arguments) {
    const struct settings *settings = work->settings;
    struct text_input input;
    struct text_item item;
    struct progress progress;
    struct error err;
    enum text_input_result result;
    text_input_init(&input, arguments, stdin, settings->jsonl);
    progress_init(&progress, stdin);
    for (uint64_t count = 0; (result = text_input_next(&input, &item, &err)) != TEXT_INPUT_END;) {
        uint32_t slot = callers_begin(work->callers);
        keep_shown(work, slot, &item);
        struct engine_input engine_input = {.text = item.text, .text_pair = item.text_pair};
        struct call_spec spec = {
            .inputs = &engine_input,
            .inputs_count = 1,
            .truncate = settings->truncate,
            .side = (enum truncation_side)settings->truncation_side,
            .window = settings->window_stride != WINDOW_OFF,
            .window_stride = (uint32_t)settings->window_stride,
            .task = ENGINE_TEXT_CLASSIFICATION,
            .classify = {.activation = (enum activation)settings->activation,
                         .aggregate = (enum aggregate)settings->window_aggregate},
        };
        if (result == TEXT_INPUT_ITEM)
            callers_submit(work->callers, slot, &spec);
        else
            callers_put_error(work->callers, slot, &err);
        progress_update(&progress, ++count, input.lines.bytes_read);
    }
    progress_end(&progress);
    bool good = text_input_check_end(&input, &command_classify);
    text_input_free(&input);
    return good;
}

/* The cut that the options ask for; false after a line about what the model does not have. */
static bool make_cut(struct work *work) {
    const struct settings *settings = work->settings;
    work->cut.top_k = (uint32_t)settings->top_k;
    if (!settings->json && settings->top_k == 0)
        work->cut.top_k = TABLE_LABELS;
    if (isinf(settings->threshold)) {
        if (!work->info->thresholds) {
            fprintf(stderr,
                    "bertd classify: --threshold: got 'model', but %s has no thresholds.json\n",
                    work->info->name);
            return false;
        }
        work->cut.kind = THRESHOLD_MODEL;
    } else if (!isnan(settings->threshold)) {
        work->cut.kind = THRESHOLD_VALUE;
        work->cut.threshold = (float)settings->threshold;
    }
    return true;
}

/* With the engine open: both threads from start to end. */
static bool classify_all(struct work *work, const struct options_rest *arguments) {
    pthread_t printer;
    if (pthread_create(&printer, NULL, print_answers, work) != 0) {
        fprintf(stderr, "bertd classify: a thread could not be started\n");
        return false;
    }
    bool good = submit_inputs(work, arguments);
    callers_end(work->callers);
    pthread_join(printer, NULL);
    return good && work->good;
}

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    int exit_status;
    if (!options_begin(&command_classify, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    struct engine *engine = engine_start(&command_classify, &settings.engine, 0, &exit_status);
    if (!engine)
        return exit_status;

    struct work work = {.settings = &settings, .info = engine_get_info(engine), .good = true};
    bool good = make_cut(&work);
    if (good && !settings.json) {
        work.shown = calloc(IN_FLIGHT_MAX, sizeof *work.shown);
        good = work.shown != NULL;
    }
    good =
        good && callers_open(engine, IN_FLIGHT_MAX, CALLERS_IN_ORDER, &work.callers) == STATUS_OK;
    good = good && classify_all(&work, &rest);
    callers_close(work.callers);
    free(work.shown);
    engine_close(engine);
    return good ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
