/* view.h: a borrowed range of bytes, most often UTF-8 text. NUL is a byte like any other.
 * The owner of the bytes must outlive the view. Any thread. */
#ifndef BERTD_BASE_VIEW_H
#define BERTD_BASE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct view {
    const char *data;
    size_t bytes;
};

static inline struct view view_of(const char *c_string) {
    return (struct view){c_string, strlen(c_string)};
}

static inline bool view_equals(struct view a, struct view b) {
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0);
}

/* Bytes of the view that a message shows with "%.*s": at most 64, whole code points. */
static inline int view_shown(struct view view) {
    size_t bytes = view.bytes < 64 ? view.bytes : 64;
    while (bytes < view.bytes && bytes > 0 && ((unsigned char)view.data[bytes] & 0xC0) == 0x80)
        bytes--;
    return (int)bytes;
}

static inline bool view_equals_c(struct view a, const char *c_string) {
    return view_equals(a, view_of(c_string));
}

#endif
