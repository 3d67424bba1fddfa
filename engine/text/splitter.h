/* splitter.h: what becomes of the matches of a pattern: they go, stand alone, or join a neighbour.
 *
 * A pre-tokenizer hands in the segments of a text in order, matches and what is between them, and
 * receives the pieces. Nothing is stored but the segment that waits for its neighbour. */
#ifndef BERTD_TEXT_SPLITTER_H
#define BERTD_TEXT_SPLITTER_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/status.h"

enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS, /* neighbouring matches are one piece */
    SPLIT_BEHAVIORS
};

/* Receives one piece, code points [start, end), never empty. Anything but OK ends the splitting. */
typedef enum status splitter_emit(void *context, size_t start, size_t end);

struct splitter {
    enum split_behavior behavior;
    bool invert; /* matches count as what is between them, and the other way round */
    splitter_emit *emit;
    void *context;
    bool waits; /* [start, end), `match` is held back until the next segment is known */
    bool match;
    size_t start, end;
};

/* The next segment, which may be empty. Errors: those of `emit`. */
enum status splitter_add(struct splitter *splitter, size_t start, size_t end, bool match);

/* Hands on what still waits. */
enum status splitter_finish(struct splitter *splitter);

#endif
