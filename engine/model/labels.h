/* labels.h: the names of a head's outputs, and their own thresholds. */
#ifndef BERTD_MODEL_LABELS_H
#define BERTD_MODEL_LABELS_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/model/model.h"
#include "engine/model/model_json.h"

/* Sets labels and labels_count from id2label (keys in any order), else from label2id, else
 * num_labels names LABEL_0, LABEL_1, … (two without it, as transformers does). Where both stand,
 * id2label counts. Errors: BAD_FILE, NO_MEMORY. */
enum status labels_read(const struct model_json *file, struct arena *arena,
                        struct model_config *config, struct error *err);

/* Sets thresholds from thresholds.json, {"label": number, …}: numbers are scores from 0 to 1, or
 * anything for regression. A label that the model has not is refused. Errors: BAD_FILE, NO_MEMORY.
 */
enum status labels_read_thresholds(const struct model_json *file, struct arena *arena,
                                   struct model_config *config, struct error *err);

#endif
