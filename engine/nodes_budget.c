/* nodes_budget.c: runs watched nodes and sets what each part took beside its floor. */
#include "engine/nodes_budget.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/compute/peak.h"
#include "engine/nodes_internal.h"

enum { RUNS_MIN = 3 };

/* The best runs of one microbatch. */
struct best {
    uint64_t pass_ns;   /* without a clock between parts */
    uint64_t probed_ns; /* with one: */
    struct probe probe;
};

struct budget_run {
    struct nodes *nodes;
    void *scratch;
    struct microbatch *const *microbatches;
    uint32_t count;
    struct best *best; /* [count] */
    double weights_bytes[PROBE_KINDS];
    float *room; /* to measure memory with: as many bytes as the weights, or a block of rows */
    size_t room_bytes;
};

static void watch(struct budget_run *run, struct linear *linear, enum probe_kind kind) {
    if (!linear)
        return;
    linear_set_probe(linear, kind);
    run->weights_bytes[kind] += (double)linear_get_bytes(linear);
}

static void watch_products(struct budget_run *run) {
    const struct nodes *nodes = run->nodes;
    for (uint32_t i = 0; i < nodes->layers_count; i++) {
        const struct encoder_layer *layer = &nodes->layers[i];
        watch(run, layer->qkv, PROBE_QKV);
        watch(run, layer->query, PROBE_QKV);
        watch(run, layer->kv, PROBE_QKV);
        watch(run, layer->attention_output, PROBE_ATTENTION_OUTPUT);
        watch(run, layer->up, PROBE_UP);
        watch(run, layer->down, PROBE_DOWN);
    }
    watch(run, nodes_head_get_linear(nodes, 0), PROBE_POOLER);
    watch(run, nodes_head_get_linear(nodes, 1), PROBE_CLASSIFIER);
    if (nodes->decoder)
        run->weights_bytes[PROBE_CLASSIFIER] +=
            (double)model_get_weights(nodes->model)->decoder.weight.bytes;
}

/* Rows of the tables in, rows of hidden states out. */
static double embedding_bytes(const struct embedding *embedding, uint32_t tokens) {
    const struct tensor *const tables[] = {&embedding->words, &embedding->positions,
                                           &embedding->types};
    double row = (double)embedding->width * sizeof(float);
    for (uint32_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i]->name)
            row += (double)embedding->width * (tables[i]->type == TENSOR_F32 ? 4 : 2);
    return row * tokens;
}

/* One forward pass. Embedding and decoder have no kernels or linears of their own to be watched. */
static void pass_run(const struct budget_run *run, struct microbatch *m) {
    const struct nodes *nodes = run->nodes;
    const uint32_t head = nodes->parts_count - 2;
    probe_enter(PROBE_EMBEDDING);
    probe_count(0, embedding_bytes(&nodes->embedding, m->tokens));
    nodes_run(nodes, 0, 1, run->scratch, m, NULL);
    probe_enter(PROBE_OTHER);
    nodes_run(nodes, 1, head, run->scratch, m, NULL);
    if (nodes->decoder) {
        const struct tensor *matrix = &model_get_weights(nodes->model)->decoder.weight;
        probe_enter(PROBE_CLASSIFIER);
        probe_count(2.0 * (double)matrix->shape[0] * (double)matrix->shape[1] *
                        m->reads_starts[m->rows],
                    0);
    }
    nodes_run(nodes, head + 1, 1, run->scratch, m, NULL);
    probe_enter(PROBE_OTHER);
}

/* Both kinds of pass over one microbatch; keeps each where it is the best so far. */
static void microbatch_try(const struct budget_run *run, uint32_t index) {
    struct best *best = &run->best[index];
    struct probe probe;
    uint64_t start_ns = clock_now_ns();
    pass_run(run, run->microbatches[index]);
    const uint64_t pass_ns = clock_now_ns() - start_ns;
    best->pass_ns = pass_ns < best->pass_ns ? pass_ns : best->pass_ns;

    start_ns = clock_now_ns();
    probe_begin(&probe);
    pass_run(run, run->microbatches[index]);
    probe_end();
    const uint64_t probed_ns = clock_now_ns() - start_ns;
    if (probed_ns < best->probed_ns) {
        best->probed_ns = probed_ns;
        best->probe = probe;
    }
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* One short trial of each peak. */
static void peaks_try(const struct budget_run *run, struct budget *out) {
    const struct nodes *nodes = run->nodes;
    const struct kernels *kernels = kernels_best();
    const size_t block = (size_t)GEMM_ROWS_MAX * nodes->hidden_size * sizeof(float);
    const size_t update = block < run->room_bytes ? block : run->room_bytes;
    out->peak_f32_flops = larger(out->peak_f32_flops, peak_measure_flops(GEMM_F32));
    out->peak_flops = nodes->dtype == GEMM_F32
                          ? out->peak_f32_flops
                          : larger(out->peak_flops, peak_measure_flops(nodes->dtype));
    out->read_bytes_per_second =
        larger(out->read_bytes_per_second, peak_measure_read(kernels, run->room, run->room_bytes));
    out->cache_bytes_per_second =
        larger(out->cache_bytes_per_second, peak_measure_update(kernels, run->room, update));
}

static void passes_try(const struct budget_run *run, uint64_t duration_ns, struct budget *out) {
    const uint64_t end_ns = clock_now_ns() + duration_ns;
    for (uint32_t i = 0; i < run->count; i++)
        run->best[i] = (struct best){.pass_ns = UINT64_MAX, .probed_ns = UINT64_MAX};
    for (uint32_t round = 0; round < RUNS_MIN || clock_now_ns() < end_ns; round++) {
        peaks_try(run, out);
        pass_run(run, run->microbatches[0]); /* the caches are the pass's again */
        for (uint32_t i = 0; i < run->count; i++)
            microbatch_try(run, i);
    }
}

/* By enum probe_kind; the first stands for what is unaccounted. */
static const char *const names[PROBE_KINDS] = {
    [PROBE_OTHER] = "unaccounted",
    [PROBE_EMBEDDING] = "embedding",
    [PROBE_QKV] = "QKV product",
    [PROBE_ATTENTION_OUTPUT] = "attention output product",
    [PROBE_UP] = "feed-forward 1 product",
    [PROBE_DOWN] = "feed-forward 2 product",
    [PROBE_POOLER] = "pooler product",
    [PROBE_CLASSIFIER] = "classifier product",
    [PROBE_SCORES] = "attention scores",
    [PROBE_SOFTMAX] = "attention softmax",
    [PROBE_CONTEXT] = "attention context",
    [PROBE_ACTIVATION] = "GELU",
    [PROBE_NORM] = "layer norm",
    [PROBE_QUANTISE] = "quantisation",
    [PROBE_CONVERT] = "conversion to bf16",
};

static void part_name(const struct nodes *nodes, enum probe_kind kind, struct budget_part *part) {
    part->name = names[kind];
    const enum activation_function function = model_get_config(nodes->model)->activation;
    if (kind == PROBE_ACTIVATION && function != FUNCTION_GELU_ERF && function != FUNCTION_GELU_TANH)
        part->name = "activation function";
    if (nodes->decoder && kind == PROBE_POOLER)
        part->name = "transform product";
    if (nodes->decoder && kind == PROBE_CLASSIFIER)
        part->name = "decoder";
}

/* The floor of a part: the largest of what its work needs. */
static void part_bound(const struct budget_run *run, const struct budget *budget,
                       enum probe_kind kind, const struct probe_part *sum,
                       struct budget_part *part) {
    const bool narrow = kind >= PROBE_QKV && kind <= PROBE_DOWN;
    const double peak = narrow ? budget->peak_flops : budget->peak_f32_flops;
    const double weights = run->weights_bytes[kind] * run->count;
    const struct {
        double amount, rate;
        enum budget_bound bound;
    } needs[] = {
        {sum->flops, peak, BUDGET_ARITHMETIC},
        {weights, budget->read_bytes_per_second, BUDGET_WEIGHTS},
        {sum->bytes, budget->cache_bytes_per_second, BUDGET_CACHE},
    };
    for (uint32_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const double ns =
            needs[i].rate > 0 ? needs[i].amount / needs[i].rate * (double)NS_PER_S : 0;
        if (ns > part->least_ns) {
            part->least_ns = ns;
            part->bound = needs[i].bound;
        }
    }
}

/* Sums over the microbatches; the clock's own cost is taken out. */
static void budget_sum(const struct budget_run *run, struct budget *out) {
    struct probe_part sums[PROBE_KINDS] = {0};
    for (uint32_t i = 0; i < run->count; i++) {
        out->pass_ns += (double)run->best[i].pass_ns;
        for (uint32_t k = 0; k < PROBE_KINDS; k++) {
            const struct probe_part *part = &run->best[i].probe.parts[k];
            sums[k].ns += part->ns;
            sums[k].turns += part->turns;
            sums[k].flops += part->flops;
            sums[k].bytes += part->bytes;
        }
    }
    const double cost_ns = probe_measure_cost();
    double rest_ns = out->pass_ns;
    for (uint32_t k = PROBE_OTHER + 1; k < PROBE_KINDS; k++) {
        if (sums[k].turns == 0)
            continue;
        struct budget_part *part = &out->parts[out->parts_count++];
        *part = (struct budget_part){
            .ns = larger((double)sums[k].ns - cost_ns * (double)sums[k].turns, 0)};
        part_name(run->nodes, k, part);
        part_bound(run, out, k, &sums[k], part);
        rest_ns -= part->ns;
    }
    out->parts[out->parts_count++] =
        (struct budget_part){.name = names[PROBE_OTHER], .ns = rest_ns};
}

static enum status run_open(const struct model *model, const char *dtype, struct budget_run *run,
                            uint64_t *weights_bytes, struct error *err) {
    uint32_t tokens_max = 0;
    for (uint32_t i = 0; i < run->count; i++)
        if (run->microbatches[i]->tokens > tokens_max)
            tokens_max = run->microbatches[i]->tokens;
    enum status status = nodes_open_with(model, dtype, kernels_probed(), &run->nodes, err);
    if (status == STATUS_OK)
        status = nodes_pack(run->nodes, NULL, 0, err);
    if (status == STATUS_OK)
        status = nodes_scratch_open(run->nodes, tokens_max, MEMORY_NODE_ANY, &run->scratch, err);
    if (status != STATUS_OK)
        return status;
    watch_products(run);
    double bytes = 64.0 * 1024; /* of the smallest model, so that a trial lasts long enough */
    for (uint32_t k = 0; k < PROBE_KINDS; k++)
        bytes += run->weights_bytes[k];
    *weights_bytes = (uint64_t)bytes - 64 * 1024;
    run->room_bytes = (size_t)bytes / 64 * 64;
    run->room = aligned_alloc(64, run->room_bytes);
    run->best = calloc(run->count, sizeof *run->best);
    if (!run->room || !run->best)
        return error_set(err, STATUS_NO_MEMORY, "no memory to measure with");
    memset(run->room, 0, run->room_bytes);
    return STATUS_OK;
}

enum status nodes_measure_budget(const struct model *model, const char *dtype,
                                 struct microbatch *const *microbatches, uint32_t count,
                                 uint64_t duration_ns, struct budget *out, struct error *err) {
    struct budget_run run = {.microbatches = microbatches, .count = count};
    enum status status = run_open(model, dtype, &run, &out->weights_bytes, err);
    if (status == STATUS_OK) {
        passes_try(&run, duration_ns, out);
        out->peak_name = peak_name(run.nodes->dtype);
        budget_sum(&run, out);
    }
    free(run.best);
    free(run.room);
    nodes_scratch_close(run.nodes, run.scratch);
    nodes_close(run.nodes);
    return status;
}
