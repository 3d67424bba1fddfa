/* gemm_onednn.c: oneDNN's engine, and the primitives of each shape of products. */
#include <stdio.h>
#include <string.h>

#include "engine/compute/gemm_onednn.h"

void gemm_get_library(char *out, size_t room) {
    const dnnl_version_t *version = dnnl_version();
    snprintf(out, room, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
}

const char *gemm_get_refusal(enum gemm_dtype dtype) {
    const unsigned bf16 = dnnl_cpu_isa_avx512_core_bf16, has = dnnl_get_effective_cpu_isa();
    /* Without VNNI instructions products of bytes are summed in 16 bits, which overflow. */
    const unsigned vnni = dnnl_cpu_isa_avx512_core_vnni, vnni2 = dnnl_cpu_isa_avx2_vnni;
    if (dtype == GEMM_BF16 && (has & bf16) != bf16)
        return "this CPU does not multiply bf16 in hardware";
    if (dtype == GEMM_INT8 && (has & vnni) != vnni && (has & vnni2) != vnni2)
        return "this CPU does not multiply bytes (VNNI) in hardware";
    return NULL;
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

static dnnl_status_t attributes_create(const struct gemm_shape *shape, dnnl_primitive_attr_t *out) {
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t result;
    TRY(dnnl_primitive_attr_create(&attr));
    TRY(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    TRY(dnnl_post_ops_create(&ops));
    if (shape->mode == GEMM_ADD && shape->dtype != GEMM_INT8)
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

static const dnnl_data_type_t x_types[] = {dnnl_f32, dnnl_bf16, dnnl_u8};
static const dnnl_data_type_t w_types[] = {dnnl_f32, dnnl_bf16, dnnl_s8};

/* The product of 2^index rows over weights of that layout; sets the block's layouts of rows. */
static dnnl_status_t block_describe(struct gemm_shape *shape, dnnl_engine_t engine, int index,
                                    dnnl_primitive_attr_t attr, layout *weights,
                                    struct block *block, dnnl_primitive_desc_t *out) {
    const int64_t rows = (int64_t)1 << index, in = shape->inputs;
    const bool bytes = shape->dtype == GEMM_INT8;
    dnnl_status_t result;
    TRY(layout_init(&block->x, rows, in, x_types[shape->dtype], dnnl_ab));
    TRY(layout_init(&block->y, rows, shape->outputs, bytes ? dnnl_s32 : dnnl_f32, dnnl_ab));
    TRY(matmul_desc(out, engine, &block->x, weights, bytes ? NULL : &shape->bias, &block->y, attr));
done:
    return result;
}

/* Where oneDNN has no layout of its own (up to version 2.6, in fp32 without AVX-512) it copies
 * pieces of row-major weights as it multiplies. Rows whose distance is a large power of two, or a
 * few times one, then fall into the same few sets of the L1 cache and push each other out: so rows
 * lie an odd number of pairs of cache lines apart. 64 rows on Zen 3, GFLOP/s before and after:
 * 384 -> 1536 64, 96; 768 -> 3072 42, 91; 4096 -> 1024 29, 85. */
static dnnl_status_t rows_spread(const struct gemm_shape *shape, layout *weights) {
    enum { LINES = 128 / sizeof(float) };
    const int64_t in = shape->inputs, out = shape->outputs;
    const int64_t stride = ((out + LINES - 1) / LINES | 1) * LINES;
    layout plain = {0}, spread = {0};
    dnnl_status_t result;
    TRY(layout_init(&plain, in, out, dnnl_f32, dnnl_ab));
    if (shape->dtype != GEMM_F32 || !dnnl_memory_desc_equal(LAYOUT(plain), LAYOUT(*weights)))
        goto done;
    TRY(layout_init_rows(&spread, in, out, dnnl_f32, stride));
    layout_free(weights);
    *weights = spread;
done:
    layout_free(&plain);
    return result;
}

/* The layouts of the weights, as the largest block wants them, and of the bias. */
static dnnl_status_t layouts_choose(struct gemm_shape *shape, dnnl_engine_t engine,
                                    dnnl_primitive_attr_t attr) {
    struct block block = {0};
    dnnl_primitive_desc_t desc = NULL;
    layout any = {0};
    dnnl_status_t result;
    TRY(layout_init(&shape->bias, 1, shape->outputs, dnnl_f32, dnnl_ab));
    if (shape->mode == GEMM_TURNED)
        return layout_init(&shape->weights, shape->inputs, shape->outputs, dnnl_f32, dnnl_ab);
    TRY(layout_init(&any, shape->inputs, shape->outputs, w_types[shape->dtype],
                    dnnl_format_tag_any));
    TRY(block_describe(shape, engine, GEMM_BLOCKS - 1, attr, &any, &block, &desc));
    TRY(layout_query(desc, dnnl_query_weights_md, &shape->weights));
    TRY(rows_spread(shape, &shape->weights));
done:
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    layout_free(&any);
    layout_free(&block.y);
    layout_free(&block.x);
    return result;
}

/* Makes the primitive of 2^index rows. */
static dnnl_status_t block_init(struct gemm_shape *shape, dnnl_engine_t engine, int index,
                                dnnl_primitive_attr_t attr) {
    struct block *block = &shape->blocks[index];
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t result;
    TRY(block_describe(shape, engine, index, attr, &shape->weights, block, &desc));
    TRY(dnnl_primitive_create(&block->primitive, desc));
    TRY(layout_query(desc, dnnl_query_scratchpad_md, &block->scratchpad));
    const char *code = "";
    TRY(dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &code));
    block->fast = strstr(code, "ref") == NULL;
done:
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    return result;
}

enum status gemm_shape_open(const struct gemm *gemm, enum gemm_dtype dtype, uint32_t inputs,
                            uint32_t outputs, enum gemm_mode mode, uint32_t blocks,
                            struct gemm_shape **out, struct error *err) {
    *out = NULL;
    if (dtype == GEMM_INT8 && inputs > GEMM_INT8_INPUTS_MAX)
        return error_set(err, STATUS_UNSUPPORTED, "int8: %u inputs of a product, at most %d",
                         inputs, GEMM_INT8_INPUTS_MAX);
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
    TRY(attributes_create(shape, &attr));
    TRY(layouts_choose(shape, gemm->engine, attr));
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
    const size_t columns = shape->dtype == GEMM_INT8 ? 3 : 1; /* bias, scales, sums */
    return dnnl_memory_desc_get_size(LAYOUT(shape->weights)) +
           columns * shape->outputs * sizeof(float);
}
