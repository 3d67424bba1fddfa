/* splitter.c: the five behaviours. A match joins at most one neighbour, and only one that is no
 * match; the pinned library's folds over all segments come down to looking one segment back. */
#include "engine/text/splitter.h"

static enum status hand_on(struct splitter *splitter, size_t start, size_t end) {
    return start == end ? STATUS_OK : splitter->emit(splitter->context, start, end);
}

/* Whether the segment that waits and the one behind it are one piece. */
static bool joins(const struct splitter *splitter, bool match) {
    switch (splitter->behavior) {
    case SPLIT_MERGED_WITH_PREVIOUS:
        return !splitter->match && match;
    case SPLIT_MERGED_WITH_NEXT:
        return splitter->match && !match;
    case SPLIT_CONTIGUOUS:
        return splitter->match == match;
    default:
        return false;
    }
}

enum status splitter_add(struct splitter *splitter, size_t start, size_t end, bool match) {
    match = match != splitter->invert;
    if (splitter->behavior == SPLIT_ISOLATED)
        return hand_on(splitter, start, end);
    if (splitter->behavior == SPLIT_REMOVED)
        return match ? STATUS_OK : hand_on(splitter, start, end);
    if (splitter->waits && joins(splitter, match)) {
        splitter->end = end;
        return splitter->behavior == SPLIT_CONTIGUOUS ? STATUS_OK : splitter_finish(splitter);
    }
    enum status status = splitter_finish(splitter);
    splitter->waits = true;
    splitter->match = match;
    splitter->start = start;
    splitter->end = end;
    return status;
}

enum status splitter_finish(struct splitter *splitter) {
    bool waits = splitter->waits;
    splitter->waits = false;
    return waits ? hand_on(splitter, splitter->start, splitter->end) : STATUS_OK;
}
