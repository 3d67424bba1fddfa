/* gemm.c: shapes with their primitives, packed weights, and running them. Sees oneDNN 2.6 to 3.x.
 *
 * Once open, a gemm and its linears are only read. What oneDNN changes while it runs (memory
 * handles, scratchpad, stream) is in the thread's gemm_scratch. */
#include "engine/compute/gemm.h"

#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/size.h"

/* libgomp's or libomp's; oneDNN brings the library, but not every compiler its header. */
extern void omp_set_num_threads(int count);

enum { COUNTS = 7, SCRATCHPAD_ALIGN = 64 };

/* A memory layout: a struct in oneDNN 2, an object in oneDNN 3. */
#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t layout;
#define LAYOUT(l) (l)

static dnnl_status_t layout_init(layout *out, int64_t rows, int64_t columns,
                                 dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {rows, columns};
    return dnnl_memory_desc_create_with_tag(out, 2, dims, dnnl_f32, tag);
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

static dnnl_status_t layout_init(layout *out, int64_t rows, int64_t columns,
                                 dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {rows, columns};
    return dnnl_memory_desc_init_by_tag(out, 2, dims, dnnl_f32, tag);
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

/* One row count of a shape. */
struct block {
    dnnl_primitive_t primitive; /* NULL: this count is not used */
    layout x, y, scratchpad;
    bool has_layouts;
    bool reference_code; /* oneDNN has no fast path for it */
};

struct shape {
    struct shape *next;
    uint32_t index, inputs, outputs;
    enum linear_mode mode;
    bool has_layouts;
    layout weights, bias;
    struct block blocks[COUNTS]; /* of 2^i rows */
    uint32_t counts;             /* mask of those in use */
};

struct gemm {
    dnnl_engine_t engine;
    const struct kernels *kernels;
    uint32_t counts_mask, shapes_count;
    struct shape *shapes;
};

struct linear {
    const struct shape *shape;
    float *weights, *bias;
    dnnl_memory_t weights_memory, bias_memory;
    size_t weights_bytes;
};

/* Memory objects of one block for one thread. */
struct block_memory {
    dnnl_memory_t x, y, scratchpad;
};

struct gemm_scratch {
    dnnl_stream_t stream;
    struct block_memory (*memory)[COUNTS]; /* by shape */
    uint32_t shapes_count;
    void *scratchpad;
    float *pad_x, *pad_y; /* [GEMM_ROWS_MAX, widest input or output] */
};

static enum status to_status(dnnl_status_t result, struct error *err) {
    if (result == dnnl_success)
        return STATUS_OK;
    if (result == dnnl_out_of_memory)
        return error_set(err, STATUS_NO_MEMORY, "no memory for matrix products");
    return error_set(err, STATUS_INTERNAL, "oneDNN answers with status %d", (int)result);
}

static float *floats_alloc(size_t rows, size_t columns) {
    size_t count, bytes;
    if (!size_multiply(rows, columns, &count) || !size_multiply(count, sizeof(float), &bytes) ||
        !size_add(bytes, 63, &bytes))
        return NULL;
    return aligned_alloc(64, bytes & ~(size_t)63);
}

/* oneDNN takes inputs and outputs by the same pointer type. */
static void *handle_of(const float *data) {
    return (void *)(uintptr_t)data;
}

enum status gemm_open(enum gemm_dtype dtype, const struct kernels *kernels, uint32_t counts_mask,
                      struct gemm **out, struct error *err) {
    *out = NULL;
    if (dtype != GEMM_F32 || !(counts_mask & GEMM_ROWS_MAX))
        return error_set(err, STATUS_INTERNAL, "matrix products of this kind are not built");
    struct gemm *gemm = calloc(1, sizeof *gemm);
    if (!gemm)
        return error_set(err, STATUS_NO_MEMORY, "no memory for matrix products");
    gemm->kernels = kernels;
    gemm->counts_mask = counts_mask;
    omp_set_num_threads(1);
    enum status status = to_status(dnnl_engine_create(&gemm->engine, dnnl_cpu, 0), err);
    if (status == STATUS_OK)
        *out = gemm;
    else
        gemm_close(gemm);
    return status;
}

static void shape_free(struct shape *shape) {
    if (!shape)
        return;
    for (int i = 0; i < COUNTS; i++) {
        struct block *block = &shape->blocks[i];
        if (block->primitive)
            dnnl_primitive_destroy(block->primitive);
        if (block->has_layouts) {
            layout_free(&block->scratchpad);
            layout_free(&block->y);
            layout_free(&block->x);
        }
    }
    if (shape->has_layouts) {
        layout_free(&shape->bias);
        layout_free(&shape->weights);
    }
    free(shape);
}

void gemm_close(struct gemm *gemm) {
    if (!gemm)
        return;
    for (struct shape *shape = gemm->shapes, *next; shape; shape = next) {
        next = shape->next;
        shape_free(shape);
    }
    if (gemm->engine)
        dnnl_engine_destroy(gemm->engine);
    free(gemm);
}

static dnnl_status_t attributes_create(enum linear_mode mode, dnnl_primitive_attr_t *out) {
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t result;
    TRY(dnnl_primitive_attr_create(&attr));
    TRY(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    TRY(dnnl_post_ops_create(&ops));
    if (mode == LINEAR_ADD)
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
static dnnl_status_t block_init(struct shape *shape, dnnl_engine_t engine, int index,
                                dnnl_primitive_attr_t attr) {
    struct block *block = &shape->blocks[index];
    const int64_t rows = (int64_t)1 << index, in = shape->inputs, out = shape->outputs;
    dnnl_primitive_desc_t desc = NULL;
    layout x = {0}, y = {0}, any = {0}, scratchpad = {0}, *weights = &shape->weights;
    dnnl_status_t result;
    TRY(layout_init(&x, rows, in, dnnl_ab));
    TRY(layout_init(&y, rows, out, dnnl_ab));
    if (!shape->has_layouts) {
        TRY(layout_init(&any, in, out, dnnl_format_tag_any));
        weights = &any;
        TRY(layout_init(&shape->bias, 1, out, dnnl_ab));
    }
    TRY(matmul_desc(&desc, engine, &x, weights, &shape->bias, &y, attr));
    TRY(dnnl_primitive_create(&block->primitive, desc));
    if (!shape->has_layouts)
        TRY(layout_query(desc, dnnl_query_weights_md, &shape->weights));
    shape->has_layouts = true;
    TRY(layout_query(desc, dnnl_query_scratchpad_md, &scratchpad));
    const char *code = "";
    TRY(dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &code));
    block->reference_code = strstr(code, "ref") != NULL;
    block->x = x;
    block->y = y;
    block->scratchpad = scratchpad;
    block->has_layouts = true;
done:
    if (!block->has_layouts) {
        layout_free(&x);
        layout_free(&y);
        layout_free(&scratchpad);
    }
    layout_free(&any);
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    return result;
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

static dnnl_status_t block_run(const struct block *block, const struct block_memory *memory,
                               const struct linear *linear, dnnl_stream_t stream, const float *x,
                               float *y) {
    dnnl_status_t result;
    TRY(dnnl_memory_set_data_handle(memory->x, handle_of(x)));
    TRY(dnnl_memory_set_data_handle(memory->y, y));
    dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, memory->x},  {DNNL_ARG_WEIGHTS, linear->weights_memory},
        {DNNL_ARG_DST, memory->y},  {DNNL_ARG_BIAS, linear->bias_memory},
        {DNNL_ARG_SCRATCHPAD, memory->scratchpad},
    };
    TRY(dnnl_primitive_execute(block->primitive, stream, sizeof args / sizeof *args, args));
    TRY(dnnl_stream_wait(stream));
done:
    return result;
}

/* Fills with numbers in [-1, 1) whose sums round differently in different orders. */
static void fill_random(float *out, size_t count, uint32_t seed) {
    for (size_t i = 0; i < count; i++) {
        uint32_t x = (uint32_t)i * 2654435761u + seed;
        x ^= x >> 15;
        x *= 0x2C1B3C6Du;
        x ^= x >> 13;
        out[i] = (float)(int32_t)x * 0x1p-31f;
    }
}

/* Runs the block on rows first, first + 1, ... (around `rows_total`) of x and of what y holds
 * before, given as y_before. */
static dnnl_status_t test_run(const struct shape *shape, int index, const struct linear *linear,
                              struct gemm_scratch *scratch, const float *x, const float *y_before,
                              size_t first, size_t rows_total, float *y) {
    const size_t rows = (size_t)1 << index, in = shape->inputs, out = shape->outputs;
    for (size_t r = 0; r < rows; r++) {
        size_t from = (r + first) % rows_total;
        memcpy(scratch->pad_x + r * in, x + from * in, in * sizeof *x);
        memcpy(y + r * out, y_before + from * out, out * sizeof *y);
    }
    return block_run(&shape->blocks[index], &scratch->memory[shape->index][index], linear,
                     scratch->stream, scratch->pad_x, y);
}

/* The self-test on random weights. The reference is the largest count whose rows all go through
 * the same arithmetic: shifting the rows by one shifts the results. Every smaller count must give
 * the reference's bits. */
static dnnl_status_t shape_test(struct shape *shape, const struct linear *linear,
                                struct gemm_scratch *scratch) {
    const size_t in = shape->inputs, out = shape->outputs, row_bytes = out * sizeof(float);
    float *x = floats_alloc(GEMM_ROWS_MAX, in), *before = floats_alloc(GEMM_ROWS_MAX, out);
    float *expected = floats_alloc(GEMM_ROWS_MAX, out), *y = floats_alloc(GEMM_ROWS_MAX, out);
    dnnl_status_t result = dnnl_out_of_memory;
    uint32_t usable = 0;
    if (!x || !before || !expected || !y)
        goto done;
    fill_random(x, GEMM_ROWS_MAX * in, 1);
    fill_random(before, GEMM_ROWS_MAX * out, 2);
    for (int i = COUNTS - 1; i >= 0; i--) {
        const size_t rows = (size_t)1 << i;
        if (!shape->blocks[i].primitive || (usable && shape->blocks[i].reference_code))
            continue;
        if (!usable) {
            TRY(test_run(shape, i, linear, scratch, x, before, 0, rows, expected));
            TRY(test_run(shape, i, linear, scratch, x, before, 1, rows, y));
            if (memcmp(y, expected + out, (rows - 1) * row_bytes) != 0 ||
                memcmp(y + (rows - 1) * out, expected, row_bytes) != 0)
                continue;
        } else {
            TRY(test_run(shape, i, linear, scratch, x, before, 0, rows, y));
            if (memcmp(y, expected, rows * row_bytes) != 0)
                continue;
        }
        usable |= (uint32_t)1 << i;
    }
    shape->counts = usable;
    result = usable ? dnnl_success : dnnl_unimplemented;
done:
    free(y);
    free(expected);
    free(before);
    free(x);
    return result;
}

static void linear_free(struct linear *linear) {
    if (!linear)
        return;
    if (linear->bias_memory)
        dnnl_memory_destroy(linear->bias_memory);
    if (linear->weights_memory)
        dnnl_memory_destroy(linear->weights_memory);
    free(linear->bias);
    free(linear->weights);
    free(linear);
}

static dnnl_status_t linear_init(const struct gemm *gemm, const struct shape *shape,
                                 struct linear **out) {
    struct linear *linear = calloc(1, sizeof *linear);
    dnnl_status_t result = dnnl_out_of_memory;
    if (!linear)
        return result;
    linear->shape = shape;
    linear->weights_bytes = dnnl_memory_desc_get_size(LAYOUT(shape->weights));
    linear->weights = floats_alloc(linear->weights_bytes / sizeof(float) + 1, 1);
    linear->bias = floats_alloc(shape->outputs, 1);
    if (!linear->weights || !linear->bias)
        goto done;
    memset(linear->bias, 0, shape->outputs * sizeof(float));
    TRY(dnnl_memory_create(&linear->weights_memory, LAYOUT(shape->weights), gemm->engine,
                           linear->weights));
    TRY(dnnl_memory_create(&linear->bias_memory, LAYOUT(shape->bias), gemm->engine, linear->bias));
done:
    if (result == dnnl_success)
        *out = linear;
    else
        linear_free(linear);
    return result;
}

/* Reorders `wide` [out, in] into the linear's layout. */
static dnnl_status_t linear_pack(const struct gemm *gemm, struct linear *linear, float *wide) {
    layout source = {0};
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_memory_t memory = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_status_t result;
    TRY(layout_init(&source, linear->shape->inputs, linear->shape->outputs, dnnl_ba));
    TRY(dnnl_memory_create(&memory, LAYOUT(source), gemm->engine, wide));
    TRY(dnnl_reorder_primitive_desc_create(&desc, LAYOUT(source), gemm->engine,
                                           LAYOUT(linear->shape->weights), gemm->engine, NULL));
    TRY(dnnl_primitive_create(&reorder, desc));
    TRY(dnnl_stream_create(&stream, gemm->engine, dnnl_stream_default_flags));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, memory}, {DNNL_ARG_TO, linear->weights_memory}};
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
    return result;
}

/* Finds the shape, or makes its primitives and tests them with random weights in `wide`. */
static enum status shape_find(struct gemm *gemm, uint32_t inputs, uint32_t outputs,
                              enum linear_mode mode, float *wide, const struct shape **out,
                              struct error *err) {
    for (struct shape *s = gemm->shapes; s; s = s->next) {
        if (s->inputs == inputs && s->outputs == outputs && s->mode == mode) {
            *out = s;
            return STATUS_OK;
        }
    }
    struct shape *shape = calloc(1, sizeof *shape);
    struct linear *linear = NULL;
    struct gemm_scratch *scratch = NULL;
    dnnl_primitive_attr_t attr = NULL;
    enum status status = STATUS_OK;
    dnnl_status_t result = dnnl_out_of_memory;
    if (!shape)
        return error_set(err, STATUS_NO_MEMORY, "no memory for matrix products");
    shape->index = gemm->shapes_count++;
    shape->inputs = inputs;
    shape->outputs = outputs;
    shape->mode = mode;
    shape->next = gemm->shapes;
    gemm->shapes = shape;
    TRY(attributes_create(mode, &attr));
    for (int i = COUNTS - 1; i >= 0; i--) {
        if (gemm->counts_mask >> i & 1)
            TRY(block_init(shape, gemm->engine, i, attr));
    }
    fill_random(wide, (size_t)inputs * outputs, 3);
    TRY(linear_init(gemm, shape, &linear));
    TRY(linear_pack(gemm, linear, wide));
    status = gemm_scratch_open(gemm, &scratch, err);
    if (status == STATUS_OK)
        TRY(shape_test(shape, linear, scratch));
done:
    gemm_scratch_close(scratch);
    linear_free(linear);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    *out = shape;
    return status == STATUS_OK ? to_status(result, err) : status;
}

enum status linear_open(struct gemm *gemm, const struct linear_weights *const *weights,
                        uint32_t count, enum linear_mode mode, struct linear **out,
                        struct error *err) {
    *out = NULL;
    const uint32_t inputs = (uint32_t)weights[0]->weight.shape[1];
    uint32_t outputs = 0;
    for (uint32_t i = 0; i < count; i++)
        outputs += (uint32_t)weights[i]->weight.shape[0];
    float *wide = floats_alloc(outputs, inputs);
    if (!wide)
        return error_set(err, STATUS_NO_MEMORY, "no memory to pack weights");
    const struct shape *shape = NULL;
    struct linear *linear = NULL;
    enum status status = shape_find(gemm, inputs, outputs, mode, wide, &shape, err);
    if (status == STATUS_OK)
        status = to_status(linear_init(gemm, shape, &linear), err);
    if (status != STATUS_OK)
        goto done;
    size_t row = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct tensor *weight = &weights[i]->weight, *bias = &weights[i]->bias;
        const size_t rows = (size_t)weight->shape[0];
        gemm->kernels->widen(weight->type, weight->data, rows * inputs, wide + row * inputs);
        if (bias->name)
            gemm->kernels->widen(bias->type, bias->data, rows, linear->bias + row);
        row += rows;
    }
    status = to_status(linear_pack(gemm, linear, wide), err);
done:
    free(wide);
    if (status == STATUS_OK)
        *out = linear;
    else
        linear_free(linear);
    return status;
}

void linear_close(struct linear *linear) {
    linear_free(linear);
}

uint32_t linear_get_inputs(const struct linear *linear) {
    return linear->shape->inputs;
}

uint32_t linear_get_outputs(const struct linear *linear) {
    return linear->shape->outputs;
}

uint64_t linear_get_bytes(const struct linear *linear) {
    return linear->weights_bytes + linear->shape->outputs * sizeof(float);
}

uint32_t linear_get_counts(const struct linear *linear) {
    return linear->shape->counts;
}

enum status gemm_scratch_open(const struct gemm *gemm, struct gemm_scratch **out,
                              struct error *err) {
    *out = NULL;
    omp_set_num_threads(1);
    struct gemm_scratch *scratch = calloc(1, sizeof *scratch);
    dnnl_status_t result = dnnl_out_of_memory;
    if (!scratch)
        return to_status(result, err);
    size_t scratchpad_bytes = SCRATCHPAD_ALIGN, inputs = 0, outputs = 0;
    for (const struct shape *s = gemm->shapes; s; s = s->next) {
        inputs = s->inputs > inputs ? s->inputs : inputs;
        outputs = s->outputs > outputs ? s->outputs : outputs;
        for (int i = 0; i < COUNTS; i++) {
            if (!s->blocks[i].has_layouts)
                continue;
            size_t bytes = dnnl_memory_desc_get_size(LAYOUT(s->blocks[i].scratchpad));
            scratchpad_bytes = bytes > scratchpad_bytes ? bytes : scratchpad_bytes;
        }
    }
    scratch->shapes_count = gemm->shapes_count;
    scratch->memory = calloc(gemm->shapes_count + 1, sizeof *scratch->memory);
    scratch->scratchpad = floats_alloc(scratchpad_bytes / sizeof(float) + 1, 1);
    scratch->pad_x = floats_alloc(GEMM_ROWS_MAX, inputs + 1);
    scratch->pad_y = floats_alloc(GEMM_ROWS_MAX, outputs + 1);
    if (!scratch->memory || !scratch->scratchpad || !scratch->pad_x || !scratch->pad_y)
        goto done;
    TRY(dnnl_stream_create(&scratch->stream, gemm->engine, dnnl_stream_default_flags));
    for (const struct shape *s = gemm->shapes; s; s = s->next) {
        for (int i = 0; i < COUNTS; i++) {
            if (s->blocks[i].has_layouts)
                TRY(block_memory_init(&s->blocks[i], gemm->engine, scratch->scratchpad,
                                      &scratch->memory[s->index][i]));
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
        for (int i = 0; i < COUNTS; i++)
            block_memory_free(&scratch->memory[s][i]);
    }
    if (scratch->stream)
        dnnl_stream_destroy(scratch->stream);
    free(scratch->pad_y);
    free(scratch->pad_x);
    free(scratch->scratchpad);
    free(scratch->memory);
    free(scratch);
}

/* A product that oneDNN refuses to run must not pass for a result: its rows become NaN, which the
 * end of the pipeline reports. */
static void run_count(const struct linear *linear, struct gemm_scratch *scratch, int index,
                      const float *x, float *y) {
    const struct shape *shape = linear->shape;
    if (block_run(&shape->blocks[index], &scratch->memory[shape->index][index], linear,
                  scratch->stream, x, y) == dnnl_success)
        return;
    for (size_t i = 0; i < (size_t)shape->outputs << index; i++)
        y[i] = NAN;
}

/* Fewer rows than the least count in use: they are followed by zeros. */
static void run_padded(const struct linear *linear, struct gemm_scratch *scratch, const float *x,
                       uint32_t rows, float *y) {
    const size_t in = linear->shape->inputs, out = linear->shape->outputs;
    const int index = __builtin_ctz(linear->shape->counts);
    const size_t padded = (size_t)1 << index;
    memcpy(scratch->pad_x, x, rows * in * sizeof *x);
    memset(scratch->pad_x + rows * in, 0, (padded - rows) * in * sizeof *x);
    memcpy(scratch->pad_y, y, rows * out * sizeof *y);
    memset(scratch->pad_y + rows * out, 0, (padded - rows) * out * sizeof *y);
    run_count(linear, scratch, index, scratch->pad_x, scratch->pad_y);
    memcpy(y, scratch->pad_y, rows * out * sizeof *y);
}

void linear_run(const struct linear *linear, struct gemm_scratch *scratch, const float *x,
                uint32_t rows, float *y) {
    const size_t in = linear->shape->inputs, out = linear->shape->outputs;
    for (int i = COUNTS - 1; i >= 0; i--) {
        const uint32_t count = (uint32_t)1 << i;
        if (!(linear->shape->counts & count))
            continue;
        for (; rows >= count; rows -= count, x += count * in, y += count * out)
            run_count(linear, scratch, i, x, y);
    }
    if (rows > 0)
        run_padded(linear, scratch, x, rows, y);
}
