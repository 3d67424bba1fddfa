/* reader.h: one thread that reads bodies which are too long for an HTTP thread: jansson takes tens
 * of milliseconds for a megabyte, and meanwhile other clients would wait. */
#ifndef BERTD_READER_H
#define BERTD_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"

struct reader;

/* Work for the reader's thread. It belongs to who pushed it, and must stay until `run` has run. */
struct reading {
    void (*run)(struct reading *reading);
};

/* Room for `capacity` pieces of work. Errors: NO_MEMORY. */
enum status reader_start(uint32_t capacity, struct reader **out, struct error *err);

/* Runs what is left and joins the thread. NULL is allowed. */
void reader_stop(struct reader *reader);

/* False when there is no room. Any thread. */
bool reader_push(struct reader *reader, struct reading *reading);

#endif
