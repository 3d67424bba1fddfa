/* log.c: builds one line in a local buffer and writes it with one call. */
#include "engine/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LOG_LINE_BYTES = 4096 };

static enum log_level level_max = LOG_INFO;
static enum log_format line_format = LOG_FORMAT_TEXT;
static const char *const level_names[] = {"error", "warning", "info", "debug"};

void log_init(enum log_level level, enum log_format format) {
    level_max = level;
    line_format = format;
}

bool log_enabled(enum log_level level) {
    return level <= level_max;
}

/* Writes the text as the inside of a JSON string; returns the bytes written, never past `room`. */
static size_t json_escape(char *out, size_t room, const char *text) {
    size_t n = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c && n + 7 < room; c++) {
        if (*c == '"' || *c == '\\')
            n += (size_t)snprintf(out + n, room - n, "\\%c", *c);
        else if (*c < 0x20)
            n += (size_t)snprintf(out + n, room - n, "\\u%04x", *c);
        else
            out[n++] = (char)*c;
    }
    return n;
}

void log_write(enum log_level level, const char *format, ...) {
    if (!log_enabled(level))
        return;
    char message[LOG_LINE_BYTES / 2], line[LOG_LINE_BYTES + 128];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    size_t n;
    if (line_format == LOG_FORMAT_JSON) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        n = (size_t)snprintf(line, sizeof line,
                             "{\"time\":%lld.%03ld,\"level\":\"%s\",\"message\":\"",
                             (long long)now.tv_sec, now.tv_nsec / 1000000, level_names[level]);
        n += json_escape(line + n, sizeof line - n - 4, message);
        n += (size_t)snprintf(line + n, sizeof line - n, "\"}\n");
    } else {
        for (char *c = message; *c; c++)
            if ((unsigned char)*c < 0x20 || *c == 0x7F)
                *c = '?'; /* what a client sent must not look like a line of its own */
        n = (size_t)snprintf(line, sizeof line, "bertd: %s%s%s\n",
                             level == LOG_INFO ? "" : level_names[level],
                             level == LOG_INFO ? "" : ": ", message);
    }
    if (write(STDERR_FILENO, line, n) < 0)
        return; /* standard error is gone; there is nobody left to tell */
}
