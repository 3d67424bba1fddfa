/* truncation.c: arithmetic on token counts only. */
#include "engine/text/truncation.h"

static void longest_first(uint32_t budget, uint32_t counts[2]) {
    uint32_t shorter = counts[0] > counts[1] ? 1 : 0;
    uint32_t small = counts[shorter], half = budget / 2;
    if (small > half)
        small = half;
    counts[shorter] = small;
    counts[1 - shorter] = budget - small;
}

enum status truncation_apply(enum tokenizer_strategy strategy, uint32_t budget, bool pair,
                             uint32_t counts[2], struct error *err) {
    uint64_t total = (uint64_t)counts[0] + counts[1];
    if (total <= budget)
        return STATUS_OK;
    if (budget == 0) {
        counts[0] = counts[1] = 0;
        return STATUS_OK;
    }
    if (strategy == TOKENIZER_LONGEST_FIRST) {
        if (pair)
            longest_first(budget, counts);
        else
            counts[0] = budget;
        return STATUS_OK;
    }
    uint32_t target = strategy == TOKENIZER_ONLY_FIRST ? 0 : 1;
    if (target == 1 && !pair)
        return error_set(err, STATUS_INVALID_VALUE,
                         "truncation only_second needs a second text, and there is none");
    uint64_t excess = total - budget;
    if (counts[target] <= excess)
        return error_set(err, STATUS_INVALID_VALUE,
                         "truncation only_%s: the text has %u tokens, %llu would have to go",
                         target == 0 ? "first" : "second", counts[target],
                         (unsigned long long)excess);
    counts[target] -= (uint32_t)excess;
    return STATUS_OK;
}

uint32_t truncation_windows(uint32_t count, uint32_t window, uint32_t stride) {
    if (count <= window || stride >= window)
        return 1;
    uint32_t step = window - stride;
    return 1 + (count - window + step - 1) / step;
}

uint32_t truncation_windows_kept(uint32_t count, uint32_t kept, uint32_t stride) {
    if (kept == 0)
        return count > 0 ? 2 : 1;
    return truncation_windows(count, kept, stride);
}

void truncation_window(enum tokenizer_side side, uint32_t count, uint32_t kept, uint32_t stride,
                       uint32_t index, uint32_t *first, uint32_t *length) {
    if (kept == 0) {
        *first = 0;
        *length = index == 0 ? 0 : count;
        return;
    }
    uint32_t skipped = index * (kept - (kept < count ? stride : 0)), left = count - skipped;
    *length = left < kept ? left : kept;
    *first = side == TOKENIZER_RIGHT ? skipped : left - *length;
}
