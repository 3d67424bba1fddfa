/* progress.h: a bar on standard error while a command reads a file. Shown only when standard error
 * is a terminal and the input is a regular file; otherwise every call does nothing. */
#ifndef BERTD_PROGRESS_H
#define BERTD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    bool shown;
    uint64_t bytes_total, next_ns, started_ns;
};

void progress_init(struct progress *progress, FILE *input);

/* Draws at most ten times a second. `inputs` so far, `bytes` of the file read so far. */
void progress_update(struct progress *progress, uint64_t inputs, uint64_t bytes);

/* Wipes the bar. */
void progress_end(struct progress *progress);

#endif
