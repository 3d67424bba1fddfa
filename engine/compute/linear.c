/* linear.c: shapes and their self-test, packing the checkpoint's weights, cutting rows in blocks.
 */
#include "engine/compute/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/size.h"

/* The self-test compares at least so many rows and numbers of each block. */
enum { TRIAL_ROWS_MIN = 16, TRIAL_OUTPUTS_MIN = 8192 };

struct shape {
    enum gemm_dtype dtype;
    uint32_t inputs, outputs;
    enum gemm_mode mode;
    uint32_t blocks; /* in use: those that passed the self-test */
};

struct linear_set {
    struct gemm *gemm;
    const struct kernels *kernels;
    struct linear *linears;                             /* all that are open */
    struct weights_arena memories[LINEAR_MEMORIES_MAX]; /* packed weights, one arena a node */
    uint32_t memories_count;
    enum gemm_dtype dtype; /* of what is opened next */
    uint32_t blocks;       /* allowed */
    uint32_t shapes_count;
    struct shape shapes[LINEAR_SHAPES_MAX];
    struct gemm_shape *gemm_shapes[LINEAR_SHAPES_MAX];
};

struct linear {
    struct linear_set *set;
    struct linear *next; /* of the set's list */
    const struct shape *shape;
    uint32_t shape_index;
    const struct linear_weights *sources[LINEAR_JOINED_MAX];
    uint32_t sources_count;
    struct gemm_weights *weights[LINEAR_MEMORIES_MAX]; /* NULL: not in that memory */
    const struct gemm_weights *any;                    /* one of them; NULL: not packed */
    enum probe_kind probe;                             /* PROBE_OTHER: not watched */
};

struct linear_scratch {
    struct gemm_scratch *gemm;
    uint32_t memory;      /* from which it reads */
    float *pad_x, *pad_y; /* [GEMM_ROWS_MAX, widest input or output] */
};

static enum status no_memory(struct error *err) {
    return error_set(err, STATUS_NO_MEMORY, "no memory for matrix products");
}

static float *floats_alloc(size_t rows, size_t columns) {
    size_t count, bytes;
    if (!size_multiply(rows, columns, &count) || !size_multiply(count, sizeof(float), &bytes) ||
        !size_add(bytes, 64, &bytes))
        return NULL;
    return aligned_alloc(64, bytes & ~(size_t)63);
}

enum status linear_set_open(enum gemm_dtype dtype, const struct kernels *kernels, uint32_t blocks,
                            struct linear_set **out, struct error *err) {
    *out = NULL;
    struct linear_set *set = calloc(1, sizeof *set);
    if (!set)
        return no_memory(err);
    set->kernels = kernels;
    set->blocks = blocks;
    set->dtype = dtype;
    enum status status = gemm_open(kernels, &set->gemm, err);
    if (status == STATUS_OK)
        *out = set;
    else
        free(set);
    return status;
}

void linear_set_use(struct linear_set *set, enum gemm_dtype dtype) {
    set->dtype = dtype;
}

void linear_set_close(struct linear_set *set) {
    if (!set)
        return;
    for (uint32_t i = 0; i < set->shapes_count; i++)
        gemm_shape_close(set->gemm_shapes[i]);
    gemm_close(set->gemm);
    for (uint32_t i = 0; i < set->memories_count; i++)
        weights_arena_free(&set->memories[i]);
    free(set);
}

/* Numbers in [-1, 1) whose sums round differently in different orders. */
static void fill_random(float *out, size_t count, uint32_t seed) {
    for (size_t i = 0; i < count; i++) {
        uint32_t x = (uint32_t)i * 2654435761u + seed;
        x ^= x >> 15;
        x *= 0x2C1B3C6Du;
        x ^= x >> 13;
        out[i] = (float)(int32_t)x * 0x1p-31f;
    }
}

/* What the self-test works with. Row r is x's row r, added to `before`'s row r in GEMM_ADD. */
struct trial {
    const struct shape *shape;
    uint32_t shape_index;
    const struct gemm_weights *weights;
    struct gemm_scratch *scratch;
    float *x, *shifted;           /* [GEMM_ROWS_MAX, in] */
    float *before, *expected, *y; /* [GEMM_ROWS_MAX, out] */
};

static void trial_fill(const struct trial *t, uint32_t round) {
    fill_random(t->x, (size_t)GEMM_ROWS_MAX * t->shape->inputs, 2 * round + 2);
    fill_random(t->before, (size_t)GEMM_ROWS_MAX * t->shape->outputs, 2 * round + 3);
}

/* Runs a block on rows first, first + 1, ..., turning around at `total` rows. */
static bool trial_run(const struct trial *t, uint32_t block, size_t first, size_t total, float *y) {
    const size_t rows = (size_t)1 << block, in = t->shape->inputs, out = t->shape->outputs;
    for (size_t r = 0; r < rows; r++) {
        const size_t from = (r + first) % total;
        memcpy(t->shifted + r * in, t->x + from * in, in * sizeof *y);
        memcpy(y + r * out, t->before + from * out, out * sizeof *y);
    }
    return gemm_run(t->weights, t->scratch, t->shape_index, block, t->shifted, y);
}

/* Do all rows of the block go through the same arithmetic? Then shifting its rows by one shifts
 * its results. Leaves the results in t->expected. */
static bool trial_shift(const struct trial *t, uint32_t block) {
    const size_t rows = (size_t)1 << block, rest = rows - 1, out = t->shape->outputs;
    const size_t row_bytes = out * sizeof *t->y;
    return trial_run(t, block, 0, rows, t->expected) && trial_run(t, block, 1, rows, t->y) &&
           memcmp(t->y, t->expected + out, rest * row_bytes) == 0 &&
           memcmp(t->y + rest * out, t->expected, row_bytes) == 0;
}

/* Does the block give the bits of t->expected, `total` rows? */
static bool trial_compare(const struct trial *t, uint32_t block, size_t total) {
    const size_t rows = (size_t)1 << block, out = t->shape->outputs;
    for (size_t first = 0; first < total; first += rows) {
        if (first >= TRIAL_ROWS_MIN && first * out >= TRIAL_OUTPUTS_MIN)
            break;
        if (!trial_run(t, block, first, total, t->y) ||
            memcmp(t->y, t->expected + first * out, rows * out * sizeof *t->y) != 0)
            return false;
    }
    return true;
}

/* The blocks to use: a reference, the largest whose rows are all treated alike, and those smaller
 * ones that give the reference's bits. Two ways of summing agree by chance in most numbers of a
 * small product, so small shapes go through several rounds of numbers. */
static uint32_t trial_choose(const struct trial *t, uint32_t made, uint32_t fast) {
    const size_t outputs_once = (size_t)GEMM_ROWS_MAX * t->shape->outputs;
    const uint32_t rounds = (uint32_t)(1 + TRIAL_OUTPUTS_MIN / outputs_once);
    uint32_t chosen = 0, reference = GEMM_BLOCKS;
    while (chosen == 0 && reference-- > 0) {
        const uint32_t bit = (uint32_t)1 << reference;
        chosen = made & (bit | (fast & (bit - 1)));
        if (!(made & bit))
            chosen = 0;
        for (uint32_t round = 0; chosen && round < rounds; round++) {
            trial_fill(t, round);
            if (!trial_shift(t, reference))
                chosen = 0;
            for (uint32_t i = 0; chosen && i < reference; i++) {
                if ((chosen >> i & 1) && !trial_compare(t, i, bit))
                    chosen &= ~((uint32_t)1 << i);
            }
        }
    }
    return chosen;
}

/* The self-test, on weights of its own: those of a checkpoint might not be finite. `wide` is
 * scratch for [out, in]. */
static enum status shape_test(struct linear_set *set, uint32_t index, float *wide,
                              struct error *err) {
    struct shape *shape = &set->shapes[index];
    struct gemm_shape *gemm_shape = set->gemm_shapes[index];
    const size_t in = shape->inputs, out = shape->outputs;
    struct gemm_weights *weights = NULL;
    struct gemm_scratch *scratch = NULL;
    struct weights_arena arena = {.node = MEMORY_NODE_ANY};
    float *x = floats_alloc(2 * GEMM_ROWS_MAX, in), *y = floats_alloc(3 * GEMM_ROWS_MAX, out);
    enum status status =
        x && y ? gemm_weights_open(set->gemm, gemm_shape, &arena, &weights, err) : no_memory(err);
    if (status == STATUS_OK) {
        fill_random(wide, in * out, 1);
        status = gemm_weights_pack(set->gemm, weights, wide, err);
    }
    if (status == STATUS_OK)
        status = gemm_scratch_open(set->gemm, set->gemm_shapes, index + 1, &scratch, err);
    if (status != STATUS_OK)
        goto done;
    struct trial trial = {
        .shape = shape,
        .shape_index = index,
        .weights = weights,
        .scratch = scratch,
        .x = x,
        .shifted = x + GEMM_ROWS_MAX * in,
        .before = y,
        .expected = y + GEMM_ROWS_MAX * out,
        .y = y + 2 * GEMM_ROWS_MAX * out,
    };
    shape->blocks = trial_choose(&trial, gemm_shape_get_blocks(gemm_shape) & set->blocks,
                                 gemm_shape_get_fast_blocks(gemm_shape));
    if (shape->blocks == 0)
        status = error_set(err, STATUS_INTERNAL,
                           "matrix products %zu -> %zu depend on the rows around a row on this CPU",
                           in, out);
done:
    gemm_scratch_close(scratch);
    gemm_weights_close(weights);
    weights_arena_free(&arena);
    free(y);
    free(x);
    return status;
}

/* Finds the shape, or makes and tests it. */
static enum status shape_find(struct linear_set *set, struct shape want, uint32_t *index,
                              struct error *err) {
    for (uint32_t i = 0; i < set->shapes_count; i++) {
        const struct shape *have = &set->shapes[i];
        if (have->dtype == want.dtype && have->inputs == want.inputs &&
            have->outputs == want.outputs && have->mode == want.mode) {
            *index = i;
            return STATUS_OK;
        }
    }
    const uint32_t i = *index = set->shapes_count;
    if (i == LINEAR_SHAPES_MAX)
        return error_set(err, STATUS_UNSUPPORTED, "more than %d shapes of matrix products",
                         LINEAR_SHAPES_MAX);
    float *wide = floats_alloc(want.outputs, want.inputs);
    if (!wide)
        return no_memory(err);
    enum status status = gemm_shape_open(set->gemm, want.dtype, want.inputs, want.outputs,
                                         want.mode, set->blocks, &set->gemm_shapes[i], err);
    if (status == STATUS_OK) {
        set->shapes[i] = want;
        set->shapes_count++;
        status = shape_test(set, i, wide, err);
    }
    free(wide);
    return status;
}

/* Widens the weights one under the other into `wide` [out, in], and the biases. */
static void widen_all(const struct linear *linear, float *wide, float *bias) {
    const struct kernels *kernels = linear->set->kernels;
    const size_t inputs = linear->shape->inputs;
    size_t row = 0;
    for (uint32_t i = 0; i < linear->sources_count; i++) {
        const struct tensor *w = &linear->sources[i]->weight, *b = &linear->sources[i]->bias;
        const size_t rows = (size_t)w->shape[0];
        kernels->widen(w->type, w->data, rows * inputs, wide + row * inputs);
        if (b->name)
            kernels->widen(b->type, b->data, rows, bias + row);
        row += rows;
    }
}

enum status linear_open(struct linear_set *set, const struct linear_weights *const *weights,
                        uint32_t count, enum gemm_mode mode, struct linear **out,
                        struct error *err) {
    *out = NULL;
    struct shape shape = {
        .dtype = set->dtype,
        .inputs = (uint32_t)weights[0]->weight.shape[1],
        .mode = mode,
    };
    struct linear *linear = calloc(1, sizeof *linear);
    if (!linear)
        return no_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        shape.outputs += (uint32_t)weights[i]->weight.shape[0];
        linear->sources[linear->sources_count++] = weights[i];
    }
    enum status status = shape_find(set, shape, &linear->shape_index, err);
    if (status != STATUS_OK) {
        free(linear);
        return status;
    }
    linear->shape = &set->shapes[linear->shape_index];
    linear->set = set;
    linear->next = set->linears;
    set->linears = *out = linear;
    return STATUS_OK;
}

static void weights_close(struct linear *linear) {
    for (uint32_t i = 0; i < linear->set->memories_count; i++) {
        gemm_weights_close(linear->weights[i]);
        linear->weights[i] = NULL;
    }
    linear->any = NULL;
}

void linear_close(struct linear *linear) {
    if (!linear)
        return;
    weights_close(linear);
    struct linear **link = &linear->set->linears;
    while (*link != linear)
        link = &(*link)->next;
    *link = linear->next;
    free(linear);
}

/* Its place among the memories; memories_count when there is none. */
static uint32_t memory_find(const struct linear_set *set, int node) {
    uint32_t i = 0;
    while (i < set->memories_count && set->memories[i].node != node)
        i++;
    return i;
}

enum status linear_pack(struct linear *linear, int node, struct error *err) {
    struct linear_set *set = linear->set;
    const uint32_t memory = memory_find(set, node);
    if (memory == LINEAR_MEMORIES_MAX)
        return error_set(err, STATUS_INTERNAL, "weights on more than %d memory nodes",
                         LINEAR_MEMORIES_MAX);
    if (memory == set->memories_count)
        set->memories[set->memories_count++] = (struct weights_arena){.node = node};
    if (linear->weights[memory])
        return STATUS_OK;
    struct gemm_weights *weights = NULL;
    float *wide = floats_alloc(linear->shape->outputs, linear->shape->inputs);
    enum status status = wide ? gemm_weights_open(set->gemm, set->gemm_shapes[linear->shape_index],
                                                  &set->memories[memory], &weights, err)
                              : no_memory(err);
    if (status == STATUS_OK) {
        widen_all(linear, wide, gemm_weights_get_bias(weights));
        status = gemm_weights_pack(set->gemm, weights, wide, err);
    }
    free(wide);
    if (status == STATUS_OK)
        linear->any = linear->weights[memory] = weights;
    else
        gemm_weights_close(weights);
    return status;
}

void linear_set_unpack(struct linear_set *set) {
    for (struct linear *linear = set->linears; linear; linear = linear->next)
        weights_close(linear);
    for (uint32_t i = 0; i < set->memories_count; i++)
        weights_arena_free(&set->memories[i]);
    set->memories_count = 0;
}

uint32_t linear_set_get_memories(const struct linear_set *set, uint64_t *bytes) {
    *bytes = 0;
    for (uint32_t i = 0; i < set->memories_count; i++)
        *bytes += weights_arena_get_bytes(&set->memories[i]);
    return set->memories_count;
}

uint32_t linear_get_inputs(const struct linear *linear) {
    return linear->shape->inputs;
}

uint32_t linear_get_outputs(const struct linear *linear) {
    return linear->shape->outputs;
}

uint32_t linear_get_blocks(const struct linear *linear) {
    return linear->shape->blocks;
}

uint64_t linear_get_bytes(const struct linear *linear) {
    return gemm_shape_get_bytes(linear->set->gemm_shapes[linear->shape_index]);
}

const struct linear_weights *const *linear_get_sources(const struct linear *linear,
                                                       uint32_t *count) {
    *count = linear->sources_count;
    return linear->sources;
}

void linear_set_probe(struct linear *linear, enum probe_kind kind) {
    linear->probe = kind;
}

enum status linear_scratch_open(const struct linear_set *set, int node, struct linear_scratch **out,
                                struct error *err) {
    *out = NULL;
    struct linear_scratch *scratch = calloc(1, sizeof *scratch);
    if (!scratch)
        return no_memory(err);
    scratch->memory = memory_find(set, node);
    if (scratch->memory == set->memories_count)
        scratch->memory = 0;
    size_t inputs = 0, outputs = 0;
    for (uint32_t i = 0; i < set->shapes_count; i++) {
        inputs = set->shapes[i].inputs > inputs ? set->shapes[i].inputs : inputs;
        outputs = set->shapes[i].outputs > outputs ? set->shapes[i].outputs : outputs;
    }
    scratch->pad_x = floats_alloc(GEMM_ROWS_MAX, inputs);
    scratch->pad_y = floats_alloc(GEMM_ROWS_MAX, outputs);
    enum status status =
        scratch->pad_x && scratch->pad_y
            ? gemm_scratch_open(set->gemm, set->gemm_shapes, set->shapes_count, &scratch->gemm, err)
            : no_memory(err);
    if (status == STATUS_OK)
        *out = scratch;
    else
        linear_scratch_close(scratch);
    return status;
}

void linear_scratch_close(struct linear_scratch *scratch) {
    if (!scratch)
        return;
    gemm_scratch_close(scratch->gemm);
    free(scratch->pad_y);
    free(scratch->pad_x);
    free(scratch);
}

/* A product that the library refuses to run must not pass for a result: its rows become NaN, which
 * the end of the pipeline reports. */
static void run_block(const struct linear *linear, struct linear_scratch *scratch, uint32_t block,
                      const float *x, float *y) {
    const struct gemm_weights *near = linear->weights[scratch->memory];
    if (gemm_run(near ? near : linear->any, scratch->gemm, linear->shape_index, block, x, y))
        return;
    for (size_t i = 0; i < (size_t)linear->shape->outputs << block; i++)
        y[i] = NAN;
}

/* Fewer rows than the least block in use: zeros follow them. */
static void run_padded(const struct linear *linear, struct linear_scratch *scratch, const float *x,
                       size_t rows, float *y) {
    const size_t in = linear->shape->inputs, out = linear->shape->outputs;
    const uint32_t block = (uint32_t)__builtin_ctz(linear->shape->blocks);
    const size_t padded = (size_t)1 << block;
    float *pad_x = scratch->pad_x, *pad_y = scratch->pad_y;
    memcpy(pad_x, x, rows * in * sizeof *x);
    memset(pad_x + rows * in, 0, (padded - rows) * in * sizeof *x);
    if (linear->shape->mode == GEMM_ADD)
        memcpy(pad_y, y, rows * out * sizeof *y);
    memset(pad_y + rows * out, 0, (padded - rows) * out * sizeof *y);
    run_block(linear, scratch, block, pad_x, pad_y);
    memcpy(y, pad_y, rows * out * sizeof *y);
}

static void run_rows(const struct linear *linear, struct linear_scratch *scratch, const float *x,
                     uint32_t rows, float *y) {
    const size_t in = linear->shape->inputs, out = linear->shape->outputs;
    for (uint32_t i = GEMM_BLOCKS; i-- > 0;) {
        const uint32_t count = (uint32_t)1 << i;
        if (!(linear->shape->blocks & count))
            continue;
        for (; rows >= count; rows -= count, x += count * in, y += count * out)
            run_block(linear, scratch, i, x, y);
    }
    if (rows > 0)
        run_padded(linear, scratch, x, rows, y);
}

static void run_probed(const struct linear *linear, struct linear_scratch *scratch, const float *x,
                       uint32_t rows, float *y) {
    const double numbers = (double)linear->shape->inputs * linear->shape->outputs;
    const enum probe_kind before = probe_enter(linear->probe);
    probe_count(2 * numbers * rows, 0);
    run_rows(linear, scratch, x, rows, y);
    probe_enter(before);
}

void linear_run(const struct linear *linear, struct linear_scratch *scratch, const float *x,
                uint32_t rows, float *y) {
    if (linear->probe == PROBE_OTHER)
        run_rows(linear, scratch, x, rows, y);
    else
        run_probed(linear, scratch, x, rows, y);
}
