/* gemm_onednn.h: oneDNN as gemm_onednn*.c see it: what differs between its versions 2 and 3, and
 * the objects behind gemm.h. No other file includes it. */
#ifndef BERTD_COMPUTE_GEMM_ONEDNN_H
#define BERTD_COMPUTE_GEMM_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>

#include "engine/base/size.h"
#include "engine/compute/gemm.h"

/* libgomp's or libomp's; oneDNN brings the library, but not every compiler its header. */
extern void omp_set_num_threads(int count);

/* A memory layout: a struct in oneDNN 2, an object in oneDNN 3. */
#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t layout;
#define LAYOUT(l) (l)

static inline dnnl_status_t layout_init(layout *out, int64_t rows, int64_t columns,
                                        dnnl_data_type_t type, dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {rows, columns};
    return dnnl_memory_desc_create_with_tag(out, 2, dims, type, tag);
}

/* Row-major, `stride` numbers from row to row. */
static inline dnnl_status_t layout_init_rows(layout *out, int64_t rows, int64_t columns,
                                             dnnl_data_type_t type, int64_t stride) {
    dnnl_dims_t dims = {rows, columns}, strides = {stride, 1};
    return dnnl_memory_desc_create_with_strides(out, 2, dims, type, strides);
}

static inline dnnl_status_t layout_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what,
                                         layout *out) {
    return dnnl_memory_desc_clone(out, dnnl_primitive_desc_query_md(desc, what, 0));
}

static inline void layout_free(layout *l) {
    if (*l)
        dnnl_memory_desc_destroy(*l);
}

static inline dnnl_status_t matmul_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine, layout *x,
                                        layout *w, layout *b, layout *y,
                                        dnnl_primitive_attr_t attr) {
    return dnnl_matmul_primitive_desc_create(out, engine, *x, *w, b ? *b : NULL, *y, attr);
}

static inline dnnl_status_t append_sum(dnnl_post_ops_t ops) {
    return dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_f32);
}
#else
typedef dnnl_memory_desc_t layout;
#define LAYOUT(l) (&(l))

static inline dnnl_status_t layout_init(layout *out, int64_t rows, int64_t columns,
                                        dnnl_data_type_t type, dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {rows, columns};
    return dnnl_memory_desc_init_by_tag(out, 2, dims, type, tag);
}

static inline dnnl_status_t layout_init_rows(layout *out, int64_t rows, int64_t columns,
                                             dnnl_data_type_t type, int64_t stride) {
    dnnl_dims_t dims = {rows, columns}, strides = {stride, 1};
    return dnnl_memory_desc_init_by_strides(out, 2, dims, type, strides);
}

static inline dnnl_status_t layout_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what,
                                         layout *out) {
    *out = *dnnl_primitive_desc_query_md(desc, what, 0);
    return dnnl_success;
}

static inline void layout_free(layout *l) {
    (void)l;
}

static inline dnnl_status_t matmul_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine, layout *x,
                                        layout *w, layout *b, layout *y,
                                        dnnl_primitive_attr_t attr) {
    dnnl_matmul_desc_t desc;
    dnnl_status_t result = dnnl_matmul_desc_init(&desc, x, w, b, y);
    if (result != dnnl_success)
        return result;
    return dnnl_primitive_desc_create(out, &desc, attr, engine, NULL);
}

static inline dnnl_status_t append_sum(dnnl_post_ops_t ops) {
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
    layout weights, bias; /* INT8 has no bias here: it is added with the scales */
    struct block blocks[GEMM_BLOCKS];
};

struct gemm_weights {
    const struct gemm_shape *shape;
    /* These and the packed weights are in an arena, or the caller's. */
    float *bias;          /* [out] */
    float *scales, *sums; /* [out] INT8: of an output, and the sum of its weights; else NULL */
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
    void *narrow;     /* [GEMM_ROWS_MAX, widest input] of a block in bf16 or in 8 bits */
    int32_t *sums;    /* [GEMM_ROWS_MAX, widest output] of a block in 8 bits */
};

static inline enum status to_status(dnnl_status_t result, struct error *err) {
    if (result == dnnl_success)
        return STATUS_OK;
    if (result == dnnl_out_of_memory)
        return error_set(err, STATUS_NO_MEMORY, "no memory for matrix products");
    return error_set(err, STATUS_INTERNAL, "oneDNN answers with status %d", (int)result);
}

static inline void *aligned_bytes(size_t bytes) {
    return size_add(bytes, 64, &bytes) ? aligned_alloc(64, bytes & ~(size_t)63) : NULL;
}

/* oneDNN takes inputs and outputs by the same pointer type. */
static inline void *handle_of(const float *data) {
    return (void *)(uintptr_t)data;
}

/* Numbers of a type take so many bytes. */
static inline size_t gemm_dtype_bytes(enum gemm_dtype dtype) {
    return dtype == GEMM_F32 ? 4 : dtype == GEMM_BF16 ? 2 : 1;
}

#endif
