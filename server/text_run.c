/* text_run.c: the main thread reads inputs and submits them; a second thread takes the answers in
 * order and prints them. */
#include "server/text_run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/callers.h"
#include "server/engine_start.h"
#include "server/progress.h"
#include "server/text_input.h"
#include "server/text_output.h"

enum { IN_FLIGHT_MAX = 1024, JSON_LINE_BYTES_MAX = 1 << 28, SHOWN_TEXT = 60 };

/* What the two threads share. */
struct work {
    const struct text_run *run;
    struct callers *callers;
    char (*shown)[TEXT_OUTPUT_SHOWN_BYTES]; /* by slot; NULL with --json */
    bool good;                              /* the printer's; read after it has ended */
};

static void print_error(const struct work *work, const struct error *err, uint64_t index,
                        const char *text) {
    if (work->run->json)
        text_output_json_error(stdout, &index, err->message);
    else
        printf("%s\n  error: %s\n", text, err->message);
}

static void *print_answers(void *context) {
    struct work *work = context;
    const struct text_run *run = work->run;
    struct json_writer json;
    struct caller_result result;
    json_writer_init(&json, JSON_LINE_BYTES_MAX);
    for (uint64_t index = 0; callers_take(work->callers, &result); index++) {
        const char *text = work->shown ? work->shown[result.slot] : "";
        bool answered = result.outcome == STATUS_OK;
        struct call_answer answer;
        const struct text_answer item = {result.call, &answer, index, text};
        if (answered)
            call_get_answer(result.call, 0, &answer);
        if (!answered) {
            print_error(work, &result.error, index, text);
        } else if (run->json) {
            run->write_json(run->context, &item, &json);
            answered = text_output_json_line(stdout, &json);
        } else {
            run->print_table(run->context, &item);
        }
        work->good &= answered;
        callers_give_back(work->callers, &result);
        if (!callers_ready(work->callers))
            fflush(stdout); /* who types or pipes line by line sees the answer now */
    }
    json_writer_free(&json);
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
static bool submit_inputs(struct work *work) {
    const struct text_run *run = work->run;
    struct text_input input;
    struct text_item item;
    struct progress progress;
    struct error err;
    enum text_input_result result;
    text_input_init(&input, run->arguments, stdin, run->jsonl);
    input.allowed = TEXT_ALLOWS_IDS;
    progress_init(&progress, stdin);
    for (uint64_t count = 0; (result = text_input_next(&input, &item, &err)) != TEXT_INPUT_END;) {
        uint32_t slot = callers_begin(work->callers);
        keep_shown(work, slot, &item);
        struct engine_input engine_input = {.text = item.text,
                                            .text_pair = item.text_pair,
                                            .ids = item.ids,
                                            .ids_count = item.ids_count};
        struct call_spec spec = run->spec;
        spec.inputs = &engine_input;
        spec.inputs_count = 1;
        if (result == TEXT_INPUT_ITEM)
            callers_submit(work->callers, slot, &spec);
        else
            callers_put_error(work->callers, slot, &err);
        progress_update(&progress, ++count, input.lines.bytes_read);
    }
    progress_end(&progress);
    bool good = text_input_check_end(&input, run->command);
    text_input_free(&input);
    return good;
}

/* Both threads from start to end. */
static bool run_threads(struct work *work) {
    pthread_t printer;
    if (pthread_create(&printer, NULL, print_answers, work) != 0) {
        fprintf(stderr, "bertd %s: a thread could not be started\n", work->run->command->name);
        return false;
    }
    bool good = submit_inputs(work);
    callers_end(work->callers);
    pthread_join(printer, NULL);
    return good && work->good;
}

bool text_run_all(const struct text_run *run) {
    struct work work = {.run = run, .good = true};
    if (!run->json)
        work.shown = calloc(IN_FLIGHT_MAX, sizeof *work.shown);
    bool good =
        (run->json || work.shown) &&
        callers_open(run->engine, IN_FLIGHT_MAX, CALLERS_IN_ORDER, &work.callers) == STATUS_OK;
    if (!good)
        fprintf(stderr, "bertd %s: %s\n", run->command->name, status_meaning(STATUS_NO_MEMORY));
    good = good && run_threads(&work);
    callers_close(work.callers);
    free(work.shown);
    return good;
}

struct engine *text_run_start(const struct command *command, enum engine_task task,
                              const struct engine_settings *settings, int *exit_status) {
    static const char *const commands[] = {
        [ENGINE_TEXT_CLASSIFICATION] = "classify",
        [ENGINE_FILL_MASK] = "fill-mask",
    };
    struct engine *engine = engine_start(command, settings, 0, exit_status);
    if (!engine || engine_get_info(engine)->task_kind == task)
        return engine;
    const struct engine_info *info = engine_get_info(engine);
    fprintf(stderr, "bertd %s: the task of %s is %s; `bertd %s` serves it\n", command->name,
            info->name, info->task, commands[info->task_kind]);
    engine_close(engine);
    *exit_status = EXIT_STATUS_FAILED;
    return NULL;
}
