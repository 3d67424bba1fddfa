/* test_trace.c: the file of a traced run is what Perfetto takes: named tracks, slices, arrows from
 * stage to stage, counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/flow/trace.h"

static const char *text_of(const json_t *event, const char *key) {
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

static double number_of(const json_t *event, const char *key) {
    return json_number_value(json_object_get(event, key));
}

static json_t *read_events(const char *path) {
    json_error_t err;
    json_t *document = json_load_file(path, 0, &err);
    if (!document)
        fail_msg("%s: line %d: %s", path, err.line, err.text);
    json_t *events = json_incref(json_object_get(document, "traceEvents"));
    json_decref(document);
    assert_true(json_is_array(events));
    return events;
}

static uint32_t count_of(const json_t *events, const char *kind) {
    uint32_t count = 0;
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) {
        count += strcmp(text_of(event, "ph"), kind) == 0;
    }
    return count;
}

/* The event of that kind on a track that has the number among its arguments or in its id. */
static const json_t *find(const json_t *events, const char *kind, int pid, int tid, double start) {
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) {
        if (strcmp(text_of(event, "ph"), kind) == 0 && number_of(event, "pid") == pid &&
            number_of(event, "tid") == tid && number_of(event, "ts") == start)
            return event;
    }
    fail_msg("no %s of stage %d at %f", kind, tid, start);
    return NULL;
}

/* The id of an arrow's end, which must be an integer. */
static double flow_of(const json_t *events, const char *kind, int pid, int tid, double start) {
    const json_t *id = json_object_get(find(events, kind, pid, tid, start), "id");
    assert_true(json_is_integer(id));
    return json_number_value(id);
}

/* How many different arrows start. */
static uint32_t flow_ids_count(const json_t *events) {
    uint32_t count = 0;
    size_t i, j;
    json_t *event, *earlier;
    json_array_foreach(events, i, event) {
        bool known = strcmp(text_of(event, "ph"), "s") != 0;
        json_array_foreach(events, j, earlier) {
            if (j >= i)
                break;
            known |= strcmp(text_of(earlier, "ph"), "s") == 0 &&
                     number_of(earlier, "id") == number_of(event, "id");
        }
        count += !known;
    }
    return count;
}

static void a_microbatch_is_a_slice_on_each_track_with_arrows_between(void **state) {
    (void)state;
    enum { REPLICAS = 2, STAGES = 3, MICROBATCHES = 4 };
    char path[] = "/tmp/bertd-trace-XXXXXX";
    static const char *const names[] = {"stage 0", "stage 1", "head"};
    struct trace *trace;
    close(mkstemp(path));
    assert_int_equal(trace_open(path, REPLICAS, STAGES, &trace, NULL), STATUS_OK);
    for (uint32_t track = 0; track < REPLICAS * STAGES; track++) {
        trace_set_name(trace, track, names[track % STAGES]);
        for (uint32_t m = 0; m < MICROBATCHES; m++) {
            uint64_t start = 1000000 * (m + track % STAGES) + 123;
            trace_add(trace, track,
                      &(struct trace_slice){start, start + 900000, m, 2, 30 + m, track});
        }
    }
    assert_int_equal(trace_close(trace, NULL), STATUS_OK);
    json_t *events = read_events(path);
    assert_int_equal(count_of(events, "X"), REPLICAS * STAGES * MICROBATCHES);
    assert_int_equal(count_of(events, "C"), REPLICAS * STAGES * MICROBATCHES);
    assert_int_equal(count_of(events, "s"), REPLICAS * MICROBATCHES);
    assert_int_equal(count_of(events, "t"), REPLICAS * MICROBATCHES);
    assert_int_equal(count_of(events, "f"), REPLICAS * MICROBATCHES);
    const json_t *slice = find(events, "X", 2, 2, 3000.123);
    assert_true(number_of(slice, "dur") == 900);
    assert_int_equal(number_of(json_object_get(slice, "args"), "tokens"), 32);
    /* One integer binds the three ends of an arrow's way, and no other replica has it. */
    const double id = flow_of(events, "s", 2, 1, 2000.123);
    assert_true(flow_of(events, "t", 2, 2, 3000.123) == id);
    assert_true(flow_of(events, "f", 2, 3, 4000.123) == id);
    assert_true(flow_of(events, "s", 1, 1, 2000.123) != id);
    assert_int_equal(flow_ids_count(events), REPLICAS * MICROBATCHES);
    assert_string_equal(text_of(find(events, "f", 2, 3, 4000.123), "bp"), "e");
    json_decref(events);
    unlink(path);
}

static void a_long_run_keeps_its_end(void **state) {
    (void)state;
    char path[] = "/tmp/bertd-trace-XXXXXX";
    struct trace *trace;
    close(mkstemp(path));
    assert_int_equal(trace_open(path, 1, 1, &trace, NULL), STATUS_OK);
    trace_set_name(trace, 0, "stage 0");
    for (uint64_t m = 0; m < TRACE_EVENTS_MAX + 10; m++)
        trace_add(trace, 0, &(struct trace_slice){1000 * m, 1000 * m + 500, m, 1, 1, 0});
    assert_int_equal(trace_close(trace, NULL), STATUS_OK);
    json_t *events = read_events(path);
    assert_int_equal(count_of(events, "X"), TRACE_EVENTS_MAX);
    assert_int_equal(count_of(events, "s"), 0); /* one stage has no arrows */
    find(events, "X", 1, 1, TRACE_EVENTS_MAX + 9);
    json_decref(events);
    unlink(path);
}

static void a_path_that_cannot_be_written_is_an_error_at_once(void **state) {
    (void)state;
    struct trace *trace;
    struct error err;
    assert_int_equal(trace_open("/nowhere/at/all", 1, 1, &trace, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "/nowhere/at/all"));
    assert_null(trace);
}

static void what_is_no_plain_file_is_written_in_its_place(void **state) {
    (void)state;
    struct trace *trace;
    struct error err;
    assert_int_equal(trace_open("/dev/full", 1, 1, &trace, &err), STATUS_OK);
    assert_int_equal(trace_close(trace, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "/dev/full"));
    assert_int_equal(trace_open("/dev/null", 1, 1, &trace, &err), STATUS_OK);
    assert_int_equal(trace_close(trace, &err), STATUS_OK);
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_microbatch_is_a_slice_on_each_track_with_arrows_between),
        cmocka_unit_test(a_long_run_keeps_its_end),
        cmocka_unit_test(a_path_that_cannot_be_written_is_an_error_at_once),
        cmocka_unit_test(what_is_no_plain_file_is_written_in_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
