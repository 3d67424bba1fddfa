/* bench_load.h: the inputs of `bertd bench`: sequences of random token ids of given lengths, or
 * the texts of a file. Made before anything is measured; the same in every run. */
#ifndef BERTD_BENCH_LOAD_H
#define BERTD_BENCH_LOAD_H

#include <stdint.h>
#include <stdio.h>

#include "engine/engine.h"

/* Inputs that are sent in turn, from the first again after the last. */
struct bench_load {
    char name[32]; /* "128", "mixed", "file" */
    struct engine_input *inputs;
    uint32_t count;
    int32_t *ids; /* owns what inputs[].ids point at */
    char *bytes;  /* owns what the texts point at */
};

/* `length` tokens each, special tokens included. Error: NO_MEMORY. */
enum status bench_load_fixed(const struct engine_info *info, uint32_t length,
                             struct bench_load *out);

/* Lengths from a few tokens up to the model's limit, short ones more often (each doubling of the
 * length is equally likely), as real traffic has them. Error: NO_MEMORY. */
enum status bench_load_mixed(const struct engine_info *info, struct bench_load *out);

/* JSON lines as in text_input.h, at most LIMIT_BENCH_INPUTS of them. Errors: INVALID_VALUE (names
 * the line, or says that there is none), NO_MEMORY, IO. */
enum status bench_load_file(FILE *file, struct bench_load *out, struct error *err);

void bench_load_free(struct bench_load *load);

#endif
