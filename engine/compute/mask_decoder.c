/* mask_decoder.c: slices of the vocabulary through products, running sums and running rankings. */
#include "engine/compute/mask_decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/size.h"
#include "engine/compute/gemm.h"

enum {
    BLOCK_ROWS = 256,           /* of the vocabulary: what one partial sum covers */
    PIECE_ROWS = GEMM_ROWS_MAX, /* of one product */
    PIECE_BLOCK = GEMM_BLOCKS - 1,
    COLUMNS = LOGITS_COLUMNS,                  /* positions of one product */
    GROUPS = MASK_DECODER_POSITIONS / COLUMNS, /* of positions, for each pass over the vocabulary */
    ALIGN = 64,
};

struct mask_decoder {
    const struct kernels *kernels;
    struct tensor matrix;       /* [V, H] */
    float *bias;                /* [V] */
    uint32_t vocabulary, width; /* V, H */
    uint32_t columns;           /* positions side by side: COLUMNS, or 1 where that fails */
    struct gemm *gemm;
    struct gemm_shape *shape; /* H -> COLUMNS */
};

/* The running outcome of one position. */
struct state {
    double largest, sum; /* of e^(logit - largest) */
    uint32_t kept, next; /* entries in best[]; the next id of the ranking's own */
};

struct mask_decoder_scratch {
    float *memory;
    uint32_t slice_rows;   /* whole blocks */
    float *turned[GROUPS]; /* [H, COLUMNS] positions as columns */
    float *zeros;          /* [COLUMNS] the products' bias */
    float *wide;           /* [PIECE_ROWS, H] */
    float *logits[GROUPS]; /* [slice_rows, COLUMNS] */
    struct gemm_weights *right[GROUPS];
    struct gemm_scratch *gemm;
    struct state states[GROUPS * COLUMNS];
};

static enum status no_memory(struct error *err) {
    return error_set(err, STATUS_NO_MEMORY, "no memory for the masked-language decoder");
}

uint64_t mask_decoder_get_bytes(const struct mask_decoder *decoder) {
    return (uint64_t)decoder->vocabulary * sizeof *decoder->bias;
}

/* Rows of a slice: whole blocks. */
static uint32_t slice_choose(uint32_t vocabulary, uint32_t chunks) {
    const uint32_t blocks = (vocabulary + BLOCK_ROWS - 1) / BLOCK_ROWS;
    if (chunks == 0 || chunks > blocks)
        chunks = blocks;
    return (blocks + chunks - 1) / chunks * BLOCK_ROWS;
}

uint32_t mask_decoder_get_chunks(const struct mask_decoder *decoder, uint32_t chunks) {
    const uint32_t slice_rows = slice_choose(decoder->vocabulary, chunks);
    return (decoder->vocabulary + slice_rows - 1) / slice_rows;
}

enum status mask_decoder_scratch_open(const struct mask_decoder *decoder, uint32_t chunks,
                                      struct mask_decoder_scratch **out, struct error *err) {
    const uint32_t slice_rows = slice_choose(decoder->vocabulary, chunks);
    const size_t turned = (size_t)decoder->width * COLUMNS;
    const size_t wide = (size_t)decoder->width * PIECE_ROWS;
    const size_t logits = (size_t)slice_rows * COLUMNS;
    size_t bytes;
    *out = NULL;
    struct mask_decoder_scratch *s = calloc(1, sizeof *s);
    /* All pieces are multiples of COLUMNS floats, which is a cache line. */
    if (!s || !size_multiply(GROUPS * (turned + logits) + wide + COLUMNS, sizeof(float), &bytes) ||
        !(s->memory = aligned_alloc(ALIGN, bytes))) {
        free(s);
        return no_memory(err);
    }
    s->slice_rows = slice_rows;
    float *at = s->memory;
    s->zeros = at;
    memset(s->zeros, 0, COLUMNS * sizeof *s->zeros);
    at += COLUMNS;
    s->wide = at;
    at += wide;
    enum status status = STATUS_OK;
    for (uint32_t g = 0; g < GROUPS && status == STATUS_OK; g++, at += turned + logits) {
        s->turned[g] = at;
        s->logits[g] = at + turned;
        status = gemm_weights_wrap(decoder->gemm, decoder->shape, s->turned[g], s->zeros,
                                   &s->right[g], err);
    }
    struct gemm_shape *const shapes[] = {decoder->shape};
    if (status == STATUS_OK)
        status = gemm_scratch_open(decoder->gemm, shapes, 1, &s->gemm, err);
    if (status == STATUS_OK)
        *out = s;
    else
        mask_decoder_scratch_close(s);
    return status;
}

void mask_decoder_scratch_close(struct mask_decoder_scratch *scratch) {
    if (!scratch)
        return;
    gemm_scratch_close(scratch->gemm);
    for (uint32_t g = 0; g < GROUPS; g++)
        gemm_weights_close(scratch->right[g]);
    free(scratch->memory);
    free(scratch);
}

/* Up to `columns` positions become the columns of group g; zeros follow them. */
static void positions_turn(const struct mask_decoder *decoder, struct mask_decoder_scratch *s,
                           uint32_t g, const float *x, uint32_t count) {
    for (size_t h = 0; h < decoder->width; h++) {
        float *row = s->turned[g] + h * COLUMNS;
        for (uint32_t c = 0; c < COLUMNS; c++)
            row[c] = c < count ? x[c * (size_t)decoder->width + h] : 0.0f;
    }
}

/* PIECE_ROWS rows of the matrix from `first` on: where they lie, or widened. Past the end: zeros.
 */
static const float *piece_get(const struct mask_decoder *decoder, struct mask_decoder_scratch *s,
                              uint32_t first) {
    const struct tensor *matrix = &decoder->matrix;
    const size_t number = matrix->type == TENSOR_F32 ? 4 : 2, width = decoder->width;
    const unsigned char *data = matrix->data + first * width * number;
    const uint32_t left = decoder->vocabulary - first;
    const uint32_t rows = left < PIECE_ROWS ? left : PIECE_ROWS;
    if (matrix->type == TENSOR_F32 && rows == PIECE_ROWS && (uintptr_t)data % sizeof(float) == 0)
        return (const float *)(const void *)data;
    decoder->kernels->widen(matrix->type, data, rows * width, s->wide);
    memset(s->wide + rows * width, 0, (PIECE_ROWS - rows) * width * sizeof *s->wide);
    return s->wide;
}

/* The logits, without bias, of the slice for all groups. A product that the library refuses to
 * run must not pass for a result. */
static void slice_multiply(const struct mask_decoder *decoder, struct mask_decoder_scratch *s,
                           uint32_t first, uint32_t rows, uint32_t groups) {
    for (uint32_t at = 0; at < rows; at += PIECE_ROWS) {
        const float *piece = piece_get(decoder, s, first + at);
        for (uint32_t g = 0; g < groups; g++) {
            float *y = s->logits[g] + (size_t)at * COLUMNS;
            if (gemm_run(s->right[g], s->gemm, 0, PIECE_BLOCK, piece, y))
                continue;
            for (uint32_t i = 0; i < PIECE_ROWS * COLUMNS; i++)
                y[i] = NAN;
        }
    }
}

/* e^largest * sum stays what the sum of all blocks so far is. */
static void state_add(struct state *state, float largest, float sum) {
    const double top = (double)largest;
    if (top > state->largest) {
        state->sum = state->sum * exp(state->largest - top) + (double)sum;
        state->largest = top;
    } else {
        state->sum += (double)sum * exp(top - state->largest);
    }
}

/* Enters the block's logits, a column of y, into the position's ranking. */
static void block_rank(struct state *state, const struct mask_query *query, const float *y,
                       uint32_t first, uint32_t rows, float largest) {
    const struct ranking *ranking = query->ranking;
    const uint32_t kept = ranking->kept;
    if (kept == 0)
        return;
    for (; ranking->ids && state->next < ranking->ids_count; state->next++) {
        const uint32_t id = (uint32_t)ranking->ids[state->next];
        if (id >= first + rows)
            return;
        ranking_push(query->best, &state->kept, kept,
                     (struct ranked){(int32_t)id, y[(size_t)(id - first) * COLUMNS]});
    }
    if (ranking->ids || (state->kept == kept && largest <= query->best[0].score))
        return;
    for (uint32_t r = 0; r < rows; r++)
        ranking_push(query->best, &state->kept, kept,
                     (struct ranked){(int32_t)(first + r), y[(size_t)r * COLUMNS]});
}

/* One block of the logits: bias, sums, rankings of the group's positions. */
static void block_reduce(const struct mask_decoder *decoder, float *y, uint32_t first,
                         struct state *states, const struct mask_query *queries, uint32_t count) {
    float largest[COLUMNS], sums[COLUMNS];
    const uint32_t left = decoder->vocabulary - first;
    const uint32_t rows = left < BLOCK_ROWS ? left : BLOCK_ROWS;
    decoder->kernels->logits(y, rows, decoder->bias + first, largest, sums);
    for (uint32_t c = 0; c < count; c++) {
        state_add(&states[c], largest[c], sums[c]);
        block_rank(&states[c], &queries[c], y + c, first, rows, largest[c]);
    }
}

/* Logits become probabilities, best first. */
static void query_finish(const struct mask_query *query, const struct state *state) {
    ranking_sort(query->best, state->kept);
    for (uint32_t i = 0; i < state->kept; i++) {
        struct ranked *entry = &query->best[i];
        entry->score = (float)(exp((double)entry->score - state->largest) / state->sum);
    }
}

/* One pass over the vocabulary for up to GROUPS * columns positions. */
static void pass_run(const struct mask_decoder *decoder, struct mask_decoder_scratch *s,
                     const float *x, const struct mask_query *queries, uint32_t count) {
    const uint32_t columns = decoder->columns, groups = (count + columns - 1) / columns;
    for (uint32_t i = 0; i < count; i++)
        s->states[i] = (struct state){.largest = -INFINITY};
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t at = g * columns, left = count - at;
        positions_turn(decoder, s, g, x + at * (size_t)decoder->width,
                       left < columns ? left : columns);
    }
    for (uint32_t first = 0; first < decoder->vocabulary; first += s->slice_rows) {
        const uint32_t left = decoder->vocabulary - first;
        const uint32_t rows = left < s->slice_rows ? left : s->slice_rows;
        slice_multiply(decoder, s, first, rows, groups);
        for (uint32_t g = 0; g < groups; g++) {
            const uint32_t at = g * columns, rest = count - at;
            for (uint32_t block = 0; block < rows; block += BLOCK_ROWS)
                block_reduce(decoder, s->logits[g] + (size_t)block * COLUMNS, first + block,
                             &s->states[at], queries + at, rest < columns ? rest : columns);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        query_finish(&queries[i], &s->states[i]);
}

void mask_decoder_run(const struct mask_decoder *decoder, struct mask_decoder_scratch *scratch,
                      const float *x, const struct mask_query *queries, uint32_t count) {
    const uint32_t most = GROUPS * decoder->columns;
    for (uint32_t first = 0; first < count; first += most) {
        const uint32_t left = count - first;
        pass_run(decoder, scratch, x + first * (size_t)decoder->width, queries + first,
                 left < most ? left : most);
    }
}

/* Do all columns go through the same arithmetic? Then positions that move on by one column take
 * their results along, bit for bit. */
static enum status columns_choose(struct mask_decoder *decoder, struct error *err) {
    struct mask_decoder_scratch *s = NULL;
    enum status status = mask_decoder_scratch_open(decoder, 0, &s, err);
    if (status != STATUS_OK)
        return status;
    decoder->columns = COLUMNS;
    const size_t width = decoder->width;
    for (size_t i = 0; i < PIECE_ROWS * width; i++) /* sums of these round in every order */
        s->wide[i] = (float)(int32_t)((uint32_t)i * 2654435761u) * 0x1p-31f;
    for (uint32_t g = 0; g < 2; g++)
        for (size_t i = 0; i < width * COLUMNS; i++) {
            const size_t h = i / COLUMNS, position = (i + g) % COLUMNS;
            s->turned[g][i] =
                (float)(int32_t)((uint32_t)(h * COLUMNS + position) * 2246822519u) * 0x1p-31f;
        }
    for (uint32_t g = 0; g < 2; g++)
        if (!gemm_run(s->right[g], s->gemm, 0, PIECE_BLOCK, s->wide, s->logits[g]))
            status = error_set(err, STATUS_INTERNAL, "the decoder's products do not run");
    for (size_t r = 0; r < PIECE_ROWS; r++)
        for (size_t c = 0; c < COLUMNS; c++)
            if (memcmp(&s->logits[0][r * COLUMNS + (c + 1) % COLUMNS],
                       &s->logits[1][r * COLUMNS + c], sizeof(float)) != 0)
                decoder->columns = 1;
    mask_decoder_scratch_close(s);
    return status;
}

enum status mask_decoder_open(const struct kernels *kernels, const struct linear_weights *weights,
                              struct mask_decoder **out, struct error *err) {
    *out = NULL;
    struct mask_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder)
        return no_memory(err);
    *decoder = (struct mask_decoder){
        .kernels = kernels,
        .matrix = weights->weight,
        .vocabulary = (uint32_t)weights->weight.shape[0],
        .width = (uint32_t)weights->weight.shape[1],
    };
    decoder->bias = calloc(decoder->vocabulary, sizeof *decoder->bias);
    enum status status =
        decoder->bias ? gemm_open(decoder->kernels, &decoder->gemm, err) : no_memory(err);
    if (status == STATUS_OK)
        status = gemm_shape_open(decoder->gemm, GEMM_F32, decoder->width, COLUMNS, GEMM_TURNED,
                                 1u << PIECE_BLOCK, &decoder->shape, err);
    if (status == STATUS_OK)
        status = columns_choose(decoder, err);
    if (status == STATUS_OK && weights->bias.name)
        kernels->widen(weights->bias.type, weights->bias.data, decoder->vocabulary, decoder->bias);
    if (status == STATUS_OK)
        *out = decoder;
    else
        mask_decoder_close(decoder);
    return status;
}

void mask_decoder_close(struct mask_decoder *decoder) {
    if (!decoder)
        return;
    gemm_shape_close(decoder->shape);
    gemm_close(decoder->gemm);
    free(decoder->bias);
    free(decoder);
}
