/* text_input.h: the inputs of the commands that read texts: the arguments, else standard input
 * line by line; plain texts, or with --jsonl a JSON value a line. Memory is one line at a time. */
#ifndef BERTD_TEXT_INPUT_H
#define BERTD_TEXT_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/base/status.h"
#include "engine/base/view.h"
#include "server/line_reader.h"
#include "server/options.h"

struct json_t;

/* One input. Lives until the next text_input_next() or text_item_free(). */
struct text_item {
    struct view text;
    struct view text_pair; /* data NULL: no pair */
    int32_t *ids;          /* not NULL: ids_count token ids; then `text` only shows them */
    uint32_t ids_count;
    struct json_t *json; /* owner of the views where they come from JSON; or NULL */
};

/* What a JSON value may be besides a string or {"text", "text_pair"}. */
enum text_allowed {
    TEXT_ALLOWS_IDS = 1,   /* an array of token ids */
    TEXT_ALLOWS_FIELDS = 2 /* an object with further fields, which are ignored */
};

struct text_input {
    struct options_rest arguments;
    bool from_arguments, jsonl;
    unsigned allowed; /* of enum text_allowed; 0 unless set after init */
    uint32_t next_argument;
    struct line_reader lines;
    struct text_item item;
};

/* Arguments if there are any, else `file` (which stays the caller's). */
void text_input_init(struct text_input *input, const struct options_rest *arguments, FILE *file,
                     bool jsonl);
void text_input_free(struct text_input *input);

enum text_input_result { TEXT_INPUT_ITEM, TEXT_INPUT_END, TEXT_INPUT_BAD };

/* The next input. A plain empty line is an empty text; with JSON, blank lines are skipped. BAD is
 * one line that is no input, or is too long; `err` says why, the text is the line as it stands (or
 * nothing of one that is too long), and the next call goes on behind it.
 * Reading errors of the file end the input; text_input_check_end() tells. */
enum text_input_result text_input_next(struct text_input *input, struct text_item *out,
                                       struct error *err);

/* False, after a line on standard error, when the input ended before its end. */
bool text_input_check_end(const struct text_input *input, const struct command *command);

/* Reads a string, {"text", "text_pair"}, or what `allowed` adds. The item takes a reference of its
 * own. Errors: INVALID_VALUE, NO_MEMORY. */
enum status text_item_from_json(struct json_t *value, unsigned allowed, struct text_item *out,
                                struct error *err);
void text_item_free(struct text_item *item);

#endif
