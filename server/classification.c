/* classification.c: ranks labels and writes one item of a classification answer. */
#include "server/classification.h"

#include <stdlib.h>

static int compare_labels(const void *a, const void *b) {
    const struct ranked_label *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static bool is_kept(const struct engine_info *info, const struct classification_cut *cut,
                    const struct ranked_label *label) {
    switch (cut->kind) {
    case THRESHOLD_VALUE:
        return !(label->score < cut->threshold);
    case THRESHOLD_MODEL: /* a comparison with NAN is false, so no own threshold keeps the label */
        return !info->thresholds || !(label->score < info->thresholds[label->index]);
    case THRESHOLD_NONE:
        break;
    }
    return true;
}

uint32_t classification_rank(const struct engine_info *info, const struct call_answer *answer,
                             const struct classification_cut *cut, struct ranked_label *ranked,
                             struct ranked_label *top) {
    uint32_t count = info->labels_count, kept = 0;
    for (uint32_t i = 0; i < count; i++)
        ranked[i] = (struct ranked_label){answer->scores[i], i};
    qsort(ranked, count, sizeof *ranked, compare_labels);
    *top = ranked[0];
    if (cut->top_k && cut->top_k < count)
        count = cut->top_k;
    for (uint32_t i = 0; i < count; i++)
        if (is_kept(info, cut, &ranked[i]))
            ranked[kept++] = ranked[i];
    return kept;
}

void classification_write(struct json_writer *json, const struct engine_info *info,
                          const struct call_answer *answer, const struct classification_cut *cut,
                          uint64_t index, struct ranked_label *ranked) {
    struct ranked_label top;
    uint32_t kept = classification_rank(info, answer, cut, ranked, &top);
    json_put_begin_object(json);
    json_put_key(json, "object");
    json_put_string(json, "classification");
    json_put_key(json, "index");
    json_put_unsigned(json, index);
    json_put_key(json, "label");
    json_put_string(json, info->labels[top.index]);
    json_put_key(json, "score");
    json_put_float(json, top.score);
    json_put_key(json, "predictions");
    json_put_begin_array(json);
    for (uint32_t i = 0; i < kept; i++) {
        json_put_begin_object(json);
        json_put_key(json, "label");
        json_put_string(json, info->labels[ranked[i].index]);
        json_put_key(json, "score");
        json_put_float(json, ranked[i].score);
        json_put_key(json, "index");
        json_put_unsigned(json, ranked[i].index);
        json_put_end_object(json);
    }
    json_put_end_array(json);
    json_put_key(json, "tokens");
    json_put_unsigned(json, answer->tokens);
    json_put_key(json, "truncated");
    json_put_bool(json, answer->truncated);
    json_put_end_object(json);
}
