/* nodes_run.c: runs parts of the model on a microbatch, in the working memory of one stage. */
#include <stdlib.h>

#include "engine/base/size.h"
#include "engine/nodes_internal.h"

struct scratch {
    struct encoder_scratch encoder;
    struct head_scratch head;
    float *memory; /* all float arrays of the encoder's in one piece */
};

/* A share has at most so many rows, so that a helper is soon free again. */
enum { SHARE_ROWS_MAX = 128 };

/* One member's way through the parts. The rounds are: the embedding; of each layer keys and values
 * of all rows, then the rest, row by row; each part of the head. */
struct pass {
    const struct nodes *nodes;
    struct microbatch *microbatch;
    struct encoder_scratch scratch; /* own, but for what all members share */
    struct team_seat *seat;         /* NULL: alone */
    uint32_t round;
    /* Of the layer that is run: */
    const struct encoder_layer *layer;
    struct encoder_batch batch;
    enum encoder_third first, last;
    /* Of the head: */
    const struct head_scratch *head;
    uint32_t head_part;
};

typedef void round_work(const struct pass *pass, uint32_t first, uint32_t count);

/* Shares are as even as can be; the larger ones are multiples of 4 rows, since products take rows
 * in blocks of powers of two. */
static uint32_t share_rows(uint32_t rows, uint32_t members) {
    uint32_t share = (rows + members - 1) / members;
    if (share > 16)
        share = (share + 3) / 4 * 4;
    return share < SHARE_ROWS_MAX ? share : SHARE_ROWS_MAX;
}

/* Has the members do `work` on all rows, `share` at a time. */
static void round_run(struct pass *pass, uint32_t rows, uint32_t share, round_work *work) {
    const uint32_t shares = share > 0 ? (rows + share - 1) / share : 0;
    uint32_t i;
    if (!pass->seat)
        work(pass, 0, rows);
    else if (shares > 0) {
        for (; team_claim(pass->seat, pass->round, shares, &i);
             team_done(pass->seat, pass->round, shares))
            work(pass, i * share, rows - i * share < share ? rows - i * share : share);
        pass->round++;
    }
}

static void round_run_shared(struct pass *pass, uint32_t rows, round_work *work) {
    const uint32_t members = pass->seat ? pass->seat->run->members : 1;
    round_run(pass, rows, share_rows(rows, members), work);
}

static void embed(const struct pass *pass, uint32_t first, uint32_t count) {
    const struct embedding *embedding = &pass->nodes->embedding;
    const struct microbatch *m = pass->microbatch;
    for (uint32_t b = first; b < first + count; b++) {
        const uint32_t start = m->starts[b], length = m->starts[b + 1] - start;
        embedding_run(embedding, m->ids + start, m->type_ids + start, length, pass->scratch.rows,
                      m->hidden + (size_t)start * embedding->width);
    }
}

static void project(const struct pass *pass, uint32_t first, uint32_t count) {
    encoder_layer_project(pass->layer, &pass->scratch, &pass->batch, first, count);
}

static void run_rows(const struct pass *pass, uint32_t first, uint32_t count) {
    encoder_layer_run(pass->layer, &pass->scratch, &pass->batch, pass->first, pass->last, first,
                      count);
}

/* The last layer computes nothing that the head does not read. */
static void run_layer(struct pass *pass, uint32_t index, enum encoder_third first,
                      enum encoder_third last) {
    const struct nodes *nodes = pass->nodes;
    const struct microbatch *m = pass->microbatch;
    const bool all = index + 1 < nodes->layers_count || nodes->all_rows;
    pass->layer = &nodes->layers[index];
    pass->first = first;
    pass->last = last;
    pass->batch = (struct encoder_batch){
        .starts = m->starts,
        .texts = m->rows,
        .reads = all ? NULL : m->reads,
        .reads_starts = all ? NULL : m->reads_starts,
        .hidden = m->hidden,
        .intermediate = m->intermediate,
    };
    if (first == ENCODER_ATTENTION)
        round_run_shared(pass, m->tokens, project);
    round_run_shared(pass, encoder_batch_wanted(&pass->batch), run_rows);
}

/* Works in place over all rows, so it is not shared out. */
static void run_head(const struct pass *pass, uint32_t first, uint32_t count) {
    (void)first;
    (void)count;
    nodes_head_run(pass->nodes, pass->head_part, &pass->scratch, pass->head, pass->microbatch);
}

void nodes_run(const void *context, uint32_t first_part, uint32_t parts_count, void *scratch,
               struct microbatch *microbatch, struct team_seat *seat) {
    const struct nodes *nodes = context;
    const struct scratch *own = scratch;
    const uint32_t thirds = nodes->layers_count * ENCODER_THIRDS, end = first_part + parts_count;
    const uint32_t texts = microbatch->rows;
    struct pass pass = {
        .nodes = nodes,
        .microbatch = microbatch,
        .scratch = own->encoder,
        .seat = seat,
        .head = &own->head,
    };
    if (seat) {
        const struct scratch *shared = seat->run->scratch;
        pass.scratch.qkv = shared->encoder.qkv;
        pass.scratch.context = shared->encoder.context;
    }
    for (uint32_t part = first_part; part < end; part++) {
        atomic_fetch_add_explicit(&microbatch->parts_done, 1, memory_order_relaxed);
        if (part == 0) {
            round_run_shared(&pass, texts, embed);
        } else if (part <= thirds) {
            const uint32_t layer = (part - 1) / ENCODER_THIRDS;
            const uint32_t layer_end = 1 + (layer + 1) * ENCODER_THIRDS;
            const uint32_t last = (layer_end < end ? layer_end : end) - 1;
            run_layer(&pass, layer, (part - 1) % ENCODER_THIRDS, (last - 1) % ENCODER_THIRDS);
            part = last;
        } else {
            pass.head_part = part - 1 - thirds;
            round_run(&pass, texts, texts, run_head);
        }
    }
}

uint32_t nodes_intermediate_width(const struct nodes *nodes) {
    return nodes->intermediate_size;
}

/* Adds [rows, columns] floats, rounded up to a cache line, to the total; false on overflow. */
static bool reserve(size_t *total, size_t rows, size_t columns, size_t *offset) {
    size_t count;
    *offset = *total;
    return size_multiply(rows, columns, &count) && size_add(count, 15, &count) &&
           size_add(*total, count & ~(size_t)15, total);
}

enum status nodes_scratch_open(const struct nodes *nodes, uint32_t tokens_max, int node, void **out,
                               struct error *err) {
    *out = NULL;
    const size_t H = nodes->hidden_size;
    size_t total = 0, qkv, context, up, rows, attention = 0, bytes, attention_floats = 0;
    if (nodes->layers_count > 0)
        attention_floats = attention_scratch_floats(&nodes->layers[0].attention, tokens_max);
    struct scratch *scratch = calloc(1, sizeof *scratch);
    if (!scratch || !reserve(&total, tokens_max, 3 * H, &qkv) ||
        !reserve(&total, tokens_max, H, &context) ||
        !reserve(&total, GEMM_ROWS_MAX, nodes->intermediate_size, &up) ||
        !reserve(&total, GEMM_ROWS_MAX, H, &rows) ||
        !reserve(&total, attention_floats, 1, &attention) ||
        !size_multiply(total, sizeof(float), &bytes) ||
        !(scratch->memory = aligned_alloc(64, bytes))) {
        free(scratch);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a stage of %u tokens", tokens_max);
    }
    memory_node_bind(scratch->memory, bytes, node);
    scratch->encoder = (struct encoder_scratch){
        .qkv = scratch->memory + qkv,
        .context = scratch->memory + context,
        .rows = scratch->memory + rows,
        .up = scratch->memory + up,
        .attention = scratch->memory + attention,
    };
    enum status status = linear_scratch_open(nodes->linears, memory_node_usable(node),
                                             &scratch->encoder.linear, err);
    if (status == STATUS_OK)
        status = nodes_head_scratch_open(nodes, &scratch->head, err);
    if (status == STATUS_OK)
        *out = scratch;
    else
        nodes_scratch_close(nodes, scratch);
    return status;
}

void nodes_scratch_close(const struct nodes *nodes, void *scratch) {
    (void)nodes;
    struct scratch *s = scratch;
    if (!s)
        return;
    nodes_head_scratch_close(&s->head);
    linear_scratch_close(s->encoder.linear);
    free(s->memory);
    free(s);
}
