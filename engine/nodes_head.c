/* nodes_head.c: the head's two parts, by the model's task: Pooler and Classifier, or Transform and
 * Decoder. A task that is added brings a row to each switch here. */
#include "engine/flow/request.h"
#include "engine/nodes_internal.h"

static enum status classifier_open(struct nodes *nodes, const struct kernels *kernels,
                                   const struct model_weights *weights, struct error *err) {
    const struct linear_weights *classifier[] = {&weights->classifier};
    enum status status = pooler_open(nodes->linears, kernels, weights, &nodes->pooler, err);
    if (status != STATUS_OK)
        return status;
    return linear_open(nodes->linears, classifier, 1, GEMM_STORE, &nodes->classifier, err);
}

static enum status mask_head_open(struct nodes *nodes, const struct kernels *kernels,
                                  const struct model_weights *weights, struct error *err) {
    enum status status = transform_open(nodes->linears, kernels, model_get_config(nodes->model),
                                        weights, &nodes->transform, err);
    if (status != STATUS_OK)
        return status;
    return mask_decoder_open(kernels, &weights->decoder, &nodes->decoder, err);
}

enum status nodes_head_open(struct nodes *nodes, const struct kernels *kernels, struct error *err) {
    const struct model_weights *weights = model_get_weights(nodes->model);
    switch (model_get_task(nodes->model)) {
    case TASK_TEXT_CLASSIFICATION:
        return classifier_open(nodes, kernels, weights, err);
    case TASK_FILL_MASK:
        return mask_head_open(nodes, kernels, weights, err);
    }
    return error_set(err, STATUS_INTERNAL, "no head of that task");
}

void nodes_head_close(struct nodes *nodes) {
    mask_decoder_close(nodes->decoder);
    transform_close(&nodes->transform);
    linear_close(nodes->classifier);
    pooler_close(&nodes->pooler);
}

struct linear *nodes_head_get_linear(const struct nodes *nodes, uint32_t part) {
    if (nodes->decoder)
        return part == 0 ? nodes->transform.dense : NULL;
    return part == 0 ? nodes->pooler.dense : nodes->classifier;
}

void nodes_head_list(struct nodes *nodes) {
    const struct model_weights *weights = model_get_weights(nodes->model);
    if (nodes->decoder) {
        const struct tensor *matrix = &weights->decoder.weight;
        const bool own = matrix->data != weights->word_embeddings.data;
        nodes_add_part(nodes, "Transform", transform_get_bytes(&nodes->transform));
        struct part *decoder = nodes_add_part(
            nodes, "Decoder", mask_decoder_get_bytes(nodes->decoder) + (own ? matrix->bytes : 0));
        decoder->shares_first = !own;
    } else {
        nodes_add_part(nodes, "Pooler", linear_get_bytes(nodes->pooler.dense));
        nodes_add_part(nodes, "Classifier", linear_get_bytes(nodes->classifier));
    }
}

enum status nodes_head_scratch_open(const struct nodes *nodes, struct head_scratch *out,
                                    struct error *err) {
    *out = (struct head_scratch){0};
    if (!nodes->decoder)
        return STATUS_OK;
    return mask_decoder_scratch_open(nodes->decoder, nodes->decoder_chunks, &out->decoder, err);
}

void nodes_head_scratch_close(struct head_scratch *scratch) {
    mask_decoder_scratch_close(scratch->decoder);
}

/* A row without a request, which only warms the pipeline up, goes through the products too. */
static struct mask_query query_make(const struct request *request, uint32_t read) {
    static const struct ranking nothing;
    if (!request)
        return (struct mask_query){.ranking = &nothing};
    return (struct mask_query){
        .ranking = request->ranking,
        .best = request->ranked + (size_t)read * request->ranking->kept,
    };
}

/* The transform left one row for each read. */
static void masks_decode(const struct nodes *nodes, struct mask_decoder_scratch *scratch,
                         const struct microbatch *microbatch) {
    struct mask_query queries[MASK_DECODER_POSITIONS];
    const float *x = microbatch->hidden;
    uint32_t count = 0;
    for (uint32_t b = 0; b < microbatch->rows; b++) {
        const uint32_t first = microbatch->reads_starts[b], end = microbatch->reads_starts[b + 1];
        for (uint32_t read = first; read < end; read++) {
            queries[count++] = query_make(microbatch->requests[b], read - first);
            if (count < MASK_DECODER_POSITIONS)
                continue;
            mask_decoder_run(nodes->decoder, scratch, x, queries, count);
            x += (size_t)count * nodes->hidden_size;
            count = 0;
        }
    }
    mask_decoder_run(nodes->decoder, scratch, x, queries, count);
}

void nodes_head_run(const struct nodes *nodes, uint32_t part, const struct encoder_scratch *encoder,
                    const struct head_scratch *scratch, struct microbatch *microbatch) {
    struct microbatch *m = microbatch;
    if (nodes->decoder && part == 0)
        transform_run(&nodes->transform, encoder->linear, m->reads, m->reads_starts[m->rows],
                      encoder->rows, m->hidden);
    else if (nodes->decoder)
        masks_decode(nodes, scratch->decoder, m);
    else if (part == 0)
        pooler_run(&nodes->pooler, encoder->linear, m->starts, m->rows, encoder->rows, m->hidden);
    else /* the pooler left one row for each text */
        linear_run(nodes->classifier, encoder->linear, m->hidden, m->rows, m->outputs);
}
