/* gemm_cblas.c: gemm.h over OpenBLAS's cblas_sgemm(), for machines on which oneDNN has nothing
 * fast.
 *
 * Only fp32. OpenBLAS's kernels for Haswell and Zen sum in several orders, by a row's place: of
 * x W^T only blocks of up to 8 rows pass the self-test, of (W x^T)^T those of 16 do, which are
 * more than twice as fast. So y comes out turned, [out, rows], and is turned back with the bias.
 *
 * OpenBLAS packs the weights again in every call, which costs the less the more rows a block has.
 * It finds working memory for each call by itself, under a lock of its own; built without threads
 * it has no lock, and callers on several threads spoil each other's results. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/size.h"
#include "engine/compute/gemm.h"

struct gemm {
    char nothing; /* OpenBLAS has no object of this kind */
};

struct gemm_shape {
    uint32_t inputs, outputs;
    enum gemm_mode mode;
    uint32_t blocks;
};

struct gemm_weights {
    const struct gemm_shape *shape;
    float *matrix; /* [out, in], TURNED: [in, out]; in an arena, or the caller's */
    float *bias;   /* [out], in the same */
};

struct gemm_scratch {
    float *turned; /* [widest output, GEMM_ROWS_MAX] */
};

static enum status no_memory(struct error *err) {
    return error_set(err, STATUS_NO_MEMORY, "no memory for matrix products");
}

/* "OpenBLAS 0.3.21", the first two words of what it says of itself. */
void gemm_get_library(char *out, size_t room) {
    const char *words = openblas_get_config(), *end = strchr(words, ' ');
    end = end ? strchr(end + 1, ' ') : NULL;
    snprintf(out, room, "%.*s", (int)(end ? end - words : (ptrdiff_t)strlen(words)), words);
}

const char *gemm_get_refusal(enum gemm_dtype dtype) {
    return dtype == GEMM_F32 ? NULL
                             : "OpenBLAS, which this program was built with, multiplies f32 only";
}

enum status gemm_open(const struct kernels *kernels, struct gemm **out, struct error *err) {
    (void)kernels;
    *out = NULL;
    if (openblas_get_parallel() == 0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "this OpenBLAS was built without threads and must not be called from "
                         "several: install libopenblas0-pthread");
    *out = calloc(1, sizeof **out);
    if (!*out)
        return no_memory(err);
    /* Of the process: each caller computes its product alone. */
    openblas_set_num_threads(1);
    return STATUS_OK;
}

void gemm_close(struct gemm *gemm) {
    free(gemm);
}

enum status gemm_shape_open(const struct gemm *gemm, enum gemm_dtype dtype, uint32_t inputs,
                            uint32_t outputs, enum gemm_mode mode, uint32_t blocks,
                            struct gemm_shape **out, struct error *err) {
    (void)gemm;
    *out = NULL;
    if (dtype != GEMM_F32)
        return error_set(err, STATUS_UNSUPPORTED, "%s", gemm_get_refusal(dtype));
    struct gemm_shape *shape = calloc(1, sizeof *shape);
    if (!shape)
        return no_memory(err);
    *shape = (struct gemm_shape){
        .inputs = inputs,
        .outputs = outputs,
        .mode = mode,
        .blocks = (blocks & GEMM_ALL_BLOCKS) | GEMM_ROWS_MAX,
    };
    *out = shape;
    return STATUS_OK;
}

void gemm_shape_close(struct gemm_shape *shape) {
    free(shape);
}

uint32_t gemm_shape_get_blocks(const struct gemm_shape *shape) {
    return shape->blocks;
}

uint32_t gemm_shape_get_fast_blocks(const struct gemm_shape *shape) {
    return shape->blocks;
}

uint64_t gemm_shape_get_bytes(const struct gemm_shape *shape) {
    return ((uint64_t)shape->inputs + 1) * shape->outputs * sizeof(float);
}

enum status gemm_weights_wrap(const struct gemm *gemm, const struct gemm_shape *shape,
                              float *turned, float *bias, struct gemm_weights **out,
                              struct error *err) {
    (void)gemm;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return no_memory(err);
    **out = (struct gemm_weights){.shape = shape, .matrix = turned, .bias = bias};
    return STATUS_OK;
}

enum status gemm_weights_open(const struct gemm *gemm, const struct gemm_shape *shape,
                              struct weights_arena *arena, struct gemm_weights **out,
                              struct error *err) {
    size_t bytes;
    *out = NULL;
    if (!size_multiply(shape->inputs, shape->outputs, &bytes) ||
        !size_multiply(bytes, sizeof(float), &bytes))
        return no_memory(err);
    float *matrix = weights_arena_alloc(arena, bytes);
    float *bias = weights_arena_alloc(arena, shape->outputs * sizeof *bias);
    return matrix && bias ? gemm_weights_wrap(gemm, shape, matrix, bias, out, err) : no_memory(err);
}

void gemm_weights_close(struct gemm_weights *weights) {
    free(weights);
}

enum status gemm_weights_pack(const struct gemm *gemm, struct gemm_weights *weights,
                              const float *wide, struct error *err) {
    (void)gemm;
    (void)err;
    memcpy(weights->matrix, wide,
           (size_t)weights->shape->inputs * weights->shape->outputs * sizeof *wide);
    return STATUS_OK;
}

float *gemm_weights_get_bias(struct gemm_weights *weights) {
    return weights->bias;
}

enum status gemm_scratch_open(const struct gemm *gemm, struct gemm_shape *const *shapes,
                              uint32_t count, struct gemm_scratch **out, struct error *err) {
    size_t outputs = 0, bytes;
    (void)gemm;
    *out = NULL;
    for (uint32_t i = 0; i < count; i++)
        outputs = shapes[i]->outputs > outputs ? shapes[i]->outputs : outputs;
    if (!size_multiply(outputs, GEMM_ROWS_MAX * sizeof(float), &bytes))
        return no_memory(err);
    struct gemm_scratch *scratch = calloc(1, sizeof *scratch);
    if (scratch)
        scratch->turned = aligned_alloc(64, bytes);
    if (!scratch || !scratch->turned) {
        free(scratch);
        return no_memory(err);
    }
    *out = scratch;
    return STATUS_OK;
}

void gemm_scratch_close(struct gemm_scratch *scratch) {
    if (!scratch)
        return;
    free(scratch->turned);
    free(scratch);
}

/* y[rows, out] = or += turned[out, rows] + bias, in pieces of a cache line of y. */
static void turn_back(const float *turned, const float *bias, size_t rows, size_t out, bool add,
                      float *y) {
    enum { PIECE = 16 };
    for (size_t first = 0; first < out; first += PIECE) {
        const size_t end = first + PIECE < out ? first + PIECE : out;
        for (size_t r = 0; r < rows; r++) {
            float *row = y + r * out;
            for (size_t o = first; o < end; o++) {
                const float sum = turned[o * rows + r] + bias[o];
                row[o] = add ? row[o] + sum : sum;
            }
        }
    }
}

bool gemm_run(const struct gemm_weights *weights, struct gemm_scratch *scratch,
              uint32_t shape_index, uint32_t block, const float *x, float *y) {
    const struct gemm_shape *shape = weights->shape;
    const int rows = 1 << block, in = (int)shape->inputs, out = (int)shape->outputs;
    const bool turned = shape->mode == GEMM_TURNED;
    (void)shape_index;
    cblas_sgemm(CblasColMajor, CblasTrans, turned ? CblasTrans : CblasNoTrans, rows, out, in, 1.0f,
                x, in, weights->matrix, turned ? out : in, 0.0f, scratch->turned, rows);
    turn_back(scratch->turned, weights->bias, (size_t)rows, shape->outputs, shape->mode == GEMM_ADD,
              y);
    return true;
}
