/* gemm_onednn_run.c: one thread's memory objects, and running a product in it. */
#include "engine/compute/gemm_onednn.h"

static void block_memory_free(struct block_memory *memory) {
    if (memory->scratchpad)
        dnnl_memory_destroy(memory->scratchpad);
    if (memory->y)
        dnnl_memory_destroy(memory->y);
    if (memory->x)
        dnnl_memory_destroy(memory->x);
    *memory = (struct block_memory){0};
}

static dnnl_status_t block_memory_init(const struct block *block, dnnl_engine_t engine,
                                       void *scratchpad, struct block_memory *out) {
    dnnl_status_t result;
    TRY(dnnl_memory_create(&out->x, LAYOUT(block->x), engine, DNNL_MEMORY_NONE));
    TRY(dnnl_memory_create(&out->y, LAYOUT(block->y), engine, DNNL_MEMORY_NONE));
    TRY(dnnl_memory_create(&out->scratchpad, LAYOUT(block->scratchpad), engine, scratchpad));
done:
    return result;
}

enum status gemm_scratch_open(const struct gemm *gemm, struct gemm_shape *const *shapes,
                              uint32_t count, struct gemm_scratch **out, struct error *err) {
    *out = NULL;
    omp_set_num_threads(1);
    struct gemm_scratch *scratch = calloc(1, sizeof *scratch);
    dnnl_status_t result = dnnl_out_of_memory;
    if (!scratch)
        return to_status(result, err);
    size_t bytes_max = 0, narrow_max = 0, sums_max = 0;
    for (uint32_t s = 0; s < count; s++) {
        const size_t row = shapes[s]->inputs * gemm_dtype_bytes(shapes[s]->dtype);
        if (shapes[s]->dtype != GEMM_F32 && row > narrow_max)
            narrow_max = row;
        if (shapes[s]->dtype == GEMM_INT8 && shapes[s]->outputs > sums_max)
            sums_max = shapes[s]->outputs;
        for (int i = 0; i < GEMM_BLOCKS; i++) {
            const struct block *block = &shapes[s]->blocks[i];
            size_t bytes =
                block->primitive ? dnnl_memory_desc_get_size(LAYOUT(block->scratchpad)) : 0;
            bytes_max = bytes > bytes_max ? bytes : bytes_max;
        }
    }
    scratch->shapes_count = count;
    scratch->memory = calloc((size_t)count + 1, sizeof *scratch->memory);
    scratch->scratchpad = aligned_bytes(bytes_max);
    scratch->narrow = aligned_bytes(GEMM_ROWS_MAX * narrow_max);
    scratch->sums = aligned_bytes(GEMM_ROWS_MAX * sums_max * sizeof *scratch->sums);
    if (!scratch->memory || !scratch->scratchpad || !scratch->narrow || !scratch->sums)
        goto done;
    TRY(dnnl_stream_create(&scratch->stream, gemm->engine, dnnl_stream_default_flags));
    for (uint32_t s = 0; s < count; s++) {
        for (int i = 0; i < GEMM_BLOCKS; i++) {
            if (shapes[s]->blocks[i].primitive)
                TRY(block_memory_init(&shapes[s]->blocks[i], gemm->engine, scratch->scratchpad,
                                      &scratch->memory[s][i]));
        }
    }
done:
    if (result == dnnl_success)
        *out = scratch;
    else
        gemm_scratch_close(scratch);
    return to_status(result, err);
}

void gemm_scratch_close(struct gemm_scratch *scratch) {
    if (!scratch)
        return;
    for (uint32_t s = 0; scratch->memory && s < scratch->shapes_count; s++) {
        for (int i = 0; i < GEMM_BLOCKS; i++)
            block_memory_free(&scratch->memory[s][i]);
    }
    if (scratch->stream)
        dnnl_stream_destroy(scratch->stream);
    free(scratch->sums);
    free(scratch->narrow);
    free(scratch->scratchpad);
    free(scratch->memory);
    free(scratch);
}

/* The product itself, of inputs and into results of the shape's own types. */
static dnnl_status_t product_run(const struct gemm_weights *weights, struct gemm_scratch *scratch,
                                 uint32_t shape_index, uint32_t block, void *x, void *y) {
    const struct block_memory *memory = &scratch->memory[shape_index][block];
    dnnl_status_t result;
    TRY(dnnl_memory_set_data_handle(memory->x, x));
    TRY(dnnl_memory_set_data_handle(memory->y, y));
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, memory->x},
        {DNNL_ARG_WEIGHTS, weights->packed_memory},
        {DNNL_ARG_DST, memory->y},
        {DNNL_ARG_SCRATCHPAD, memory->scratchpad},
        {DNNL_ARG_BIAS, weights->bias_memory},
    };
    const int count = sizeof args / sizeof *args - (weights->shape->dtype == GEMM_INT8 ? 1 : 0);
    TRY(dnnl_primitive_execute(weights->shape->blocks[block].primitive, scratch->stream, count,
                               args));
    TRY(dnnl_stream_wait(scratch->stream));
done:
    return result;
}

static bool run_bytes(const struct gemm_weights *weights, struct gemm_scratch *scratch,
                      uint32_t shape_index, uint32_t block, const float *x, float *y) {
    const struct gemm_shape *shape = weights->shape;
    const size_t rows = (size_t)1 << block, in = shape->inputs, out = shape->outputs;
    float scales[GEMM_ROWS_MAX], zeros[GEMM_ROWS_MAX];
    for (size_t r = 0; r < rows; r++)
        shape->kernels->quantise(x + r * in, in, (uint8_t *)scratch->narrow + r * in, &scales[r],
                                 &zeros[r]);
    if (product_run(weights, scratch, shape_index, block, scratch->narrow, scratch->sums) !=
        dnnl_success)
        return false;
    const struct dequantise_args columns = {
        .scales = weights->scales,
        .sums = weights->sums,
        .bias = weights->bias,
        .add = shape->mode == GEMM_ADD,
    };
    for (size_t r = 0; r < rows; r++)
        shape->kernels->dequantise(&columns, scratch->sums + r * out, out, scales[r], zeros[r],
                                   y + r * out);
    return true;
}

bool gemm_run(const struct gemm_weights *weights, struct gemm_scratch *scratch,
              uint32_t shape_index, uint32_t block, const float *x, float *y) {
    const struct gemm_shape *shape = weights->shape;
    void *input = handle_of(x);
    if (shape->dtype == GEMM_INT8)
        return run_bytes(weights, scratch, shape_index, block, x, y);
    if (shape->dtype == GEMM_BF16) {
        shape->kernels->narrow(x, (size_t)shape->inputs << block, scratch->narrow);
        input = scratch->narrow;
    }
    return product_run(weights, scratch, shape_index, block, input, y) == dnnl_success;
}
