/* line_reader.h: lines of a file of any length, one at a time, with a maximum for a line. */
#ifndef BERTD_LINE_READER_H
#define BERTD_LINE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/base/view.h"

struct line_reader {
    FILE *file; /* the caller's */
    char *line;
    size_t line_capacity;
    uint64_t lines_read, bytes_read;
    bool failed; /* the file could not be read on, or memory ran out */
};

void line_reader_init(struct line_reader *reader, FILE *file);
void line_reader_free(struct line_reader *reader);

enum line_result { LINE_READ, LINE_END, LINE_TOO_LONG };

/* The next line without its end (LF or CR LF); NUL is a byte like any other; the last line needs
 * no end. The view lives until the next call. A line over LIMIT_LINE_BYTES is skipped whole. */
enum line_result line_reader_next(struct line_reader *reader, struct view *out);

#endif
