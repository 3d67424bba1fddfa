/* status.h: the one table of results, and the error that carries one with its message.
 *
 * Every function that can fail returns an `enum status`; outputs come last. Where a message helps
 * the person who reads it, the function also takes a `struct error *` (NULL is allowed) and fills
 * it with error_set(). Errors found inside the flow travel inside the call, not beside it. */
#ifndef BERTD_BASE_STATUS_H
#define BERTD_BASE_STATUS_H

#include <stddef.h>

/* name, code as the HTTP API spells it, meaning */
#define STATUS_TABLE(X)                                                                            \
    X(OK, "ok", "success")                                                                         \
    X(NO_MEMORY, "internal", "memory could not be allocated")                                      \
    X(IO, "internal", "a file could not be opened or read")                                        \
    X(BAD_FILE, "internal", "a model file is damaged or contradicts itself")                       \
    X(UNSUPPORTED, "internal", "a model file asks for something that is not built")                \
    X(INVALID_VALUE, "invalid_value", "an argument is outside its allowed range")                  \
    X(INVALID_UTF8, "invalid_utf8", "a text is not valid UTF-8")                                   \
    X(INPUT_TOO_LONG, "input_too_long", "an input has more tokens than the model takes")           \
    X(CALL_TOO_LARGE, "call_too_large", "a call has more tokens than one call may have")           \
    X(QUEUE_FULL, "queue_full", "the queue of admitted tokens is full")                            \
    X(DRAINING, "draining", "the engine finishes what it has and takes nothing new")               \
    X(STAGE_STUCK, "stage_stuck", "a stage of the pipeline makes no progress")                     \
    X(DEADLINE, "deadline_exceeded", "the call's deadline has passed")                             \
    X(CANCELLED, "cancelled", "the client no longer wants the answer")                             \
    X(NOT_FINITE, "not_finite", "the model computed a value that is not finite")                   \
    X(INTERNAL, "internal", "an invariant of the program was broken")

enum status {
#define STATUS_ENUM(name, code, meaning) STATUS_##name,
    STATUS_TABLE(STATUS_ENUM)
#undef STATUS_ENUM
        STATUS_COUNT
};

enum { ERROR_MESSAGE_BYTES = 512 };

/* A status with the sentence that explains it. Plain data, may be copied. */
struct error {
    enum status status;
    int input; /* index of the faulty input within the call, or -1 */
    char message[ERROR_MESSAGE_BYTES];
};

/* The status's name ("BAD_FILE"), its API code ("internal") and its meaning. Never NULL. */
const char *status_name(enum status status);
const char *status_code(enum status status);
const char *status_meaning(enum status status);

/* Fills `err` (unless NULL) with the status, no input index, and the formatted message: one line,
 * control characters shown as "?", cut to its room at a code point border. Returns `status`, so
 * that `return error_set(...)` reads well. */
enum status error_set(struct error *err, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " in front of the message that `err` already has. Returns the error's status. */
enum status error_prefix(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
