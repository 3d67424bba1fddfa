/* mask_decoder.h: hidden states of masked positions to the best tokens of the vocabulary with their
 * probabilities: logits = E x + b over the matrix E that the embedding reads too.
 *
 * E [V, H] stays in the mapped file in the file's number format. It is widened a few rows at a
 * time, and its rows are the left-hand side of the products, up to 16 positions the right-hand one:
 * so nothing of E needs packing, and a pass over E serves up to 64 positions. Of the logits only
 * one slice is held at a time. The log-sum-exp is kept as a maximum and a sum for each block of 256
 * entries, combined in the order of the blocks, and slices are whole blocks: so the bytes depend
 * neither on the slices nor on the positions beside (the latter is self-tested at open; where it
 * does not hold, positions go one by one). Immutable after open. V vocabulary, H hidden size. */
#ifndef BERTD_COMPUTE_MASK_DECODER_H
#define BERTD_COMPUTE_MASK_DECODER_H

#include <stdint.h>

#include "engine/base/ranking.h"
#include "engine/base/status.h"
#include "engine/compute/kernels.h"
#include "engine/model/model.h"

struct mask_decoder;
struct mask_decoder_scratch; /* one thread's working memory */

enum { MASK_DECODER_POSITIONS = 64 }; /* that one pass over the matrix serves at most */

/* What is asked of one position. */
struct mask_query {
    const struct ranking *ranking; /* ids of the vocabulary */
    struct ranked *best; /* [kept] set to the best by probability, the sum of all being one; NAN
                            where a logit is not finite */
};

/* `weights` may have no bias. The tensors must outlive it. Errors: NO_MEMORY, INTERNAL. */
enum status mask_decoder_open(const struct kernels *kernels, const struct linear_weights *weights,
                              struct mask_decoder **out, struct error *err);
void mask_decoder_close(struct mask_decoder *decoder); /* NULL is allowed */

/* Bytes that it holds beside the tensors: the bias. */
uint64_t mask_decoder_get_bytes(const struct mask_decoder *decoder);

/* `chunks`: into how many slices the vocabulary is cut, at most one for each block; 0: one for
 * each. Opened on the thread that uses it. Errors: NO_MEMORY, INTERNAL. */
enum status mask_decoder_scratch_open(const struct mask_decoder *decoder, uint32_t chunks,
                                      struct mask_decoder_scratch **out, struct error *err);

/* The slices there are when so many are asked for. */
uint32_t mask_decoder_get_chunks(const struct mask_decoder *decoder, uint32_t chunks);
void mask_decoder_scratch_close(struct mask_decoder_scratch *scratch); /* NULL is allowed */

/* x [count, H]: position i is answered as queries[i] asks. */
void mask_decoder_run(const struct mask_decoder *decoder, struct mask_decoder_scratch *scratch,
                      const float *x, const struct mask_query *queries, uint32_t count);

#endif
