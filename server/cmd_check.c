/* cmd_check.c: `bertd check`: is this checkpoint servable, and does it answer as expected? */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/inspect.h"
#include "server/commands.h"
#include "server/engine_start.h"
#include "server/expect.h"
#include "server/json_write.h"
#include "server/text_output.h"

enum { JSON_BYTES_MAX = 1 << 28 };

struct settings {
    struct engine_settings engine;
    const char *expect;
    double tolerance;
    bool json;
};

static const struct option options[] = {
    OPTION_ROW_MODEL(struct settings, engine),
    OPTION_ROW_JSON(struct settings, json),
    {.name = "expect",
     .kind = OPTION_STRING,
     .offset = offsetof(struct settings, expect),
     .value_name = "FILE",
     .help = "JSON lines of input and answer that the model should give"},
    {.name = "tolerance",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, tolerance),
     .fallback = "0.0001",
     .help = "score difference that still counts as equal, absolute plus relative"},
    OPTION_ROW_DTYPE(struct settings, engine),
    OPTION_ROWS_PLAN(struct settings, engine),
};

static int run(int argc, char **argv);

const struct command command_check = {
    .name = "check",
    .summary = "Whether a checkpoint can be served: family, task, labels, limits, every tensor.",
    OPTION_TABLE(struct settings, options),
    .run = run,
};

static const char *activation_name(enum activation activation) {
    static const char *const names[] = {"auto", "softmax", "sigmoid", "none"};
    return names[activation];
}

static const char *or_unknown(const char *text) {
    return text && *text ? text : "unknown";
}

static void print_report(const struct inspect_report *report) {
    printf("name:          %s\n", or_unknown(report->name));
    if (*report->revision)
        printf("revision:      %s\n", report->revision);
    printf("family:        %s\ntask:          %s\n", or_unknown(report->family),
           or_unknown(report->task));
    if (report->layers_count) {
        printf("sizes:         %u layers, hidden size %u, %u attention heads, intermediate %u\n",
               report->layers_count, report->hidden_size, report->attn_heads,
               report->intermediate_size);
        printf("limits:        %u tokens, %u positions, vocabulary of %u", report->tokens_max,
               report->positions_max, report->vocab_size);
        if (report->tokenizer_size)
            printf(", tokenizer of %u", report->tokenizer_size);
        printf("\n");
        if (report->weights_bytes)
            printf("weights:       %.1f MB in memory\n", (double)report->weights_bytes / 1e6);
    }
    if (report->labels_count)
        printf("activation:    %s\nlabels:        %u\n", activation_name(report->activation),
               report->labels_count);
    for (uint32_t i = 0; i < report->labels_count; i++) {
        char shown[TEXT_OUTPUT_SHOWN_BYTES];
        text_output_shorten(view_of(report->labels[i]), 80, shown);
        printf("  %5u        %s", i, shown);
        if (report->thresholds && !isnan(report->thresholds[i]))
            printf("  (threshold %g)", (double)report->thresholds[i]);
        printf("\n");
    }
    if (!report->used_count && !report->missing_count) {
        printf("tensors:       %u in the files, not matched with a model\n", report->tensors_count);
        return; /* each would be listed as unused, which is not what is wrong */
    }
    printf("tensors:       %u used, %u unused, %u missing\n", report->used_count,
           report->unused_count, report->missing_count);
    for (uint32_t i = 0; i < report->tensors_count; i++)
        printf("  %-8s     %s  %s\n", inspect_use_name(report->tensors[i].use),
               report->tensors[i].name, report->tensors[i].detail);
}

static void put_string(struct json_writer *json, const char *key, const char *text) {
    json_put_key(json, key);
    if (text && *text)
        json_put_string(json, text);
    else
        json_put_null(json);
}

static void put_count(struct json_writer *json, const char *key, uint64_t count) {
    json_put_key(json, key);
    json_put_unsigned(json, count);
}

static void put_labels(struct json_writer *json, const struct inspect_report *report) {
    json_put_key(json, "labels");
    json_put_begin_array(json);
    for (uint32_t i = 0; i < report->labels_count; i++)
        json_put_string(json, report->labels[i]);
    json_put_end_array(json);
    if (!report->thresholds)
        return;
    json_put_key(json, "thresholds");
    json_put_begin_array(json);
    for (uint32_t i = 0; i < report->labels_count; i++)
        json_put_float(json, report->thresholds[i]); /* null where there is none */
    json_put_end_array(json);
}

static void put_tensors(struct json_writer *json, const struct inspect_report *report) {
    json_put_key(json, "tensors");
    json_put_begin_array(json);
    for (uint32_t i = 0; i < report->tensors_count; i++) {
        json_put_begin_object(json);
        put_string(json, "name", report->tensors[i].name);
        put_string(json, "use", inspect_use_name(report->tensors[i].use));
        put_string(json, "detail", report->tensors[i].detail);
        json_put_end_object(json);
    }
    json_put_end_array(json);
}

static void put_report(struct json_writer *json, const struct inspect_report *report) {
    json_put_key(json, "servable");
    json_put_bool(json, report->servable);
    put_string(json, "error", report->servable ? NULL : report->error.message);
    put_string(json, "name", report->name);
    put_string(json, "revision", report->revision);
    put_string(json, "family", report->family);
    put_string(json, "task", report->task);
    put_count(json, "used", report->used_count);
    put_count(json, "unused", report->unused_count);
    put_count(json, "missing", report->missing_count);
    if (report->layers_count) {
        put_string(json, "activation",
                   report->labels_count ? activation_name(report->activation) : NULL);
        put_count(json, "layers", report->layers_count);
        put_count(json, "hidden_size", report->hidden_size);
        put_count(json, "attention_heads", report->attn_heads);
        put_count(json, "intermediate_size", report->intermediate_size);
        put_count(json, "max_tokens", report->tokens_max);
        put_count(json, "positions", report->positions_max);
        put_count(json, "vocabulary", report->vocab_size);
        put_count(json, "tokenizer_size", report->tokenizer_size);
        put_count(json, "weights_bytes", report->weights_bytes);
        put_labels(json, report);
    }
    put_tensors(json, report);
}

static void print_summary(const struct expect_summary *summary) {
    printf("expected:      %llu inputs, %llu failed\n", (unsigned long long)summary->inputs,
           (unsigned long long)summary->failed);
    printf("  flips:       %llu first labels or tokens, %llu across a threshold\n",
           (unsigned long long)summary->first_flipped, (unsigned long long)summary->sides_flipped);
    printf("  scores:      %llu compared, %llu beyond the tolerance\n",
           (unsigned long long)summary->scores, (unsigned long long)summary->beyond);
    printf("  difference:  largest %.3g, p99 %.3g\n", summary->largest, summary->p99);
}

/* The last line. `summary` is NULL where nothing was compared. */
static void print_verdict(const struct inspect_report *report,
                          const struct expect_summary *summary) {
    printf("verdict:       %s%s%s\n", report->servable ? "servable" : "not servable: ",
           report->servable ? "" : report->error.message,
           !summary               ? ""
           : summary->answers_so  ? ", and answers as expected"
           : summary->inputs == 0 ? ", but the file expects nothing"
                                  : ", but does not answer as expected");
}

static void put_summary(struct json_writer *json, const struct expect_summary *summary) {
    json_put_key(json, "expect");
    json_put_begin_object(json);
    json_put_key(json, "answers_so");
    json_put_bool(json, summary->answers_so);
    put_count(json, "inputs", summary->inputs);
    put_count(json, "failed", summary->failed);
    put_count(json, "first_labels_flipped", summary->first_flipped);
    put_count(json, "thresholds_crossed", summary->sides_flipped);
    put_count(json, "scores", summary->scores);
    put_count(json, "beyond_tolerance", summary->beyond);
    json_put_key(json, "largest_difference");
    json_put_double(json, summary->largest);
    json_put_key(json, "p99_difference");
    json_put_double(json, summary->p99);
    json_put_end_object(json);
}

/* NULL, after its error line, when the file of expected answers cannot be read. */
static FILE *expect_open(const struct settings *settings) {
    struct error err;
    FILE *file = fopen(settings->expect, "re");
    if (!file) {
        error_set(&err, STATUS_IO, "--expect: '%.300s': %s", settings->expect, strerror(errno));
        engine_start_fail(&command_check, &err);
    }
    return file;
}

/* False, after its error line, when the comparison could not be made. */
static bool compare(const struct settings *settings, FILE *file, struct expect_summary *out) {
    struct error err;
    enum status status = STATUS_OK;
    int exit_status; /* of no use: a comparison that fails is 1 */
    struct engine *engine =
        engine_start(&command_check, &settings->engine, UINT64_MAX / 2, &exit_status);
    if (engine)
        status = expect_run(engine, file, settings->tolerance, out);
    if (status != STATUS_OK) {
        error_set(&err, status, "--expect: '%.300s': %s", settings->expect, status_meaning(status));
        engine_start_fail(&command_check, &err);
    }
    bool compared = engine && status == STATUS_OK;
    engine_close(engine);
    return compared;
}

/* `file` is of the expected answers, or NULL. */
static bool write_report(const struct settings *settings, FILE *file,
                         const struct inspect_report *report) {
    struct expect_summary summary;
    struct json_writer json;
    bool compares = file && report->servable, good = report->servable;
    if (!settings->json)
        print_report(report);
    fflush(stdout); /* before the lines about what differs */
    if (compares && !compare(settings, file, &summary))
        return false;
    good = good && (!compares || summary.answers_so);
    if (!settings->json) {
        if (compares)
            print_summary(&summary);
        print_verdict(report, compares ? &summary : NULL);
        return good;
    }
    json_writer_init(&json, JSON_BYTES_MAX);
    json_put_begin_object(&json);
    put_report(&json, report);
    if (compares)
        put_summary(&json, &summary);
    json_put_end_object(&json);
    good = text_output_json_line(stdout, &json) && good;
    json_writer_free(&json);
    return good;
}

static int run(int argc, char **argv) {
    struct settings settings;
    struct options_rest rest;
    struct model_source source;
    const struct inspect_report *report;
    int exit_status;
    if (!options_begin(&command_check, argc, argv, &settings, &rest, &exit_status))
        return exit_status;
    if (!(settings.tolerance >= 0.0))
        return options_refuse(&command_check, "--tolerance: got '%g', allowed: 0 and above",
                              settings.tolerance);
    if (!engine_start_find(&command_check, &settings.engine, &source, &exit_status))
        return exit_status;
    FILE *file = settings.expect ? expect_open(&settings) : NULL;
    if (settings.expect && !file)
        return EXIT_STATUS_FAILED;
    bool good = inspect_report_open(source.dir, &report) == STATUS_OK;
    if (good) {
        good = write_report(&settings, file, report);
        inspect_report_close(report);
    } else {
        struct error err;
        error_set(&err, STATUS_NO_MEMORY, "%s", status_meaning(STATUS_NO_MEMORY));
        engine_start_fail(&command_check, &err);
    }
    if (file)
        fclose(file);
    return good ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
