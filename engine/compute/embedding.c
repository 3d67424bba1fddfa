/* embedding.c: gathers rows of the three tables. */
#include "engine/compute/embedding.h"

enum status embedding_open(const struct kernels *kernels, const struct model_config *config,
                           const struct model_weights *weights, struct embedding *out,
                           struct error *err) {
    *out = (struct embedding){
        .kernels = kernels,
        .words = weights->word_embeddings,
        .positions = weights->position_embeddings,
        .types = weights->type_embeddings,
        .width = config->hidden_size,
    };
    return norm_open(kernels, &weights->embeddings_norm, config->norm_eps, &out->norm, err);
}

void embedding_close(struct embedding *embedding) {
    if (embedding)
        norm_close(&embedding->norm);
}

static void row_widen(const struct embedding *e, const struct tensor *table, size_t index,
                      float *out) {
    const size_t row_bytes = (table->type == TENSOR_F32 ? 4 : 2) * (size_t)e->width;
    e->kernels->widen(table->type, table->data + index * row_bytes, e->width, out);
}

void embedding_run(const struct embedding *embedding, const int32_t *ids, const uint8_t *type_ids,
                   uint32_t tokens, float *row, float *out) {
    const struct embedding *e = embedding;
    for (uint32_t i = 0; i < tokens; i++) {
        float *x = out + (size_t)i * e->width;
        row_widen(e, &e->words, (size_t)ids[i], x);
        if (e->types.name) {
            row_widen(e, &e->types, type_ids[i], row);
            e->kernels->add(x, row, e->width);
        }
        row_widen(e, &e->positions, i, row);
        e->kernels->add(x, row, e->width);
    }
    norm_run(&e->norm, out, tokens);
}

uint64_t embedding_get_bytes(const struct embedding *embedding) {
    return embedding->words.bytes + embedding->positions.bytes + embedding->types.bytes +
           norm_get_bytes(&embedding->norm);
}
