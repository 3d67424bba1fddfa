/* expect.c: sends the lines of a file through the engine and compares. Single thread: answers are
 * taken whenever the calls in flight are at their maximum. See expect.h. */
#include "server/expect.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "server/callers.h"

enum { IN_FLIGHT_MAX = 64, FAULTS_SHOWN = 5 };

/* One input in flight. */
struct pending {
    uint64_t line;
    struct expected_answer expected; /* of a text classifier */
    struct json_t *masks;            /* of a masked-language model */
};

struct run {
    const struct engine_info *info;
    struct callers *callers;
    uint32_t in_flight;
    struct pending pending[IN_FLIGHT_MAX]; /* by slot */
    bool is_masked;
    uint32_t classes_count; /* labels, or tokens of the vocabulary */
    float *scores; /* [IN_FLIGHT_MAX, K], those of `pending`; or of one mask: [2, vocabulary] */
    float *differences; /* largest of each input; grows */
    uint64_t differences_count, differences_capacity;
    double tolerance;
    uint64_t faults_shown;
    struct expect_summary *summary;
};

__attribute__((format(printf, 3, 4))) static void show_fault(struct run *run, uint64_t line,
                                                             const char *format, ...) {
    if (run->faults_shown++ >= FAULTS_SHOWN)
        return;
    char message[ERROR_MESSAGE_BYTES + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fprintf(stderr, "bertd check: line %llu: %s\n", (unsigned long long)line, message);
}

static enum status keep_difference(struct run *run, float difference) {
    if (run->differences_count == run->differences_capacity) {
        uint64_t capacity = run->differences_capacity ? 2 * run->differences_capacity : 1024;
        float *grown = realloc(run->differences, capacity * sizeof *grown);
        if (!grown)
            return STATUS_NO_MEMORY;
        run->differences = grown;
        run->differences_capacity = capacity;
    }
    run->differences[run->differences_count++] = difference;
    return STATUS_OK;
}

/* The threshold that decides whether a label of a multi-label model applies. */
static float threshold_of(const struct engine_info *info, uint32_t label) {
    bool has_own = info->thresholds && !isnan(info->thresholds[label]);
    return has_own ? info->thresholds[label] : 0.5f;
}

enum { CLASS_NAME_BYTES = 128 };

static const char *class_name(const struct run *run, uint32_t index, char room[CLASS_NAME_BYTES]) {
    if (run->is_masked)
        snprintf(room, CLASS_NAME_BYTES, "token %u", index);
    else
        snprintf(room, CLASS_NAME_BYTES, "%s", run->info->labels[index]);
    return room;
}

/* Compares one input's scores, or those of one mask. */
static enum status compare(struct run *run, uint64_t line, const struct expected_answer *answer,
                           const float *got) {
    const struct engine_info *info = run->info;
    const float *expected = answer->scores;
    struct expect_summary *summary = run->summary;
    float largest = 0.0f;
    uint32_t first = 0, largest_label = 0;
    for (uint32_t i = 0; i < run->classes_count; i++) {
        if (got[i] > got[first])
            first = i;
        if (isnan(expected[i]))
            continue;
        float difference = fabsf(got[i] - expected[i]);
        float threshold = run->is_masked ? NAN : threshold_of(info, i);
        summary->scores++;
        summary->beyond += (double)difference > run->tolerance * (1.0 + fabs((double)expected[i]));
        summary->sides_flipped += info->activation == ACTIVATION_SIGMOID &&
                                  (got[i] >= threshold) != (expected[i] >= threshold);
        if (difference > largest) {
            largest = difference;
            largest_label = i;
        }
    }
    char name[CLASS_NAME_BYTES], other[CLASS_NAME_BYTES];
    uint32_t expected_first = answer->first_label;
    if (first != expected_first) {
        summary->first_flipped++;
        show_fault(run, line, "the %s is %s, expected %s",
                   run->is_masked ? "best of a mask" : "first label", class_name(run, first, name),
                   class_name(run, expected_first, other));
    } else if ((double)largest > run->tolerance * (1.0 + fabs((double)expected[largest_label]))) {
        show_fault(run, line, "%s has %.7g, expected %.7g", class_name(run, largest_label, name),
                   (double)got[largest_label], (double)expected[largest_label]);
    }
    return keep_difference(run, largest);
}

/* All the vocabulary was ranked, so every token has its score. */
static enum status compare_masks(struct run *run, const struct pending *pending,
                                 const struct fill_mask_answer *masks) {
    struct expected_answer expected = {.scores = run->scores};
    float *got = run->scores + run->classes_count;
    enum status status = STATUS_OK;
    for (uint32_t m = 0; m < masks->masks_count && status == STATUS_OK; m++) {
        const struct ranked *ranked = masks->ranked + (size_t)m * masks->ranked_count;
        struct error err;
        if (expect_read_mask(pending->masks, m, masks->masks_count, run->info, &expected, &err) !=
            STATUS_OK) {
            run->summary->failed++;
            show_fault(run, pending->line, "%s", err.message);
            break;
        }
        for (uint32_t i = 0; i < masks->ranked_count; i++)
            got[ranked[i].id] = ranked[i].score;
        status = compare(run, pending->line, &expected, got);
    }
    return status;
}

static enum status take_one(struct run *run) {
    struct caller_result result;
    struct call_answer answer;
    enum status status = STATUS_OK;
    if (!callers_take(run->callers, &result))
        return STATUS_OK;
    struct pending *pending = &run->pending[result.slot];
    if (result.outcome == STATUS_OK) {
        call_get_answer(result.call, 0, &answer);
        status = run->is_masked ? compare_masks(run, pending, &answer.fill_mask)
                                : compare(run, pending->line, &pending->expected, answer.scores);
    } else {
        run->summary->failed++;
        show_fault(run, pending->line, "%s", result.error.message);
    }
    expect_free_masks(pending->masks);
    pending->masks = NULL;
    callers_give_back(run->callers, &result);
    run->in_flight--;
    return status;
}

static enum status send_line(struct run *run, struct view line, uint64_t number) {
    enum status status = STATUS_OK;
    struct text_item item;
    struct error err;
    if (run->in_flight == IN_FLIGHT_MAX)
        status = take_one(run);
    if (status != STATUS_OK)
        return status;
    uint32_t slot = callers_begin(run->callers);
    struct pending *pending = &run->pending[slot];
    run->in_flight++;
    pending->line = number;
    run->summary->inputs++;
    status = run->is_masked ? expect_parse_masks(line, &item, &pending->masks, &err)
                            : expect_parse(line, run->info, &item, &pending->expected, &err);
    if (status != STATUS_OK) {
        callers_put_error(run->callers, slot, &err);
        return STATUS_OK;
    }
    struct engine_input input = {.text = item.text,
                                 .text_pair = item.text_pair,
                                 .ids = item.ids,
                                 .ids_count = item.ids_count};
    struct call_spec spec = {.inputs = &input,
                             .inputs_count = 1,
                             .truncate = true,
                             .task = run->info->task_kind,
                             .fill_mask = {.top_k = run->info->vocab_size}};
    callers_submit(run->callers, slot, &spec);
    text_item_free(&item);
    return STATUS_OK;
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void summarise(struct run *run) {
    struct expect_summary *summary = run->summary;
    uint64_t count = run->differences_count;
    if (count) {
        qsort(run->differences, count, sizeof *run->differences, compare_floats);
        summary->largest = (double)run->differences[count - 1];
        summary->p99 = (double)run->differences[(count * 99 + 99) / 100 - 1];
    }
    summary->answers_so = summary->inputs > 0 && summary->failed == 0 &&
                          summary->first_flipped == 0 && summary->beyond == 0;
}

static enum status send_all(struct run *run, FILE *file) {
    struct line_reader lines;
    struct view line;
    enum line_result result;
    enum status status = STATUS_OK;
    line_reader_init(&lines, file);
    while (status == STATUS_OK && (result = line_reader_next(&lines, &line)) != LINE_END) {
        if (result == LINE_TOO_LONG)
            line = (struct view){"", 0}; /* fails as an input, with its line number */
        else if (line.bytes == 0)
            continue;
        status = send_line(run, line, lines.lines_read);
    }
    if (lines.failed)
        status = STATUS_IO;
    line_reader_free(&lines);
    callers_end(run->callers);
    while (run->in_flight > 0) {
        enum status taken = take_one(run);
        status = status == STATUS_OK ? taken : status;
    }
    return status;
}

enum status expect_run(struct engine *engine, FILE *file, double tolerance,
                       struct expect_summary *out) {
    *out = (struct expect_summary){.inputs = 0};
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return STATUS_NO_MEMORY;
    run->info = engine_get_info(engine);
    run->tolerance = tolerance;
    run->summary = out;
    run->is_masked = run->info->task_kind == ENGINE_FILL_MASK;
    run->classes_count = run->is_masked ? run->info->vocab_size : run->info->labels_count;
    size_t rows = run->is_masked ? 2 : IN_FLIGHT_MAX;
    enum status status = STATUS_NO_MEMORY;
    run->scores = calloc(rows * run->classes_count, sizeof *run->scores);
    if (run->scores)
        status = callers_open(engine, IN_FLIGHT_MAX, CALLERS_IN_ORDER, &run->callers);
    for (uint32_t i = 0; i < IN_FLIGHT_MAX && !run->is_masked && run->scores; i++)
        run->pending[i].expected.scores = run->scores + (size_t)i * run->classes_count;
    if (status == STATUS_OK)
        status = send_all(run, file);
    if (status == STATUS_OK)
        summarise(run);
    callers_close(run->callers);
    free(run->differences);
    free(run->scores);
    free(run);
    return status;
}
