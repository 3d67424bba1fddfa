/* call_write.h: what the answers of all routes that ask the model have in common: the fields before
 * and after their own. The writer is inside an object. */
#ifndef BERTD_CALL_WRITE_H
#define BERTD_CALL_WRITE_H

#include <stdint.h>
#include <time.h>

#include "server/json_write.h"

struct call_head {
    char id[24]; /* "cls-…" */
    const char *model_name;
    time_t created;
};

/* "id", "object", "created", "model". */
void call_write_head(const struct call_head *head, struct json_writer *out);

/* "usage" of so many tokens. */
void call_write_usage(uint64_t tokens, struct json_writer *out);

#endif
