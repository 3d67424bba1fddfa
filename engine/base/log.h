/* log.h: one line an event on standard error, as text or as JSON. Any thread; a line is one write.
 * A text line is "bertd: message", with the level in front of anything but plain information. */
#ifndef BERTD_BASE_LOG_H
#define BERTD_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* Call once before other threads start. The defaults are LOG_INFO and LOG_FORMAT_TEXT. */
void log_init(enum log_level level, enum log_format format);

/* Whether a line of this level would be written. */
bool log_enabled(enum log_level level);

/* Writes one line when its level is enabled; `format` as printf's, without a line end. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
