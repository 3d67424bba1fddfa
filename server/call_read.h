/* call_read.h: what the bodies of all routes that ask the model have in common (api.md §2): inputs,
 * model, truncation. The routes read their own fields from the same document. */
#ifndef BERTD_CALL_READ_H
#define BERTD_CALL_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/engine.h"
#include "server/api_error.h"

/* What the reader must know about the server and its model. */
struct call_rules {
    const char *model_name;
    const struct engine_info *info;
    uint32_t inputs_max;
    bool truncate; /* when the body does not say */
};

/* Names that call_body_open() and call_body_read_inputs() know. */
#define CALL_BODY_FIELDS "input", "inputs", "model", "truncate", "truncation_side"

struct call_body {
    json_t *document;   /* owns the texts */
    struct arena arena; /* owns the inputs and token ids, and what the route takes from it */
    struct engine_input *inputs;
    uint32_t inputs_count;
    bool many; /* the input was an array of inputs */
    bool truncate;
    uint32_t side; /* enum truncation_side */
};

/* A text or a pair object, whose views live as long as the value. Errors: invalid_type,
 * unknown_field. */
bool call_read_text(const json_t *value, const char *param, struct engine_input *out,
                    struct api_error *err);

/* Parses the body, an object with `fields` and no others, and checks `model`. To be freed also
 * after a failure. Errors: every 400 and 413 of a body, model_not_found, internal. */
bool call_body_open(struct view body, const struct call_rules *rules, const char *const *fields,
                    size_t fields_count, struct call_body *out, struct api_error *err);

/* Reads the common fields; what comes last in the order of faults. */
bool call_body_read_inputs(const struct call_rules *rules, struct call_body *call,
                           struct api_error *err);

/* Frees the document, the inputs and their texts; the rest stays readable. NULL is allowed. */
void call_body_free(struct call_body *body);

#endif
