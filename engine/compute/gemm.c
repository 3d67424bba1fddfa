/* gemm.c: oneDNN's objects: layouts, primitives, packed weights, one thread's memory objects. */
#include "engine/compute/gemm.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/size.h"

/* libgomp's or libomp's; oneDNN brings the library, but not every compiler its header. */
extern void omp_set_num_threads(int count);

/* A memory layout: a struct in oneDNN 2, an object in oneDNN 3. */
#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t layout;
#define LAYOUT(l) (l)

static dnnl_status_t layout_init(layout *out, int64_t rows, int64_t columns, dnnl_data_type_t type,
                                 dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {rows, columns};
    return dnnl_memory_desc_create_with_tag(out, 2, dims, type, tag);
}

static dnnl_status_t layout_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what,
                                  layout *out) {
    return dnnl_memory_desc_clone(out, dnnl_primitive_desc_query_md(desc, what, 0));
}

static void layout_free(layout *l) {
    if (*l)
        dnnl_memory_desc_destroy(*l);
}

static dnnl_status_t matmul_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine, layout *x,
                                 layout *w, layout *b, layout *y, dnnl_primitive_attr_t attr) {
    return dnnl_matmul_primitive_desc_create(out, engine, *x, *w, *b, *y, attr);
}

static dnnl_status_t append_sum(dnnl_post_ops_t ops) {
    return dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_f32);
}
#else
typedef dnnl_memory_desc_t layout;
#define LAYOUT(l) (&(l))

static dnnl_status_t layout_init(layout *out, int64_t rows, int64_t columns, dnnl_data_type_t type,
                                 dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {rows, columns};
    return dnnl_memory_desc_init_by_tag(out, 2, dims, type, tag);
}

static dnnl_status_t layout_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what,
                                  layout *out) {
    *out = *dnnl_primitive_desc_query_md(desc, what, 0);
    return dnnl_success;
}

static void layout_free(layout *l) {
    (void)l;
}

static dnnl_status_t matmul_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine, layout *x,
                                 layout *w, layout *b, layout *y, dnnl_primitive_attr_t attr) {
    dnnl_matmul_desc_t desc;
    dnnl_status_t result = dnnl_matmul_desc_init(&desc, x, w, b, y);
    if (result != dnnl_success)
        return result;
    return dnnl_primitive_desc_create(out, &desc, attr, engine, NULL);
}

static dnnl_status_t append_sum(dnnl_post_ops_t ops) {
    return dnnl_post_ops_append_sum(ops, 1.0f);
}
#endif

/* Goes to `done` with `result` set when a call of oneDNN fails. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((result = (call)) != dnnl_success)                                                     \
            goto done;                                                                             \
    } while (0)

struct block {
    dnnl_primitive_t primitive; /* NULL: not made */
    layout x, y, scratchpad;
    bool fast; /* more than reference code */
};

struct gemm {
    dnnl_engine_t engine;
    const struct kernels *kernels;
};

struct gemm_shape {
    const struct kernels *kernels;
    enum gemm_dtype dtype;
    uint32_t inputs, outputs;
    enum gemm_mode mode;
    bool has_layouts;
    layout weights, bias;
    struct block blocks[GEMM_BLOCKS];
};

struct gemm_weights {
    const struct gemm_shape *shape;
    float *bias; /* it and the packed weights are in an arena, or the caller's */
    dnnl_memory_t packed_memory, bias_memory;
};

/* Memory objects of one block for one thread. */
struct block_memory {
    dnnl_memory_t x, y, scratchpad;
};

struct gemm_scratch {
    dnnl_stream_t stream;
    struct block_memory (*memory)[GEMM_BLOCKS]; /* by shape */
    uint32_t shapes_count;
    void *scratchpad; /* of the block that needs most */
    uint16_t *narrow; /* [GEMM_ROWS_MAX, widest input] of a block in bf16; NULL: none is */
};

static enum status to_status(dnnl_status_t result, struct error *err) {
    if (result == dnnl_success)
        return STATUS_OK;
    if (result == dnnl_out_of_memory)
        return error_set(err, STATUS_NO_MEMORY, "no memory for matrix products");
    return error_set(err, STATUS_INTERNAL, "oneDNN answers with status %d", (int)result);
}

static void *aligned_bytes(size_t bytes) {
    return size_add(bytes, 64, &bytes) ? aligned_alloc(64, bytes & ~(size_t)63) : NULL;
}

/* oneDNN takes inputs and outputs by the same pointer type. */
static void *handle_of(const float *data) {
    return (void *)(uintptr_t)data;
}

void gemm_get_library(char *out, size_t room) {
    const dnnl_version_t *version = dnnl_version();
    snprintf(out, room, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
}

bool gemm_has_dtype(enum gemm_dtype dtype) {
    const unsigned bf16 = dnnl_cpu_isa_avx512_core_bf16, has = dnnl_get_effective_cpu_isa();
    return dtype == GEMM_F32 || (dtype == GEMM_BF16 && (has & bf16) == bf16);
}

enum status gemm_open(const struct kernels *kernels, struct gemm **out, struct error *err) {
    *out = NULL;
    struct gemm *gemm = calloc(1, sizeof *gemm);
    if (!gemm)
        return to_status(dnnl_out_of_memory, err);
    gemm->kernels = kernels;
    omp_set_num_threads(1);
    dnnl_status_t result = dnnl_engine_create(&gemm->engine, dnnl_cpu, 0);
    if (result == dnnl_success)
        *out = gemm;
    else
        free(gemm);
    return to_status(result, err);
}

void gemm_close(struct gemm *gemm) {
    if (!gemm)
        return;
    dnnl_engine_destroy(gemm->engine);
    free(gemm);
}

static dnnl_status_t attributes_create(enum gemm_mode mode, dnnl_primitive_attr_t *out) {
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t result;
    TRY(dnnl_primitive_attr_create(&attr));
    TRY(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    TRY(dnnl_post_ops_create(&ops));
    if (mode == GEMM_ADD)
        TRY(append_sum(ops));
    TRY(dnnl_primitive_attr_set_post_ops(attr, ops));
done:
    if (ops)
        dnnl_post_ops_destroy(ops);
    if (result != dnnl_success && attr) {
        dnnl_primitive_attr_destroy(attr);
        attr = NULL;
    }
    *out = attr;
    return result;
}

/* Makes the primitive of 2^index rows. The largest, made first, chooses the weights' layout. */
static dnnl_status_t block_init(struct gemm_shape *shape, dnnl_engine_t engine, int index,
                                dnnl_primitive_attr_t attr) {
    struct block *block = &shape->blocks[index];
    const int64_t rows = (int64_t)1 << index, in = shape->inputs, out = shape->outputs;
    const dnnl_data_type_t type = shape->dtype == GEMM_BF16 ? dnnl_bf16 : dnnl_f32;
    dnnl_primitive_desc_t desc = NULL;
    layout any = {0}, *weights = &shape->weights;
    dnnl_status_t result;
    TRY(layout_init(&block->x, rows, in, type, dnnl_ab));
    TRY(layout_init(&block->y, rows, out, dnnl_f32, dnnl_ab));
    if (!shape->has_layouts) {
        TRY(layout_init(&any, in, out, type,
                        shape->mode == GEMM_TURNED ? dnnl_ab : dnnl_format_tag_any));
        weights = &any;
        TRY(layout_init(&shape->bias, 1, out, dnnl_f32, dnnl_ab));
    }
    TRY(matmul_desc(&desc, engine, &block->x, weights, &shape->bias, &block->y, attr));
    TRY(dnnl_primitive_create(&block->primitive, desc));
    if (!shape->has_layouts)
        TRY(layout_query(desc, dnnl_query_weights_md, &shape->weights));
    shape->has_layouts = true;
    TRY(layout_query(desc, dnnl_query_scratchpad_md, &block->scratchpad));
    const char *code = "";
    TRY(dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &code));
    block->fast = strstr(code, "ref") == NULL;
done:
    layout_free(&any);
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    return result;
}

enum status gemm_shape_open(const struct gemm *gemm, enum gemm_dtype dtype, uint32_t inputs,
                            uint32_t outputs, enum gemm_mode mode, uint32_t blocks,
                            struct gemm_shape **out, struct error *err) {
    *out = NULL;
    struct gemm_shape *shape = calloc(1, sizeof *shape);
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t result = dnnl_out_of_memory;
    if (!shape)
        return to_status(result, err);
    shape->kernels = gemm->kernels;
    shape->dtype = dtype;
    shape->inputs = inputs;
    shape->outputs = outputs;
    shape->mode = mode;
    TRY(attributes_create(mode, &attr));
    for (int i = GEMM_BLOCKS - 1; i >= 0; i--) {
        if (i == GEMM_BLOCKS - 1 || (blocks >> i & 1))
            TRY(block_init(shape, gemm->engine, i, attr));
    }
done:
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    if (result == dnnl_success)
        *out = shape;
    else
        gemm_shape_close(shape);
    return to_status(result, err);
}

void gemm_shape_close(struct gemm_shape *shape) {
    if (!shape)
        return;
    for (int i = 0; i < GEMM_BLOCKS; i++) {
        struct block *block = &shape->blocks[i];
        if (block->primitive)
            dnnl_primitive_destroy(block->primitive);
        layout_free(&block->scratchpad);
        layout_free(&block->y);
        layout_free(&block->x);
    }
    layout_free(&shape->bias);
    layout_free(&shape->weights);
    free(shape);
}

uint32_t gemm_shape_get_blocks(const struct gemm_shape *shape) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < GEMM_BLOCKS; i++)
        mask |= (uint32_t)(shape->blocks[i].primitive != NULL) << i;
    return mask;
}

uint32_t gemm_shape_get_fast_blocks(const struct gemm_shape *shape) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < GEMM_BLOCKS; i++)
        mask |= (uint32_t)(shape->blocks[i].primitive && shape->blocks[i].fast) << i;
    return mask;
}

uint64_t gemm_shape_get_bytes(const struct gemm_shape *shape) {
    return dnnl_memory_desc_get_size(LAYOUT(shape->weights)) + shape->outputs * sizeof(float);
}

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
    float *bias = weights_arena_alloc(arena, shape->outputs * sizeof *bias);
    *out = NULL;
    if (!packed || !bias)
        return to_status(dnnl_out_of_memory, err);
    return weights_make(gemm, shape, packed, bias, out, err);
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

enum status gemm_weights_pack(const struct gemm *gemm, struct gemm_weights *weights,
                              const float *wide, struct error *err) {
    const struct gemm_shape *shape = weights->shape;
    layout source = {0};
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_memory_t memory = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_status_t result;
    TRY(layout_init(&source, shape->inputs, shape->outputs, dnnl_f32, dnnl_ba));
    TRY(dnnl_memory_create(&memory, LAYOUT(source), gemm->engine, handle_of(wide)));
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
    return to_status(result, err);
}

float *gemm_weights_get_bias(struct gemm_weights *weights) {
    return weights->bias;
}

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
    size_t bytes_max = 0, narrow_max = 0;
    for (uint32_t s = 0; s < count; s++) {
        if (shapes[s]->dtype == GEMM_BF16 && shapes[s]->inputs > narrow_max)
            narrow_max = shapes[s]->inputs;
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
    if (narrow_max > 0)
        scratch->narrow = aligned_bytes(GEMM_ROWS_MAX * narrow_max * sizeof *scratch->narrow);
    if (!scratch->memory || !scratch->scratchpad || (narrow_max > 0 && !scratch->narrow))
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
    free(scratch->narrow);
    free(scratch->scratchpad);
    free(scratch->memory);
    free(scratch);
}

bool gemm_run(const struct gemm_weights *weights, struct gemm_scratch *scratch,
              uint32_t shape_index, uint32_t block, const float *x, float *y) {
    const struct block_memory *memory = &scratch->memory[shape_index][block];
    const struct gemm_shape *shape = weights->shape;
    void *input = handle_of(x);
    dnnl_status_t result;
    if (shape->dtype == GEMM_BF16) {
        shape->kernels->narrow(x, (size_t)shape->inputs << block, scratch->narrow);
        input = scratch->narrow;
    }
    TRY(dnnl_memory_set_data_handle(memory->x, input));
    TRY(dnnl_memory_set_data_handle(memory->y, y));
    dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, memory->x},
        {DNNL_ARG_WEIGHTS, weights->packed_memory},
        {DNNL_ARG_DST, memory->y},
        {DNNL_ARG_BIAS, weights->bias_memory},
        {DNNL_ARG_SCRATCHPAD, memory->scratchpad},
    };
    TRY(dnnl_primitive_execute(shape->blocks[block].primitive, scratch->stream,
                               sizeof args / sizeof *args, args));
    TRY(dnnl_stream_wait(scratch->stream));
done:
    return result == dnnl_success;
}
