/* expect.h: does a model answer as a file says? For `bertd check --expect`.
 *
 * A line is a JSON object with an input ("input": a string or {"text","text_pair"}; or "text" and
 * "text_pair" themselves) and the answer, as "answer" or beside the input:
 *   {"predictions": [{"label", "score"}, ...]}   what POST /v1/classify has in `data`
 *   [{"label", "score"}, ...]                    what Hugging Face pipelines answer
 *   {"label": "joy", "score": 0.9}               the first label; the score may be absent
 *   {"scores": [...]}, {"probs": [...]}          one number a label, in the model's order
 *   {"logits": [...]}                            the same before the activation function
 * of a model with a masked-language head:
 *   {"masks": [[{"token", "score"}, ...], ...]}  what POST /v1/fill_mask has in `data`
 *   [{"token", "score"}, ...]                    what pipelines answer; for several masks a list
 *                                                of such lists
 *   {"token": 1471, "score": 0.3}                the best token; the score may be absent
 * Further fields are ignored. */
#ifndef BERTD_EXPECT_H
#define BERTD_EXPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/engine.h"
#include "server/text_input.h"

/* What one line expects. `scores` has K entries, NAN where the line says nothing. Of a mask the
 * vocabulary's tokens stand for the labels. */
struct expected_answer {
    float *scores;
    uint32_t first_label;
};

enum { EXPECT_NO_LABEL = 0x7FFFFFFF };

/* Reads one line; `item` owns its JSON as in text_input.h. first_label is the best of the scores,
 * or the one that is named. Error: INVALID_VALUE, INVALID_UTF8. */
enum status expect_parse(struct view line, const struct engine_info *info, struct text_item *item,
                         struct expected_answer *out, struct error *err);

/* The same of a masked-language model: *answer is what the line expects of all its masks, for
 * expect_read_mask() and at last expect_free_masks(). */
enum status expect_parse_masks(struct view line, struct text_item *item, struct json_t **answer,
                               struct error *err);

/* Frees such an answer. NULL is allowed. */
void expect_free_masks(struct json_t *answer);

/* What such an answer expects of one of `masks_count` masks. Error: INVALID_VALUE. */
enum status expect_read_mask(const struct json_t *answer, uint32_t mask, uint32_t masks_count,
                             const struct engine_info *info, struct expected_answer *out,
                             struct error *err);

struct expect_summary {
    uint64_t inputs;
    uint64_t failed;        /* lines that are no input, and inputs that got no answer */
    uint64_t first_flipped; /* inputs whose best label, or masks whose best token, is another */
    uint64_t sides_flipped; /* sigmoid: labels on the other side of their threshold (or 0.5) */
    uint64_t scores;        /* compared one by one */
    uint64_t beyond;        /* of these, beyond the tolerance */
    double largest, p99;    /* of the largest score differences of inputs, or of masks */
    bool answers_so;        /* nothing failed, no first label flipped, nothing is beyond */
};

/* Sends every line of `file` through the engine, whose queue must take it. A score may differ by
 * tolerance * (1 + expected). The first few faults are reported on standard error. Error:
 * NO_MEMORY, IO. */
enum status expect_run(struct engine *engine, FILE *file, double tolerance,
                       struct expect_summary *out);

#endif
