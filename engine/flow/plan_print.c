/* plan_print.c: the plan as a table and as JSON. Names of parts and stages need no escaping: they
 * are ours. */
#include "engine/flow/plan.h"

#include <stdio.h>
#include <stdlib.h>

enum { PARTS_TEXT_BYTES = 64 };

/* The virtual graph of a part. */
static uint32_t part_vg(const struct plan *plan, uint32_t part) {
    uint32_t stage = 0;
    while (part >= plan->stages[stage].first_part + plan->stages[stage].parts_count)
        stage++;
    return plan->stages[stage].vg;
}

/* "Embedding .. Encoder 2", or the one name. */
static void parts_describe(const struct plan *plan, const struct plan_stage *stage, char *out) {
    const char *first = plan->parts[stage->first_part].name;
    const char *last = plan->parts[stage->first_part + stage->parts_count - 1].name;
    if (stage->parts_count == 1)
        snprintf(out, PARTS_TEXT_BYTES, "%s", first);
    else
        snprintf(out, PARTS_TEXT_BYTES, "%s .. %s", first, last);
}

static const char *plural(uint32_t count) {
    return count == 1 ? "" : "s";
}

static void text_print(const struct plan *plan, FILE *out) {
    char parts[PARTS_TEXT_BYTES];
    for (uint32_t i = 0; i < plan->parts_count; i++)
        fprintf(out, "%s --> VG %u\n", plan->parts[i].name, part_vg(plan, i));
    fprintf(out, "\n%-9s %3s  %-26s %-8s %12s %7s\n", "stage", "VG", "parts", "CPUs", "weights",
            "work");
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        const struct plan_stage *stage = &plan->stages[i];
        parts_describe(plan, stage, parts);
        fprintf(out, "%-9s %3u  %-26s %-8s %9.2f MB %5.1f %%\n", stage->name, stage->vg, parts,
                plan->cpus, (double)stage->weights_bytes / 1e6, stage->share * 100);
    }
    fprintf(out, "%-9s %3s  %-26s %-8s %9.2f MB %5.1f %%\n\n", "all", "", "", "",
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
                "%s{\"name\":\"%s\",\"virtual_graph\":%u,\"weights_bytes\":%llu,\"work\":%.6f}",
                i > 0 ? "," : "", plan->parts[i].name, part_vg(plan, i),
                (unsigned long long)plan->parts[i].weights_bytes,
                whole > 0 ? plan->parts[i].cost / whole : 0.0);
    fprintf(out, "],\"threads\":[");
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        const struct plan_stage *stage = &plan->stages[i];
        fprintf(out, "%s{\"name\":\"%s\",\"virtual_graph\":%u,\"parts\":[", i > 0 ? "," : "",
                stage->name, stage->vg);
        for (uint32_t part = 0; part < stage->parts_count; part++)
            fprintf(out, "%s\"%s\"", part > 0 ? "," : "",
                    plan->parts[stage->first_part + part].name);
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
