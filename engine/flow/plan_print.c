/* plan_print.c: the plan as a table and as JSON. Names of parts and stages need no escaping: they
 * are ours. */
#include "engine/flow/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_TEXT_BYTES = 48, PARTS_TEXT_BYTES = 2 * PART_TEXT_BYTES + 8 };

/* The virtual graph of a part. */
static uint32_t part_vg(const struct plan *plan, uint32_t part) {
    uint32_t stage = 0;
    while (part >= plan->stages[stage].first_part + plan->stages[stage].parts_count)
        stage++;
    return plan->stages[stage].vg;
}

/* Whether the layer of this part, if it is one, is in one virtual graph; *count is the number of
 * parts from here on that belong together then. */
static bool part_is_whole(const struct plan *plan, uint32_t part, uint32_t *count) {
    const char *name = plan->parts[part].name;
    uint32_t first = part, end = part + 1;
    while (first > 0 && strcmp(plan->parts[first - 1].name, name) == 0)
        first--;
    while (end < plan->parts_count && strcmp(plan->parts[end].name, name) == 0)
        end++;
    *count = 1;
    if (part_vg(plan, first) != part_vg(plan, end - 1))
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

static const char *plural(uint32_t count) {
    return count == 1 ? "" : "s";
}

static void text_print(const struct plan *plan, FILE *out) {
    char parts[PARTS_TEXT_BYTES];
    for (uint32_t i = 0, count; i < plan->parts_count; i += count) {
        part_describe(plan, i, parts);
        part_is_whole(plan, i, &count);
        fprintf(out, "%s --> VG %u\n", parts, part_vg(plan, i));
    }
    fprintf(out, "\n%-9s %3s  %-46s %-8s %12s %7s\n", "stage", "VG", "parts", "CPUs", "weights",
            "work");
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        const struct plan_stage *stage = &plan->stages[i];
        parts_describe(plan, stage, parts);
        fprintf(out, "%-9s %3u  %-46s %-8s %9.2f MB %5.1f %%\n", stage->name, stage->vg, parts,
                plan->cpus, (double)stage->weights_bytes / 1e6, stage->share * 100);
    }
    fprintf(out, "%-9s %3s  %-46s %-8s %9.2f MB %5.1f %%\n\n", "all", "", "", "",
            (double)plan->weights_bytes / 1e6, 100.0);
    fprintf(out, "%u replica%s of %u thread%s, %s, %u microbatch%s in flight in each\n",
            plan->replicas, plural(plan->replicas), plan->stages_count, plural(plan->stages_count),
            plan->pipelining ? "pipelined" : "one microbatch after the other", plan->max_in_flight,
            plan->max_in_flight == 1 ? "" : "es");
    fprintf(out, "predicted bottleneck: VG %u with %.1f %% of the work\n", plan->bottleneck_vg,
            plan->bottleneck_share * 100);
    fprintf(out, "%s\n", plan->reason);
}

static void json_print(const struct plan *plan, FILE *out) {
    double whole = 0;
    for (uint32_t i = 0; i < plan->parts_count; i++)
        whole += plan->parts[i].cost;
    fprintf(out,
            "{\"stages\":%u,\"virtual_graphs\":%u,\"replicas\":%u,\"pipelining\":%s,"
            "\"max_in_flight\":%u,\"cores\":%u,\"cpus\":\"%s\",\"reason\":\"%s\","
            "\"weights_bytes\":%llu,\"parts\":[",
            plan->vgs_count, plan->vgs_count, plan->replicas, plan->pipelining ? "true" : "false",
            plan->max_in_flight, plan->cores, plan->cpus, plan->reason,
            (unsigned long long)plan->weights_bytes);
    for (uint32_t i = 0; i < plan->parts_count; i++)
        fprintf(out,
                "%s{\"name\":\"%s%s%s\",\"virtual_graph\":%u,\"weights_bytes\":%llu,"
                "\"work\":%.6f}",
                i > 0 ? "," : "", plan->parts[i].name, plan->parts[i].third ? " " : "",
                plan->parts[i].third ? plan->parts[i].third : "", part_vg(plan, i),
                (unsigned long long)plan->parts[i].weights_bytes,
                whole > 0 ? plan->parts[i].cost / whole : 0.0);
    fprintf(out, "],\"threads\":[");
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        const struct plan_stage *stage = &plan->stages[i];
        fprintf(out, "%s{\"name\":\"%s\",\"virtual_graph\":%u,\"parts\":[", i > 0 ? "," : "",
                stage->name, stage->vg);
        for (uint32_t p = stage->first_part; p < stage->first_part + stage->parts_count; p++)
            fprintf(out, "%s\"%s%s%s\"", p > stage->first_part ? "," : "", plan->parts[p].name,
                    plan->parts[p].third ? " " : "",
                    plan->parts[p].third ? plan->parts[p].third : "");
        fprintf(out, "],\"cpus\":\"%s\",\"weights_bytes\":%llu,\"work\":%.6f}", plan->cpus,
                (unsigned long long)stage->weights_bytes, stage->share);
    }
    fprintf(out, "],\"bottleneck\":{\"virtual_graph\":%u,\"work\":%.6f}}", plan->bottleneck_vg,
            plan->bottleneck_share);
}

static char *print(const struct plan *plan, void (*body)(const struct plan *, FILE *)) {
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
    return print(plan, text_print);
}

char *plan_to_json(const struct plan *plan) {
    return print(plan, json_print);
}
