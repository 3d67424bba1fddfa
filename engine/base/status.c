/* status.c: names of results and the filling of errors. Any thread. */
#include "engine/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *code, *meaning;
} table[STATUS_COUNT] = {
#define STATUS_ROW(name, code, meaning) {#name, code, meaning},
    STATUS_TABLE(STATUS_ROW)
#undef STATUS_ROW
};

static enum status known(enum status status) {
    return (unsigned)status < STATUS_COUNT ? status : STATUS_INTERNAL;
}

const char *status_name(enum status status) {
    return table[known(status)].name;
}

const char *status_code(enum status status) {
    return table[known(status)].code;
}

const char *status_meaning(enum status status) {
    return table[known(status)].meaning;
}

/* A message is one line, whatever the names in it hold: control characters become '?'. An
 * unfinished UTF-8 sequence is cut off the end of a message that filled its room. */
static void message_tidy(char *message, size_t room, int wanted) {
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
    if (wanted < 0 || (size_t)wanted < room)
        return;
    size_t end = room - 1, back = end;
    while (back > 0 && end - back < 4 && ((unsigned char)message[back - 1] & 0xC0) == 0x80)
        back--;
    if (back > 0 && ((unsigned char)message[back - 1] & 0x80))
        message[back - 1] = '\0';
}

enum status error_set(struct error *err, enum status status, const char *format, ...) {
    if (!err)
        return status;
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    message_tidy(err->message, sizeof err->message, wanted);
    err->status = status;
    err->input = -1;
    return status;
}

enum status error_prefix(struct error *err, const char *format, ...) {
    if (!err)
        return STATUS_INTERNAL;
    char old[ERROR_MESSAGE_BYTES], prefix[ERROR_MESSAGE_BYTES];
    memcpy(old, err->message, sizeof old);
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    int wanted = snprintf(err->message, sizeof err->message, "%s: %s", prefix, old);
    message_tidy(err->message, sizeof err->message, wanted);
    return err->status;
}
