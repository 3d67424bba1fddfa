/* text_output.h: what commands print for people: texts made safe for a terminal, and JSON lines. */
#ifndef BERTD_TEXT_OUTPUT_H
#define BERTD_TEXT_OUTPUT_H

#include <stdio.h>

#include "engine/base/view.h"
#include "server/json_write.h"

enum { TEXT_OUTPUT_SHOWN_BYTES = 256 };

/* At most `code_points_max` code points of the text (and at most the room) with control characters
 * and broken UTF-8 as question marks, "..." when cut; NUL-terminated. */
void text_output_shorten(struct view text, size_t code_points_max,
                         char out[TEXT_OUTPUT_SHOWN_BYTES]);

/* Writes the JSON as one line and empties the writer. False after a line about it on standard
 * error when the writer had failed; {"error"} is written then, so that lines stay in step. */
bool text_output_json_line(FILE *file, struct json_writer *json);

/* {"index", "error"} as one line; without the index if it is NULL. */
void text_output_json_error(FILE *file, const uint64_t *index, const char *message);

#endif
