/* bench_load.c: makes or reads the inputs of `bertd bench`. */
#include "server/bench_load.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/limits.h"
#include "engine/base/size.h"
#include "server/text_input.h"

enum { RANDOM_INPUTS = 256, SHORTEST = 4 };

/* A linear congruential generator: the same inputs on every machine. */
static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(*state >> 33);
}

/* RANDOM_INPUTS inputs of lengths[i] tokens. */
static enum status make_random(const struct engine_info *info, const uint32_t *lengths,
                               struct bench_load *out) {
    uint64_t state = 1;
    size_t total = 0;
    for (uint32_t i = 0; i < RANDOM_INPUTS; i++)
        total += lengths[i];
    out->inputs = calloc(RANDOM_INPUTS, sizeof *out->inputs);
    out->ids = calloc(total, sizeof *out->ids);
    if (!out->inputs || !out->ids) {
        bench_load_free(out);
        return STATUS_NO_MEMORY;
    }
    out->count = RANDOM_INPUTS;
    int32_t *ids = out->ids;
    for (uint32_t i = 0; i < RANDOM_INPUTS; i++) {
        out->inputs[i].ids = ids;
        out->inputs[i].ids_count = lengths[i];
        for (uint32_t k = 0; k < lengths[i]; k++)
            *ids++ = (int32_t)(next_random(&state) % info->vocab_size);
        if (info->task_kind == ENGINE_FILL_MASK)
            ids[-1 - (int32_t)(lengths[i] / 2)] = info->mask_id;
    }
    return STATUS_OK;
}

enum status bench_load_fixed(const struct engine_info *info, uint32_t length,
                             struct bench_load *out) {
    uint32_t lengths[RANDOM_INPUTS];
    for (uint32_t i = 0; i < RANDOM_INPUTS; i++)
        lengths[i] = length;
    *out = (struct bench_load){.count = 0};
    snprintf(out->name, sizeof out->name, "%u", length);
    return make_random(info, lengths, out);
}

enum status bench_load_mixed(const struct engine_info *info, struct bench_load *out) {
    uint32_t lengths[RANDOM_INPUTS];
    uint64_t state = 2;
    double longest = info->tokens_max > SHORTEST ? (double)info->tokens_max : SHORTEST;
    for (uint32_t i = 0; i < RANDOM_INPUTS; i++) {
        double place = (double)next_random(&state) / 2147483648.0;
        lengths[i] = (uint32_t)(SHORTEST * pow(longest / SHORTEST, place));
    }
    *out = (struct bench_load){.name = "mixed"};
    return make_random(info, lengths, out);
}

/* The bytes of the texts while they are still counted: views are made at the end, since the
 * buffer moves as it grows. */
struct collected {
    char *bytes;
    size_t used, capacity;
};

static bool collect(struct collected *collected, struct view text) {
    size_t need;
    if (!size_add(collected->used, text.bytes, &need))
        return false;
    if (need > collected->capacity) {
        size_t capacity = need + need / 2 + 4096;
        char *bytes = realloc(collected->bytes, capacity);
        if (!bytes)
            return false;
        collected->bytes = bytes;
        collected->capacity = capacity;
    }
    if (text.bytes)
        memcpy(collected->bytes + collected->used, text.data, text.bytes);
    collected->used = need;
    return true;
}

/* Reads all lines; texts get their lengths, and their places in the end. */
static enum status read_lines(struct text_input *input, struct bench_load *out,
                              struct collected *collected, struct error *err) {
    struct text_item item;
    enum text_input_result result;
    out->inputs = calloc(LIMIT_BENCH_INPUTS, sizeof *out->inputs);
    if (!out->inputs)
        return STATUS_NO_MEMORY;
    while (out->count < LIMIT_BENCH_INPUTS &&
           (result = text_input_next(input, &item, err)) != TEXT_INPUT_END) {
        if (result == TEXT_INPUT_BAD)
            return error_prefix(err, "line %llu", (unsigned long long)input->lines.lines_read);
        struct engine_input *kept = &out->inputs[out->count++];
        kept->text = item.text;
        kept->text_pair = item.text_pair;
        if (!collect(collected, item.text) || !collect(collected, item.text_pair))
            return STATUS_NO_MEMORY;
    }
    if (input->lines.failed)
        return STATUS_IO;
    if (out->count == 0)
        return error_set(err, STATUS_BAD_FILE, "the file has no texts");
    return collect(collected, (struct view){"", 1}) ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status bench_load_file(FILE *file, struct bench_load *out, struct error *err) {
    struct text_input input;
    struct collected collected = {.bytes = NULL};
    *out = (struct bench_load){.name = "file"};
    text_input_init(&input, &(struct options_rest){.count = 0}, file, true);
    input.allowed = TEXT_ALLOWS_FIELDS; /* a data set with further columns will do */
    error_set(err, STATUS_OK, "%s", "");
    enum status status = read_lines(&input, out, &collected, err);
    out->bytes = collected.bytes;
    const char *place = out->bytes;
    for (uint32_t i = 0; status == STATUS_OK && i < out->count; i++) {
        struct engine_input *kept = &out->inputs[i];
        kept->text.data = place;
        place += kept->text.bytes;
        if (kept->text_pair.data)
            kept->text_pair.data = place;
        place += kept->text_pair.bytes;
    }
    text_input_free(&input);
    if (status == STATUS_OK)
        return STATUS_OK;
    if (err->status == STATUS_OK)
        error_set(err, status, "%s", status_meaning(status));
    bench_load_free(out);
    return status;
}

void bench_load_free(struct bench_load *load) {
    free(load->bytes);
    free(load->ids);
    free(load->inputs);
    load->bytes = NULL;
    load->ids = NULL;
    load->inputs = NULL;
    load->count = 0;
}
