/* model_parts.h: the body of struct model, for model.c and report.c only. */
#ifndef BERTD_MODEL_MODEL_PARTS_H
#define BERTD_MODEL_MODEL_PARTS_H

#include "engine/base/arena.h"
#include "engine/model/binding.h"
#include "engine/model/checkpoint.h"
#include "engine/model/config.h"
#include "engine/model/model.h"

struct model {
    struct arena arena;
    const char *name, *revision;
    struct config config;
    struct checkpoint *checkpoint;
    struct model_weights weights;
    struct binding binding; /* used is NULL until the tensors were looked up */
};

/* Opens everything into `model`, as far as it goes; model_unload() is due also after a failure. */
enum status model_load(const char *dir, struct model *model, struct error *err);
void model_unload(struct model *model);

#endif
