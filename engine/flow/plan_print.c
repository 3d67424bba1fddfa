/* plan_print.c: the plan as tables for people: each part's virtual graph, the stages, the graphs'
 * weights against the caches, the prediction and its reasons. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/flow/plan_internal.h"

enum { PART_TEXT_BYTES = 48, PARTS_TEXT_BYTES = 2 * PART_TEXT_BYTES + 8, CPUS_TEXT_BYTES = 128 };

static uint32_t part_stage(const struct plan *plan, uint32_t part) {
    uint32_t stage = 0;
    while (part >= plan->stages[stage].first_part + plan->stages[stage].parts_count)
        stage++;
    return stage;
}

uint32_t plan_part_vg(const struct plan *plan, uint32_t part) {
    return plan->stages[part_stage(plan, part)].vg;
}

/* Whether the layer of this part, if it is one, is in one stage; *count is the number of
 * parts from here on that belong together then. */
static bool part_is_whole(const struct plan *plan, uint32_t part, uint32_t *count) {
    const char *name = plan->parts[part].name;
    uint32_t first = part, end = part + 1;
    while (first > 0 && strcmp(plan->parts[first - 1].name, name) == 0)
        first--;
    while (end < plan->parts_count && strcmp(plan->parts[end].name, name) == 0)
        end++;
    *count = 1;
    if (part_stage(plan, first) != part_stage(plan, end - 1))
        return false;
    *count = end - part;
    return true;
}

/* "Embedding", "Encoder 2", or "Encoder 2 output" of a layer that is not whole there. */
static void part_describe(const struct plan *plan, uint32_t part, char *out) {
    uint32_t count;
    bool whole = part_is_whole(plan, part, &count);
    snprintf(out, PART_TEXT_BYTES, "%s%s%s", plan->parts[part].name, whole ? "" : " ",
             whole ? "" : plan->parts[part].third);
}

/* "Embedding .. Encoder 2", or the one name. */
static void parts_describe(const struct plan *plan, const struct plan_stage *stage, char *out) {
    char first[PART_TEXT_BYTES], last[PART_TEXT_BYTES];
    part_describe(plan, stage->first_part, first);
    part_describe(plan, stage->first_part + stage->parts_count - 1, last);
    if (strcmp(first, last) == 0)
        snprintf(out, PARTS_TEXT_BYTES, "%s", first);
    else
        snprintf(out, PARTS_TEXT_BYTES, "%s .. %s", first, last);
}

const char *plan_plural(uint32_t count) {
    return count == 1 ? "" : "s";
}

void plan_kind_describe(const struct plan *plan, char *out) {
    const uint32_t stages = plan->encoder_stages;
    int used = snprintf(out, PLAN_KIND_BYTES, "%u replica%s of ", plan->replicas,
                        plan_plural(plan->replicas));
    if (stages == 1)
        snprintf(out + used, PLAN_KIND_BYTES - (size_t)used, "one stage");
    else
        snprintf(out + used, PLAN_KIND_BYTES - (size_t)used, "%u stages and the head", stages);
}

static double megabytes(uint64_t bytes) {
    return (double)bytes / 1e6;
}

static double mebibytes(uint64_t bytes) {
    return (double)bytes / (1 << 20);
}

/* What is to be said of the matrix of a head over the vocabulary. */
static void matrix_print(const struct part *part, FILE *out) {
    if (part->shares_first)
        fprintf(out, " (shares the embedding's matrix");
    if (part->chunks > 0)
        fprintf(out, "%s %u chunk%s",
                part->shares_first ? ", reads it in" : " (reads its matrix in", part->chunks,
                plan_plural(part->chunks));
    if (part->shares_first || part->chunks > 0)
        fprintf(out, ")");
}

static void parts_print(const struct plan *plan, FILE *out) {
    char parts[PARTS_TEXT_BYTES];
    for (uint32_t i = 0, count; i < plan->parts_count; i += count) {
        part_describe(plan, i, parts);
        part_is_whole(plan, i, &count);
        fprintf(out, "%s --> VG %u", parts, plan_part_vg(plan, i));
        matrix_print(&plan->parts[i], out);
        fputc('\n', out);
    }
}

static void stages_print(const struct plan *plan, FILE *out) {
    char parts[PARTS_TEXT_BYTES], cpus[CPUS_TEXT_BYTES];
    fprintf(out, "\n%-9s %3s  %-44s %-8s %11s %11s %7s %7s\n", "stage", "VG", "parts", "CPUs",
            "weights", "us/token", "share", "busy");
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        const struct plan_stage *stage = &plan->stages[i];
        const struct plan_place *place = plan_get_place(plan, 0, stage->vg);
        parts_describe(plan, stage, parts);
        plan_cpus_describe(plan->cpus + place->first, place->count, cpus, sizeof cpus);
        fprintf(out, "%-9s %3u  %-44s %-8s %8.2f MB %11.3f %5.1f %% %5.1f %%\n", stage->name,
                stage->vg, parts, cpus, megabytes(stage->weights_bytes), stage->cost / 1e3,
                stage->share * 100, stage->busy * 100);
    }
    fprintf(out, "%-9s %3s  %-44s %-8s %8.2f MB %11.3f %5.1f %%\n\n", "all", "", "", "",
            megabytes(plan->weights_bytes), plan->cost / 1e3, 100.0);
}

/* The sets of a graph in all replicas, "0 | 1"; those that are one set once. */
static void places_print(const struct plan *plan, uint32_t vg, FILE *out) {
    enum { SHOWN_MAX = 8 };
    char cpus[CPUS_TEXT_BYTES];
    uint32_t shown = 0;
    for (uint32_t r = 0; r < plan->replicas; r++) {
        const struct plan_place *place = plan_get_place(plan, r, vg);
        uint32_t before = 0;
        while (plan_get_place(plan, before, vg)->first != place->first)
            before++;
        if (before < r)
            continue;
        if (shown++ == SHOWN_MAX)
            fprintf(out, " | ...");
        if (shown > SHOWN_MAX)
            continue;
        plan_cpus_describe(plan->cpus + place->first, place->count, cpus, sizeof cpus);
        fprintf(out, "%s%s", shown > 1 ? " | " : " ", cpus);
    }
}

static void graphs_print(const struct plan *plan, FILE *out) {
    const uint64_t l2 = plan->machine->l2_bytes, l3 = plan->machine->l3_bytes;
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++) {
        const uint64_t reads = plan_vg_reads(plan, vg), group = plan_l3_reads(plan, vg);
        fprintf(out, "VG %u on CPUs", vg);
        places_print(plan, vg, out);
        fprintf(out, ": a microbatch reads %.2f MB of its %.2f MB of weights", megabytes(reads),
                megabytes(plan_vg_weights(plan, vg)));
        if (l2 > 0)
            fprintf(out,
                    reads <= l2 ? ", which fit a core's own L2 of %.4g MiB"
                                : ", more than a core's own L2 of %.4g MiB",
                    mebibytes(l2));
        if (l3 > 0 && reads > l2)
            fprintf(out,
                    group <= l3
                        ? "; all that is read under its L3, %.2f MB, fits there (%.4g MiB)"
                        : "; all that is read under its L3, %.2f MB, is more than that (%.4g MiB)",
                    megabytes(group), mebibytes(l3));
        fputc('\n', out);
    }
    fputc('\n', out);
}

/* Its lines, each behind a dash. */
static void reason_print(const struct plan *plan, FILE *out) {
    for (const char *line = plan->reason; *line;) {
        const int bytes = (int)strcspn(line, "\n");
        fprintf(out, "- %.*s\n", bytes, line);
        line += bytes + (line[bytes] == '\n');
    }
}

/* The rate, and what it asks of the caches. */
static void rate_print(const struct plan *plan, FILE *out) {
    const double traffic = plan_weights_traffic(plan);
    const bool small = traffic < 1e8;
    fprintf(out, "predicted: %.0f tokens a second", plan->tokens_per_second);
    if (traffic > 0)
        fprintf(out, ", which read %.1f %s of weights a second from beyond the cores' own L2\n",
                traffic / (small ? 1e6 : 1e9), small ? "MB" : "GB");
    else
        fprintf(out, "; the weights that they read fit the cores' own L2\n");
    fprintf(out, "it assumes texts of %u tokens and cores that do nothing else",
            PLAN_COST_TEXT_TOKENS);
    if (plan->predicted_tokens != plan->microbatch_tokens)
        fprintf(out, ", in microbatches of %u tokens: smaller ones cost more a token",
                plan->predicted_tokens);
    fputc('\n', out);
}

static void prediction_print(const struct plan *plan, FILE *out) {
    char kind[PLAN_KIND_BYTES];
    if (plan->machine->imagined)
        fprintf(out, "for a machine that is not here, with the costs measured on this one\n");
    plan_kind_describe(plan, kind);
    fprintf(out, "%s, ", kind);
    if (plan->stage_threads > 1)
        fprintf(out, "%u threads each, ", plan->stage_threads);
    if (plan->stages_count > 1)
        fprintf(out, "%s, ", plan->max_in_flight > 1 ? "pipelined" : "one after the other");
    fprintf(out, "%u microbatch%s of %u token%s in flight in each\n", plan->max_in_flight,
            plan->max_in_flight == 1 ? "" : "es", plan->microbatch_tokens,
            plan_plural(plan->microbatch_tokens));
    if (plan->copies > 1)
        fprintf(out, "a set of weights on each of %u NUMA nodes\n", plan->copies);
    rate_print(plan, out);
    fprintf(out, "predicted bottleneck: VG %u with %.1f %% of the work\n", plan->bottleneck_vg,
            plan->bottleneck_share * 100);
    reason_print(plan, out);
}

static void text_print(const struct plan *plan, FILE *out) {
    parts_print(plan, out);
    stages_print(plan, out);
    graphs_print(plan, out);
    prediction_print(plan, out);
}

void plan_cpus_describe(const uint16_t *cpus, uint32_t count, char *out, size_t room) {
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0, last; i < count && used + 1 < room; i = last + 1) {
        last = i;
        while (last + 1 < count && cpus[last + 1] == cpus[last] + 1)
            last++;
        const char *comma = i > 0 ? "," : "";
        int n = last == i
                    ? snprintf(out + used, room - used, "%s%u", comma, cpus[i])
                    : snprintf(out + used, room - used, "%s%u-%u", comma, cpus[i], cpus[last]);
        used += n > 0 ? (size_t)n : 0;
    }
}

char *plan_print(const struct plan *plan, void (*body)(const struct plan *, FILE *)) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    body(plan, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

char *plan_to_text(const struct plan *plan) {
    return plan_print(plan, text_print);
}
