/* plan_wishes.c: reads the lists that were given by hand: layers, virtual graphs, CPU sets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/flow/plan_internal.h"

/* The number at *text, which is moved behind it. */
static bool number_take(const char **text, uint32_t max, uint32_t *out) {
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    unsigned long value = strtoul(*text, &end, 10);
    *text = end;
    *out = (uint32_t)value;
    return errno == 0 && value <= max;
}

/* An entry of the list of layers, "2", "2.3" or ".6", in thirds; *text is moved behind it. */
static bool thirds_take(const char **text, uint32_t *out) {
    const bool whole = number_take(text, LIMIT_LAYERS, out);
    if (!whole)
        *out = 0;
    *out *= PLAN_THIRDS;
    if (**text != '.')
        return whole;
    if ((*text)[1] != '3' && (*text)[1] != '6')
        return false;
    *out += (*text)[1] == '3' ? 1 : 2;
    *text += 2;
    return true;
}

/* One entry of the list in thirds of layers, moved past its comma; -1 stays -1. 0 is no entry. */
static enum status entry_take(const char **text, long *out, struct error *err) {
    const char *end = *text;
    uint32_t thirds = 0;
    const bool rest = strncmp(end, "-1", 2) == 0;
    if (rest)
        end += 2;
    if ((!rest && (!thirds_take(&end, &thirds) || thirds == 0)) || (*end != '\0' && *end != ','))
        return error_set(err, STATUS_INVALID_VALUE,
                         "--layers-per-stage: \"%s\" is not a list such as 2,2,-1 or 2.3,-1 "
                         "(layers, .3 and .6 for one and two thirds, one -1 for what is left)",
                         *text);
    *out = rest ? -1 : (long)thirds;
    *text = *end == ',' ? end + 1 : end;
    /* A comma at the very end opens an entry that is not there. */
    if (*end == ',' && end[1] == '\0')
        return error_set(err, STATUS_INVALID_VALUE, "--layers-per-stage: the list ends in a comma");
    return STATUS_OK;
}

/* "1 entry", "2 entries" */
enum { ENTRIES_BYTES = 24 };
static const char *entries_describe(uint32_t count, char *out) {
    snprintf(out, ENTRIES_BYTES, "%u %s", count, count == 1 ? "entry" : "entries");
    return out;
}

static enum status layers_read(const struct plan_wishes *wishes, struct plan_hand *hand,
                               struct error *err) {
    uint32_t count = 0, rest = UINT32_MAX;
    long all = (long)wishes->layers_count * PLAN_THIRDS, sum = 0, value = 0;
    const char *text = wishes->layers_per_stage;
    char entries[ENTRIES_BYTES];
    do {
        if (count == LIMIT_STAGES)
            return error_set(err, STATUS_INVALID_VALUE, "--layers-per-stage: more than %u stages",
                             LIMIT_STAGES);
        if (entry_take(&text, &value, err) != STATUS_OK)
            return STATUS_INVALID_VALUE;
        if (value == -1 && rest != UINT32_MAX)
            return error_set(err, STATUS_INVALID_VALUE,
                             "--layers-per-stage: \"%s\" has more than one -1",
                             wishes->layers_per_stage);
        if (value == -1)
            rest = count;
        else
            sum = value > all - sum ? all + 1 : sum + value;
        hand->thirds[count++] = value == -1 ? 0 : (uint32_t)value;
    } while (*text);
    if (hand->stages != 0 && hand->stages != count)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--layers-per-stage has %s; --stages %u needs %u",
                         entries_describe(count, entries), hand->stages, hand->stages);
    if (rest != UINT32_MAX && sum == all)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--layers-per-stage: \"%s\" leaves nothing of the model's %u layer%s for "
                         "the -1",
                         wishes->layers_per_stage, wishes->layers_count,
                         plan_plural(wishes->layers_count));
    if (sum > all || (rest == UINT32_MAX && sum < all))
        return error_set(err, STATUS_INVALID_VALUE,
                         "--layers-per-stage: \"%s\" adds up to %s than the model's %u layer%s",
                         wishes->layers_per_stage, sum > all ? "more" : "less",
                         wishes->layers_count, plan_plural(wishes->layers_count));
    if (rest != UINT32_MAX)
        hand->thirds[rest] = (uint32_t)(all - sum);
    hand->has_thirds = true;
    hand->stages = count;
    return STATUS_OK;
}

static enum status graphs_refuse(const struct plan_wishes *wishes, const char *why,
                                 struct error *err) {
    return error_set(err, STATUS_INVALID_VALUE,
                     "--virtual-graphs: \"%s\" %s (a number for each encoder stage and one for the "
                     "head, counted from 0 without a gap, such as 0,1,2,0)",
                     wishes->virtual_graphs, why);
}

/* The stages are already fixed, by the option or by the list of layers. */
static enum status graphs_count_check(const struct plan_wishes *wishes, uint32_t stages,
                                      uint32_t count, struct error *err) {
    char entries[ENTRIES_BYTES], given[ENTRIES_BYTES], by[64];
    if (count == stages + 1)
        return STATUS_OK;
    if (wishes->stages > 0)
        snprintf(by, sizeof by, "--stages %u", stages);
    else
        snprintf(by, sizeof by, "--layers-per-stage with %s", entries_describe(stages, given));
    return error_set(err, STATUS_INVALID_VALUE,
                     "--virtual-graphs has %s; %s needs %u (%u stage%s and the head)",
                     entries_describe(count, entries), by, stages + 1, stages, plan_plural(stages));
}

static enum status graphs_read(const struct plan_wishes *wishes, struct plan_hand *hand,
                               struct error *err) {
    const char *text = wishes->virtual_graphs;
    bool used[LIMIT_STAGES + 1] = {false};
    uint32_t count = 0, highest = 0;
    for (;; text++) {
        if (count == LIMIT_STAGES + 1)
            return graphs_refuse(wishes, "is too long", err);
        if (!number_take(&text, LIMIT_STAGES, &hand->vgs[count]) || (*text && *text != ','))
            return graphs_refuse(wishes, "is not a list of numbers", err);
        used[hand->vgs[count]] = true;
        highest = hand->vgs[count] > highest ? hand->vgs[count] : highest;
        count++;
        if (!*text)
            break;
    }
    if (hand->stages != 0 && graphs_count_check(wishes, hand->stages, count, err) != STATUS_OK)
        return STATUS_INVALID_VALUE;
    for (uint32_t vg = 0; vg <= highest; vg++)
        if (!used[vg])
            return graphs_refuse(wishes, "leaves a number out", err);
    if (hand->vgs[0] != 0)
        return graphs_refuse(wishes, "does not begin with 0, where the embedding is", err);
    if (count < 2)
        return graphs_refuse(wishes, "has no entry for the head", err);
    if (count == 2 && highest > 0)
        return graphs_refuse(wishes, "parts the head from the only encoder stage, which runs it",
                             err);
    hand->stages = count - 1;
    hand->vgs_count = highest + 1;
    return STATUS_OK;
}

static enum status pin_refuse(const struct plan_wishes *wishes, struct error *err) {
    return error_set(err, STATUS_INVALID_VALUE,
                     "--pin: \"%s\" is not a list of CPU sets such as 0-3;4-7 or 0,2;1,3",
                     wishes->pin);
}

/* Adds the CPUs first..last to the set that is being read. */
static enum status range_add(const struct plan_wishes *wishes, struct plan_hand *hand,
                             uint32_t first, uint32_t last, struct error *err) {
    const struct topology *machine = wishes->machine;
    struct plan_set *set = &hand->sets[hand->sets_count];
    for (uint32_t cpu = first; cpu <= last; cpu++) {
        uint32_t i = 0;
        while (i < machine->cpus_count && machine->cpus[i].cpu != cpu)
            i++;
        if (i == machine->cpus_count)
            return error_set(err, STATUS_INVALID_VALUE, "--pin: \"%s\" names CPU %u, which %s",
                             wishes->pin, cpu,
                             machine->imagined ? "the machine that is planned for does not have"
                                               : "this process may not use");
        for (uint32_t k = set->first; k < set->first + (uint32_t)set->count; k++)
            if (hand->cpus[k] == cpu)
                return error_set(err, STATUS_INVALID_VALUE,
                                 "--pin: \"%s\" names CPU %u twice in one set", wishes->pin, cpu);
        if (set->first + set->count == CPUS_MAX)
            return pin_refuse(wishes, err);
        hand->cpus[set->first + set->count++] = (uint16_t)cpu;
    }
    return STATUS_OK;
}

/* A set that was named before takes the place of the new one; what only overlaps is refused,
 * since nobody could say what either can do. */
static enum status set_end(const struct plan_wishes *wishes, struct plan_hand *hand,
                           struct error *err) {
    struct plan_set *set = &hand->sets[hand->sets_count];
    for (uint32_t s = 0; s < hand->sets_count; s++) {
        const struct plan_set *other = &hand->sets[s];
        uint32_t common = 0;
        for (uint32_t i = 0; i < other->count; i++)
            for (uint32_t k = 0; k < set->count; k++)
                common += hand->cpus[other->first + i] == hand->cpus[set->first + k];
        if (common > 0 && (common != set->count || common != other->count))
            return error_set(err, STATUS_INVALID_VALUE,
                             "--pin: \"%s\" has sets that overlap: they must be equal or have no "
                             "CPU in common",
                             wishes->pin);
        if (common > 0) {
            *set = *other;
            break;
        }
    }
    if (set->first == hand->cpus_count)
        hand->cpus_count += set->count;
    hand->sets_count++;
    return STATUS_OK;
}

static enum status pin_read(const struct plan_wishes *wishes, struct plan_hand *hand,
                            struct error *err) {
    const char *text = wishes->pin;
    uint32_t first, last;
    hand->sets[0] = (struct plan_set){0};
    for (;; text++) {
        if (!number_take(&text, CPUS_MAX - 1, &first))
            return pin_refuse(wishes, err);
        last = first;
        if (*text == '-') {
            text++;
            if (!number_take(&text, CPUS_MAX - 1, &last) || last < first)
                return pin_refuse(wishes, err);
        }
        if (range_add(wishes, hand, first, last, err) != STATUS_OK)
            return STATUS_INVALID_VALUE;
        if (*text == ',')
            continue;
        if (*text && *text != ';')
            return pin_refuse(wishes, err);
        if (set_end(wishes, hand, err) != STATUS_OK)
            return STATUS_INVALID_VALUE;
        if (!*text)
            return STATUS_OK;
        if (hand->sets_count == sizeof hand->sets / sizeof hand->sets[0])
            return pin_refuse(wishes, err);
        hand->sets[hand->sets_count] = (struct plan_set){.first = (uint16_t)hand->cpus_count};
    }
}

static enum status count_check(const char *what, uint32_t wished, uint32_t most,
                               struct error *err) {
    if (wished > most)
        return error_set(err, STATUS_INVALID_VALUE, "--%s %u: 1 to %u are allowed", what, wished,
                         most);
    return STATUS_OK;
}

static enum status counts_check(const struct plan_wishes *wishes, struct error *err) {
    const uint32_t thirds = wishes->layers_count * PLAN_THIRDS;
    const uint32_t most = thirds < LIMIT_STAGES ? thirds : LIMIT_STAGES;
    if (wishes->stages > most)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--stages %u: the model has %u layer%s of three thirds, 1 to %u are "
                         "allowed",
                         wishes->stages, wishes->layers_count, plan_plural(wishes->layers_count),
                         most);
    if (wishes->no_pipelining && wishes->max_in_flight > 1)
        return error_set(err, STATUS_INVALID_VALUE,
                         "--max-in-flight %u: without pipelining there is one",
                         wishes->max_in_flight);
    enum status status = count_check("replicas", wishes->replicas, LIMIT_REPLICAS, err);
    if (status == STATUS_OK)
        status = count_check("stage-threads", wishes->stage_threads, LIMIT_STAGE_THREADS, err);
    if (status == STATUS_OK)
        status =
            count_check("max-in-flight", wishes->max_in_flight, LIMIT_MICROBATCHES_IN_FLIGHT, err);
    if (status == STATUS_OK)
        status = count_check("microbatch-tokens", wishes->microbatch_tokens,
                             LIMIT_MICROBATCH_TOKENS, err);
    return status;
}

enum status plan_hand_read(const struct plan_wishes *wishes, struct plan_hand *out,
                           struct error *err) {
    enum status status = counts_check(wishes, err);
    out->stages = wishes->stages;
    if (status == STATUS_OK && wishes->layers_per_stage)
        status = layers_read(wishes, out, err);
    if (status == STATUS_OK && wishes->virtual_graphs)
        status = graphs_read(wishes, out, err);
    if (status == STATUS_OK && out->stages > wishes->layers_count * PLAN_THIRDS)
        status = error_set(err, STATUS_INVALID_VALUE,
                           "--virtual-graphs: \"%s\" has more stages than the model has thirds of "
                           "layers",
                           wishes->virtual_graphs);
    if (status == STATUS_OK && wishes->pin)
        status = pin_read(wishes, out, err);
    return status;
}
