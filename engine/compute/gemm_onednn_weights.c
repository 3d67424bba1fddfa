/* gemm_onednn_weights.c: weights in the layout that the primitives want, in fewer bits where asked.
 */
#include <math.h>

#include "engine/compute/gemm_onednn.h"

static enum status weights_make(const struct gemm *gemm, const struct gemm_shape *shape,
                                void *packed, float *bias, struct gemm_weights **out,
                                struct error *err) {
    *out = NULL;
    struct gemm_weights *weights = calloc(1, sizeof *weights);
    dnnl_status_t result = dnnl_out_of_memory;
    if (!weights)
        return to_status(result, err);
    weights->shape = shape;
    weights->bias = bias;
    TRY(dnnl_memory_create(&weights->packed_memory, LAYOUT(shape->weights), gemm->engine, packed));
    TRY(dnnl_memory_create(&weights->bias_memory, LAYOUT(shape->bias), gemm->engine, bias));
done:
    if (result == dnnl_success)
        *out = weights;
    else
        gemm_weights_close(weights);
    return to_status(result, err);
}

enum status gemm_weights_wrap(const struct gemm *gemm, const struct gemm_shape *shape,
                              float *turned, float *bias, struct gemm_weights **out,
                              struct error *err) {
    return weights_make(gemm, shape, turned, bias, out, err);
}

enum status gemm_weights_open(const struct gemm *gemm, const struct gemm_shape *shape,
                              struct weights_arena *arena, struct gemm_weights **out,
                              struct error *err) {
    void *packed = weights_arena_alloc(arena, dnnl_memory_desc_get_size(LAYOUT(shape->weights)));
    const size_t outputs = shape->outputs, columns = shape->dtype == GEMM_INT8 ? 3 : 1;
    float *bias = weights_arena_alloc(arena, columns * outputs * sizeof *bias);
    *out = NULL;
    if (!packed || !bias)
        return to_status(dnnl_out_of_memory, err);
    enum status status = weights_make(gemm, shape, packed, bias, out, err);
    if (status == STATUS_OK && shape->dtype == GEMM_INT8) {
        (*out)->scales = bias + outputs;
        (*out)->sums = bias + 2 * outputs;
    }
    return status;
}

void gemm_weights_close(struct gemm_weights *weights) {
    if (!weights)
        return;
    if (weights->bias_memory)
        dnnl_memory_destroy(weights->bias_memory);
    if (weights->packed_memory)
        dnnl_memory_destroy(weights->packed_memory);
    free(weights);
}

/* One output's weights as bytes, with their scale and their sum. Numbers that are not finite make
 * the scale so, and with it every result. */
static void quantise(const float *wide, size_t count, int8_t *out, float *scale, float *sum) {
    float largest = 0, probe = 0;
    int32_t total = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fabsf(wide[i]) > largest ? fabsf(wide[i]) : largest;
        probe += wide[i] * 0.0f;
    }
    const float turned = largest > 0 && isfinite(largest) ? 127 / largest : 0;
    for (size_t i = 0; i < count; i++) {
        out[i] = isfinite(wide[i]) ? (int8_t)lrintf(wide[i] * turned) : 0;
        total += out[i];
    }
    *scale = largest / 127 + probe;
    *sum = (float)total;
}

/* [out, in] as bytes; NULL: no memory. */
static int8_t *quantise_all(const struct gemm_weights *weights, const float *wide) {
    const size_t in = weights->shape->inputs, out = weights->shape->outputs;
    int8_t *bytes = aligned_bytes(in * out);
    for (size_t o = 0; bytes && o < out; o++)
        quantise(wide + o * in, in, bytes + o * in, &weights->scales[o], &weights->sums[o]);
    return bytes;
}

enum status gemm_weights_pack(const struct gemm *gemm, struct gemm_weights *weights,
                              const float *wide, struct error *err) {
    const struct gemm_shape *shape = weights->shape;
    layout source = {0};
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_memory_t memory = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_status_t result = dnnl_out_of_memory;
    const bool as_bytes = shape->dtype == GEMM_INT8;
    int8_t *bytes = as_bytes ? quantise_all(weights, wide) : NULL;
    if (as_bytes && !bytes)
        goto done;
    TRY(layout_init(&source, shape->inputs, shape->outputs, as_bytes ? dnnl_s8 : dnnl_f32,
                    dnnl_ba));
    TRY(dnnl_memory_create(&memory, LAYOUT(source), gemm->engine,
                           as_bytes ? (void *)bytes : handle_of(wide)));
    TRY(dnnl_reorder_primitive_desc_create(&desc, LAYOUT(source), gemm->engine,
                                           LAYOUT(shape->weights), gemm->engine, NULL));
    TRY(dnnl_primitive_create(&reorder, desc));
    TRY(dnnl_stream_create(&stream, gemm->engine, dnnl_stream_default_flags));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, memory}, {DNNL_ARG_TO, weights->packed_memory}};
    TRY(dnnl_primitive_execute(reorder, stream, 2, args));
    TRY(dnnl_stream_wait(stream));
done:
    if (stream)
        dnnl_stream_destroy(stream);
    if (reorder)
        dnnl_primitive_destroy(reorder);
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    if (memory)
        dnnl_memory_destroy(memory);
    layout_free(&source);
    free(bytes);
    return to_status(result, err);
}

float *gemm_weights_get_bias(struct gemm_weights *weights) {
    return weights->bias;
}
