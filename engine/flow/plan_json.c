/* plan_json.c: the plan as one line of JSON. Strings need no escaping: the names of parts and
 * stages are ours, and what people wrote is not repeated. */
#include <stdio.h>

#include "engine/flow/plan_internal.h"

enum { CPUS_TEXT_BYTES = 4 * CPUS_MAX };

/* {"key":"0-3", without the brace. */
static void cpus_print(const struct plan *plan, const char *key, const struct plan_place *place,
                       FILE *out) {
    char text[CPUS_TEXT_BYTES];
    plan_cpus_describe(plan->cpus + place->first, place->count, text, sizeof text);
    fprintf(out, "%s\"%s\"", key, text);
}

static void part_name_print(const struct part *part, FILE *out) {
    fprintf(out, "\"%s%s%s\"", part->name, part->third ? " " : "", part->third ? part->third : "");
}

static void parts_print(const struct plan *plan, FILE *out) {
    fprintf(out, ",\"parts\":[");
    for (uint32_t i = 0; i < plan->parts_count; i++) {
        const struct part *part = &plan->parts[i];
        fprintf(out, "%s{\"name\":", i > 0 ? "," : "");
        part_name_print(part, out);
        fprintf(out,
                ",\"virtual_graph\":%u,\"weights_bytes\":%llu,\"shared\":%s,\"cost_ns\":%.3f,"
                "\"work\":%.6f",
                plan_part_vg(plan, i), (unsigned long long)part->weights_bytes,
                part->shares_first ? "true" : "false", part->cost,
                plan->cost > 0 ? part->cost / plan->cost : 0.0);
        if (part->chunks > 0)
            fprintf(out, ",\"chunks\":%u", part->chunks);
        fprintf(out, "}");
    }
    fprintf(out, "]");
}

static void stages_print(const struct plan *plan, FILE *out) {
    fprintf(out, ",\"threads\":[");
    for (uint32_t i = 0; i < plan->stages_count; i++) {
        const struct plan_stage *stage = &plan->stages[i];
        fprintf(out, "%s{\"name\":\"%s\",\"virtual_graph\":%u,\"parts\":[", i > 0 ? "," : "",
                stage->name, stage->vg);
        for (uint32_t p = 0; p < stage->parts_count; p++) {
            fprintf(out, "%s", p > 0 ? "," : "");
            part_name_print(&plan->parts[stage->first_part + p], out);
        }
        cpus_print(plan, "],\"cpus\":", plan_get_place(plan, 0, stage->vg), out);
        fprintf(out,
                ",\"weights_bytes\":%llu,\"cost_ns\":%.3f,\"service_ns\":%.3f,\"work\":%.6f,"
                "\"busy\":%.4f}",
                (unsigned long long)stage->weights_bytes, stage->cost, stage->service_ns,
                stage->share, stage->busy);
    }
    fprintf(out, "]");
}

static void graphs_print(const struct plan *plan, FILE *out) {
    fprintf(out, ",\"graphs\":[");
    for (uint32_t vg = 0; vg < plan->vgs_count; vg++) {
        const uint64_t reads = plan_vg_reads(plan, vg);
        fprintf(out,
                "%s{\"virtual_graph\":%u,\"weights_bytes\":%llu,\"read_bytes\":%llu,"
                "\"fits_l2\":%s,\"fits_l3\":%s",
                vg > 0 ? "," : "", vg, (unsigned long long)plan_vg_weights(plan, vg),
                (unsigned long long)reads, reads <= plan->machine->l2_bytes ? "true" : "false",
                plan_l3_reads(plan, vg) <= plan->machine->l3_bytes ? "true" : "false");
        fprintf(out, ",\"replicas\":[");
        for (uint32_t r = 0; r < plan->replicas; r++) {
            const struct plan_place *place = plan_get_place(plan, r, vg);
            cpus_print(plan, r > 0 ? ",{\"cpus\":" : "{\"cpus\":", place, out);
            fprintf(out, ",\"cores\":%u,\"node\":%d}", place->cores, place->node);
        }
        fprintf(out, "]}");
    }
    fprintf(out, "]");
}

static void machine_print(const struct plan *plan, FILE *out) {
    const struct topology *machine = plan->machine;
    fprintf(out,
            ",\"machine\":{\"imagined\":%s,\"cores\":%u,\"cpus\":%u,\"l2_bytes\":%llu,"
            "\"l3_bytes\":%llu}",
            machine->imagined ? "true" : "false", machine->cores, machine->cpus_count,
            (unsigned long long)machine->l2_bytes, (unsigned long long)machine->l3_bytes);
}

/* The reason's lines as one string. */
static void reason_print(const struct plan *plan, FILE *out) {
    fprintf(out, ",\"reason\":\"");
    for (const char *at = plan->reason; *at; at++)
        fputs(*at == '\n' ? "; " : (const char[]){*at, '\0'}, out);
    fprintf(out, "\"");
}

static void json_print(const struct plan *plan, FILE *out) {
    fprintf(out,
            "{\"stages\":%u,\"virtual_graphs\":%u,\"replicas\":%u,\"stage_threads\":%u,"
            "\"pipelining\":%s,\"max_in_flight\":%u,\"microbatch_tokens\":%u,\"pinned\":%s,"
            "\"cores\":%u,"
            "\"weights_bytes\":%llu,\"weights_copies\":%u",
            plan->encoder_stages, plan->vgs_count, plan->replicas, plan->stage_threads,
            plan->max_in_flight > 1 ? "true" : "false", plan->max_in_flight,
            plan->microbatch_tokens, plan->pinned ? "true" : "false", plan->machine->cores,
            (unsigned long long)plan->weights_bytes, plan->copies);
    machine_print(plan, out);
    parts_print(plan, out);
    stages_print(plan, out);
    graphs_print(plan, out);
    fprintf(out,
            ",\"predicted\":{\"tokens_per_second\":%.1f,\"microbatch_tokens\":%u,"
            "\"weights_bytes_per_second\":%.0f}",
            plan->tokens_per_second, plan->predicted_tokens, plan_weights_traffic(plan));
    fprintf(out, ",\"bottleneck\":{\"virtual_graph\":%u,\"work\":%.6f}", plan->bottleneck_vg,
            plan->bottleneck_share);
    reason_print(plan, out);
    fprintf(out, "}");
}

char *plan_to_json(const struct plan *plan) {
    return plan_print(plan, json_print);
}
