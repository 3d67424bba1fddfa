/* reader.c: a queue and a thread. */
#include "server/reader.h"

#include <stdlib.h>

#include "engine/base/queue.h"
#include "engine/base/thread.h"

struct reader {
    struct queue *queue;
    struct thread thread;
};

static void run(void *context) {
    struct reader *reader = context;
    struct reading *reading;
    while ((reading = queue_pop(reader->queue)) != NULL)
        reading->run(reading);
}

enum status reader_start(uint32_t capacity, struct reader **out, struct error *err) {
    *out = NULL;
    struct reader *reader = calloc(1, sizeof *reader);
    enum status status = reader ? queue_open(capacity, &reader->queue) : STATUS_NO_MEMORY;
    if (status != STATUS_OK)
        error_set(err, status, "no memory for the reader of bodies");
    else
        status = thread_start(&reader->thread, "reader", run, reader, err);
    if (status == STATUS_OK)
        *out = reader;
    else
        reader_stop(reader);
    return status;
}

void reader_stop(struct reader *reader) {
    if (!reader)
        return;
    if (reader->queue)
        queue_close(reader->queue);
    thread_join(&reader->thread);
    queue_free(reader->queue);
    free(reader);
}

bool reader_push(struct reader *reader, struct reading *reading) {
    return queue_try_push(reader->queue, reading);
}
