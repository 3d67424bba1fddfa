/* api_call.h: the way of an exchange that asks the model, the same for every task: the body is read
 * (long ones on the reader's thread), the call is submitted, the connection sleeps, and the answer
 * is written once the engine has woken it. What differs stands in a struct call_kind. */
#ifndef BERTD_API_CALL_H
#define BERTD_API_CALL_H

#include "engine/engine.h"
#include "server/call_read.h"
#include "server/call_write.h"
#include "server/exchange.h"
#include "server/reader.h"

struct call_kind;

/* One exchange's call. A route's own struct begins with it and is zeroed at first. */
struct call_task {
    struct reading reading; /* first, see api_call.c */
    const struct call_kind *kind;
    struct exchange *exchange;
    struct engine *engine;
    const struct engine_info *info;
    struct call_body *body; /* set by the kind's read; its texts go when they are submitted */
    struct api_error read_error;
    bool readable;
    struct call *call; /* NULL until submitted */
    struct call_head head;
};

struct call_kind {
    enum engine_task task;
    const char *id_prefix; /* "cls" */
    size_t task_bytes;     /* of the route's own struct */

    /* HTTP thread or reader's: reads the body of the exchange and sets task->body. */
    bool (*read)(struct call_task *task, const struct call_rules *rules, struct api_error *err);

    /* HTTP thread: the task's own options. */
    void (*specify)(const struct call_task *task, struct call_spec *spec);

    /* HTTP thread: the field at fault when the engine refuses a value and names no input, or NULL.
     */
    const char *(*find_param)(const struct call_task *task);

    /* HTTP thread, after success: makes ready to write; sets whether the answer goes out in slices.
     * False: no memory. */
    bool (*prepare)(struct call_task *task, bool *in_slices);

    /* HTTP thread: appends until at least `slice_bytes` bytes are added; whether more is to come.
     */
    bool (*write)(struct call_task *task, size_t slice_bytes, struct json_writer *out);

    /* Frees what the route's own struct holds, or NULL. */
    void (*free)(struct call_task *task);
};

/* The handler of every such route. */
void api_call(struct exchange *exchange, const struct call_kind *kind);

#endif
