/* embedding.h: token ids to hidden states: word + position + type vectors, then layer norm.
 *
 * The tables stay in the mapped file in the file's number format; rows are widened as they are
 * read, so that no second copy of the largest matrix is held. */
#ifndef BERTD_COMPUTE_EMBEDDING_H
#define BERTD_COMPUTE_EMBEDDING_H

#include <stdint.h>

#include "engine/compute/norm.h"

struct embedding {
    const struct kernels *kernels;
    struct tensor words, positions, types; /* [V, H], [P, H], [T2, H] */
    struct norm norm;
    uint32_t width; /* H */
};

/* The model's files must outlive it. Error: NO_MEMORY. */
enum status embedding_open(const struct kernels *kernels, const struct model_config *config,
                           const struct model_weights *weights, struct embedding *out,
                           struct error *err);
void embedding_close(struct embedding *embedding);

/* One text: ids and type_ids [tokens] inside the tables, tokens at most P -> out [tokens, H].
 * `row` is scratch for H floats. */
void embedding_run(const struct embedding *embedding, const int32_t *ids, const uint8_t *type_ids,
                   uint32_t tokens, float *row, float *out);

/* Of the tables and the norm, as they lie in the file and in memory. */
uint64_t embedding_get_bytes(const struct embedding *embedding);

#endif
