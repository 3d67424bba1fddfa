/* trace.h: what each stage did when, as a file that Perfetto (ui.perfetto.dev) and chrome://tracing
 * open: one track a stage with microbatches as slices, arrows that follow a microbatch from stage
 * to stage, and as counters what waits for each stage.
 *
 * Format: the JSON of "Trace Event Format" (Chromium project), times in microseconds. Each track is
 * a ring of TRACE_EVENTS_MAX slices that is allocated at open, so a long run keeps its end. */
#ifndef BERTD_FLOW_TRACE_H
#define BERTD_FLOW_TRACE_H

#include <stdint.h>

#include "engine/base/status.h"

enum { TRACE_EVENTS_MAX = 1 << 16, TRACE_NAME_BYTES = 16 };

struct trace;

/* One stage's run over one microbatch. */
struct trace_slice {
    uint64_t start_ns, end_ns;
    uint64_t number; /* of the microbatch within its replica */
    uint32_t rows, tokens;
    uint32_t waiting; /* at the start: tokens in the batcher for stage 0, else microbatches */
};

/* Makes sure that the file can be written, so that a path that cannot is known at once. A file that
 * is there already stays as it is until trace_close(); what is no plain file is opened here. Track
 * t belongs to stage t % stages_count of replica t / stages_count. Errors: IO (names the path),
 * NO_MEMORY. */
enum status trace_open(const char *path, uint32_t replicas_count, uint32_t stages_count,
                       struct trace **out, struct error *err);

/* Before the stages start. The name is cut to fit. */
void trace_set_name(struct trace *trace, uint32_t track, const char *name);

/* On the track's own thread only; allocates nothing. */
void trace_add(struct trace *trace, uint32_t track, const struct trace_slice *slice);

/* Writes the file, whole or not at all (where it is a plain file); no stage runs any more. Error:
 * IO. NULL is allowed. */
enum status trace_close(struct trace *trace, struct error *err);

#endif
