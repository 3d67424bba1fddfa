/* trace.c: rings of slices, one for each stage, and the file that is written from them at the end.
 */
#include "engine/flow/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct track {
    char name[TRACE_NAME_BYTES];
    uint64_t count; /* slices so far; the last TRACE_EVENTS_MAX of them are kept */
    struct trace_slice *slices;
};

struct trace {
    FILE *file; /* while it is written, or from the start where `part` is NULL */
    char *path;
    char *part; /* the file's name until it is whole; NULL: path is no file that can be replaced */
    uint32_t replicas_count, stages_count;
    struct track *tracks; /* [replicas_count * stages_count] */
};

static void trace_free(struct trace *trace) {
    for (uint32_t i = 0; trace->tracks && i < trace->replicas_count * trace->stages_count; i++)
        free(trace->tracks[i].slices);
    free(trace->tracks);
    free(trace->path);
    free(trace->part);
    free(trace);
}

/* Whether the path is a file that another one may take the place of, or nothing yet. */
static bool is_replaceable(const char *path) {
    struct stat info;
    if (lstat(path, &info) != 0)
        return errno == ENOENT;
    return S_ISREG(info.st_mode) && info.st_nlink == 1 && access(path, W_OK) == 0;
}

/* Shows that the file can be written at the end; until then nothing of it is to be seen. */
static bool part_try(struct trace *trace) {
    trace->file = fopen(trace->part, "wxe");
    if (!trace->file)
        return false;
    const bool good = fclose(trace->file) == 0;
    trace->file = NULL;
    return unlink(trace->part) == 0 && good;
}

/* A part beside the path where that works, else the path itself. */
static bool file_open(struct trace *trace) {
    if (is_replaceable(trace->path) && part_try(trace))
        return true;
    free(trace->part);
    trace->part = NULL;
    trace->file = fopen(trace->path, "we");
    return trace->file != NULL;
}

enum status trace_open(const char *path, uint32_t replicas_count, uint32_t stages_count,
                       struct trace **out, struct error *err) {
    const uint32_t tracks = replicas_count * stages_count;
    struct trace *trace = calloc(1, sizeof *trace);
    bool memory = trace != NULL;
    *out = NULL;
    if (trace) {
        trace->replicas_count = replicas_count;
        trace->stages_count = stages_count;
        trace->path = strdup(path);
        if (asprintf(&trace->part, "%s.%ld.part", path, (long)getpid()) < 0)
            trace->part = NULL;
        trace->tracks = calloc(tracks, sizeof *trace->tracks);
        memory = trace->path && trace->part && trace->tracks;
    }
    for (uint32_t i = 0; memory && i < tracks; i++) {
        trace->tracks[i].slices = calloc(TRACE_EVENTS_MAX, sizeof(struct trace_slice));
        memory = trace->tracks[i].slices != NULL;
    }
    enum status status = STATUS_OK;
    if (!memory)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for a trace of %u stages", tracks);
    else if (!file_open(trace))
        status = error_set(err, STATUS_IO, "--trace %s: %s", path, strerror(errno));
    if (status == STATUS_OK)
        *out = trace;
    else if (trace)
        trace_free(trace);
    return status;
}

void trace_set_name(struct trace *trace, uint32_t track, const char *name) {
    snprintf(trace->tracks[track].name, TRACE_NAME_BYTES, "%s", name);
}

void trace_add(struct trace *trace, uint32_t track, const struct trace_slice *slice) {
    struct track *own = &trace->tracks[track];
    own->slices[own->count++ % TRACE_EVENTS_MAX] = *slice;
}

static void write_time(FILE *file, const char *key, uint64_t ns) {
    fprintf(file, ",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

/* The part of an event that all kinds have. Processes are replicas, threads are stages. */
static void write_start(FILE *file, char kind, const char *name, uint32_t replica, uint32_t stage,
                        uint64_t ns) {
    fprintf(file, ",\n{\"ph\":\"%c\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u", kind, name,
            replica + 1, stage + 1);
    write_time(file, "ts", ns);
}

/* Process and thread names, in the order of the pipeline. */
static void write_names(const struct trace *trace, uint32_t replica) {
    fprintf(trace->file,
            ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"replica "
            "%u\"}}",
            replica + 1, replica);
    for (uint32_t stage = 0; stage < trace->stages_count; stage++) {
        const char *name = trace->tracks[replica * trace->stages_count + stage].name;
        fprintf(trace->file,
                ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{"
                "\"name\":\"%s\"}}"
                ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%u,\"tid\":%u,\"args\":{"
                "\"sort_index\":%u}}",
                replica + 1, stage + 1, name, replica + 1, stage + 1, stage);
    }
}

static void write_slice(const struct trace *trace, uint32_t replica, uint32_t stage,
                        const struct trace_slice *slice) {
    FILE *file = trace->file;
    char counter[TRACE_NAME_BYTES + 32];
    write_start(file, 'X', "microbatch", replica, stage, slice->start_ns);
    write_time(file, "dur", slice->end_ns - slice->start_ns);
    fprintf(file, ",\"args\":{\"number\":%llu,\"inputs\":%u,\"tokens\":%u}}",
            (unsigned long long)slice->number, slice->rows, slice->tokens);
    if (trace->stages_count > 1) {
        const char flow = stage == 0 ? 's' : stage + 1 < trace->stages_count ? 't' : 'f';
        write_start(file, flow, "flow", replica, stage, slice->start_ns);
        /* Perfetto takes plain integers alone, and one arrow for one id. */
        const uint64_t id = slice->number * trace->replicas_count + replica;
        fprintf(file, ",\"cat\":\"microbatch\",\"id\":%llu%s}", (unsigned long long)id,
                flow == 'f' ? ",\"bp\":\"e\"" : "");
    }
    snprintf(counter, sizeof counter, "waiting for %s",
             trace->tracks[replica * trace->stages_count + stage].name);
    write_start(file, 'C', counter, replica, stage, slice->start_ns);
    fprintf(file, ",\"args\":{\"%s\":%u}}", stage == 0 ? "tokens" : "microbatches", slice->waiting);
}

static void write_all(const struct trace *trace) {
    fprintf(trace->file, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                         "{\"ph\":\"M\",\"name\":\"trace\",\"pid\":1,\"args\":{\"by\":\"bertd\"}}");
    for (uint32_t replica = 0; replica < trace->replicas_count; replica++) {
        write_names(trace, replica);
        for (uint32_t stage = 0; stage < trace->stages_count; stage++) {
            const struct track *track = &trace->tracks[replica * trace->stages_count + stage];
            uint64_t first = track->count > TRACE_EVENTS_MAX ? track->count - TRACE_EVENTS_MAX : 0;
            for (uint64_t i = first; i < track->count; i++)
                write_slice(trace, replica, stage, &track->slices[i % TRACE_EVENTS_MAX]);
        }
    }
    fprintf(trace->file, "\n]}\n");
}

static bool file_write(struct trace *trace) {
    if (trace->part)
        trace->file = fopen(trace->part, "wxe");
    if (!trace->file)
        return false;
    write_all(trace);
    const bool good = ferror(trace->file) == 0;
    if (fclose(trace->file) != 0 || !good)
        return false;
    return !trace->part || rename(trace->part, trace->path) == 0;
}

enum status trace_close(struct trace *trace, struct error *err) {
    enum status status = STATUS_OK;
    if (!trace)
        return status;
    if (!file_write(trace)) {
        status = error_set(err, STATUS_IO, "--trace %s: %s", trace->path, strerror(errno));
        if (trace->part)
            unlink(trace->part);
    }
    trace_free(trace);
    return status;
}
