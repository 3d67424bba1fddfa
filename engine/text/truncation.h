/* truncation.h: how many tokens of each segment fit, and where windows of a long text lie. */
#ifndef BERTD_TEXT_TRUNCATION_H
#define BERTD_TEXT_TRUNCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/text/tokenizer.h"

/* Lowers counts[0] and counts[1] (0 without a pair) until their sum is at most `budget`.
 * longest_first is the pinned library's formula: a segment of at most half the budget stays whole;
 * of two longer ones each gets half, and the odd token goes to the longer, on a tie to the second.
 * Error: INVALID_VALUE when the strategy's segment would have nothing left, or is not there. */
enum status truncation_apply(enum tokenizer_strategy strategy, uint32_t budget, bool pair,
                             uint32_t counts[2], struct error *err);

/* Window `index` of the `count` content tokens of a segment of which `kept` are left: window 0 is
 * what stays, the others overflow, each with `stride` tokens of the one before; from the left end
 * on, or from the right one. With nothing kept there is one window more, of everything. */
void truncation_window(enum tokenizer_side side, uint32_t count, uint32_t kept, uint32_t stride,
                       uint32_t index, uint32_t *first, uint32_t *length);
uint32_t truncation_windows_kept(uint32_t count, uint32_t kept, uint32_t stride);

/* Number of windows of `window` content tokens, overlapping by `stride` < `window`, that cover
 * `count` content tokens; at least 1. */
uint32_t truncation_windows(uint32_t count, uint32_t window, uint32_t stride);

#endif
