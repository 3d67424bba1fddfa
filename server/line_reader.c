/* line_reader.c: getline() with a maximum. */
#include "server/line_reader.h"

#include <stdlib.h>

#include "engine/base/limits.h"

enum { LINE_FIRST_CAPACITY = 4096 };

void line_reader_init(struct line_reader *reader, FILE *file) {
    *reader = (struct line_reader){.file = file};
}

void line_reader_free(struct line_reader *reader) {
    free(reader->line);
    reader->line = NULL;
    reader->line_capacity = 0;
}

static bool grow(struct line_reader *reader) {
    size_t capacity = reader->line_capacity ? 2 * reader->line_capacity : LINE_FIRST_CAPACITY;
    char *line = realloc(reader->line, capacity);
    if (!line) {
        reader->failed = true;
        return false;
    }
    reader->line = line;
    reader->line_capacity = capacity;
    return true;
}

enum line_result line_reader_next(struct line_reader *reader, struct view *out) {
    size_t bytes = 0;
    bool too_long = false, ended = false;
    if (reader->failed)
        return LINE_END;
    flockfile(reader->file); /* once for all getc_unlocked() of a line */
    int c;
    while (!ended && (c = getc_unlocked(reader->file)) != EOF) {
        reader->bytes_read++;
        ended = c == '\n';
        too_long = too_long || bytes >= LIMIT_LINE_BYTES;
        if (ended || too_long)
            continue;
        if (bytes == reader->line_capacity && !grow(reader))
            break;
        reader->line[bytes++] = (char)c;
    }
    funlockfile(reader->file);
    reader->failed = reader->failed || ferror(reader->file) != 0;
    if (reader->failed || (!ended && bytes == 0))
        return LINE_END;
    reader->lines_read++;
    if (too_long)
        return LINE_TOO_LONG;
    if (ended && bytes > 0 && reader->line[bytes - 1] == '\r')
        bytes--;
    *out = (struct view){bytes ? reader->line : "", bytes};
    return LINE_READ;
}
