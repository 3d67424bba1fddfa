/* binding.c: names out of the tables, look-up, and the checks of shape and type. */
#include "engine/model/binding.h"

#include <stdio.h>
#include <string.h>

/* The work of one binding_open(); the first error stays. */
struct binder {
    const struct config *config;
    const struct checkpoint *checkpoint;
    struct arena *arena;
    struct binding *binding;
    struct error *err;
    enum status status;
};

struct tensor_name {
    char text[LIMIT_TENSOR_NAME_BYTES];
};

static struct tensor_name name_make(const char *prefix, const char *module, const char *field) {
    struct tensor_name name;
    snprintf(name.text, sizeof name.text, "%s%s.%s", prefix, module, field);
    return name;
}

static uint64_t size_get(const struct model_config *values, enum family_size size) {
    switch (size) {
    case SIZE_HIDDEN:
        return values->hidden_size;
    case SIZE_INTERMEDIATE:
        return values->intermediate_size;
    case SIZE_VOCAB:
        return values->vocab_size;
    case SIZE_POSITIONS:
        return values->positions_max;
    case SIZE_TYPES:
        return values->types_count;
    case SIZE_LABELS:
        return values->labels_count;
    }
    return 0;
}

/* True when this is the first fault, whose message stays. */
static bool binder_fail(struct binder *binder, enum status status) {
    bool first = binder->status == STATUS_OK;
    if (first)
        binder->status = status;
    return first;
}

static void note_missing(struct binder *binder, const char *name) {
    struct binding *binding = binder->binding;
    if (binder_fail(binder, STATUS_BAD_FILE))
        error_set(binder->err, STATUS_BAD_FILE, "%s: tensor \"%s\" is missing",
                  checkpoint_path(binder->checkpoint), name);
    if (binding->missing_count == binding->missing_capacity) {
        uint32_t capacity = binding->missing_capacity == 0 ? 64 : binding->missing_capacity * 2;
        const char **grown = arena_calloc(binder->arena, capacity, sizeof *grown);
        if (grown == NULL)
            return; /* the list is cut short; the error says the first one anyway */
        if (binding->missing_count > 0)
            memcpy(grown, binding->missing, binding->missing_count * sizeof *grown);
        binding->missing = grown;
        binding->missing_capacity = capacity;
    }
    const char *copy = arena_copy(binder->arena, view_of(name));
    if (copy != NULL)
        binding->missing[binding->missing_count++] = copy;
}

static void check_tensor(struct binder *binder, const struct tensor *tensor, const uint64_t *shape,
                         uint32_t rank) {
    const char *path = checkpoint_path(binder->checkpoint);
    if (tensor->rank != rank || memcmp(tensor->shape, shape, rank * sizeof *shape) != 0) {
        char found[TENSOR_SHAPE_TEXT_BYTES], wanted[TENSOR_SHAPE_TEXT_BYTES];
        tensor_shape_format(tensor->shape, tensor->rank, found);
        tensor_shape_format(shape, rank, wanted);
        if (binder_fail(binder, STATUS_BAD_FILE))
            error_set(binder->err, STATUS_BAD_FILE,
                      "%s: tensor \"%s\" has shape %s, but config.json asks for %s", path,
                      tensor->name, found, wanted);
    } else if (tensor->type != TENSOR_F32 && tensor->type != TENSOR_F16 &&
               tensor->type != TENSOR_BF16) {
        if (binder_fail(binder, STATUS_UNSUPPORTED))
            error_set(binder->err, STATUS_UNSUPPORTED,
                      "%s: tensor \"%s\" is %s, supported are F32, F16 and BF16", path,
                      tensor->name, tensor_type_name(tensor->type));
    }
}

/* Looks for `name`, then `old_name` (unless NULL), and puts the tensor at *target. */
static void bind_tensor(struct binder *binder, const char *name, const char *old_name,
                        const uint64_t *shape, uint32_t rank, struct tensor *target) {
    uint32_t count;
    const struct tensor *all = checkpoint_tensors(binder->checkpoint, &count);
    const struct tensor *tensor = checkpoint_find(binder->checkpoint, name);
    if (tensor == NULL && old_name != NULL)
        tensor = checkpoint_find(binder->checkpoint, old_name);
    if (tensor == NULL) {
        note_missing(binder, name);
        return;
    }
    binder->binding->used[tensor - all] = true;
    check_tensor(binder, tensor, shape, rank);
    *target = *tensor;
}

/* Binds modules whose offsets are in the struct at `owner`. */
static void bind_modules(struct binder *binder, const struct family_modules *list,
                         const char *prefix, void *owner) {
    for (uint32_t i = 0; i < list->count; i++) {
        const struct family_module *module = &list->modules[i];
        const char *start = module->outside ? "" : prefix;
        bool norm = module->kind == MODULE_NORM;
        uint64_t shape[2] = {size_get(&binder->config->values, module->out),
                             size_get(&binder->config->values, module->in)};
        void *target = (char *)owner + module->offset;
        struct tensor *weight, *bias = NULL;
        if (norm) {
            weight = &((struct norm_weights *)target)->weight;
            bias = &((struct norm_weights *)target)->bias;
        } else if (module->kind == MODULE_LINEAR) {
            weight = &((struct linear_weights *)target)->weight;
            bias = &((struct linear_weights *)target)->bias;
        } else {
            weight = target;
        }
        struct tensor_name old = name_make(start, module->name, "gamma");
        bind_tensor(binder, name_make(start, module->name, "weight").text, norm ? old.text : NULL,
                    shape, norm ? 1 : 2, weight);
        if (bias == NULL)
            continue;
        old = name_make(start, module->name, "beta");
        bind_tensor(binder, name_make(start, module->name, "bias").text, norm ? old.text : NULL,
                    shape, 1, bias);
    }
}

/* The word embeddings serve as the decoder's weight where it is tied to them and the checkpoint has
 * none of its own, or the same once more. */
static void bind_decoder(struct binder *binder, const struct family_decoder *decoder,
                         struct model_weights *weights) {
    const uint64_t shape[2] = {binder->config->values.vocab_size,
                               binder->config->values.hidden_size};
    const struct tensor *words = &weights->word_embeddings;
    struct linear_weights *out = &weights->decoder;
    if (!binder->config->values.tied ||
        checkpoint_find(binder->checkpoint, decoder->weight) != NULL)
        bind_tensor(binder, decoder->weight, NULL, shape, 2, &out->weight);
    else
        out->weight = *words;
    if (binder->status == STATUS_OK && out->weight.type == words->type &&
        memcmp(out->weight.data, words->data, words->bytes) == 0)
        out->weight = *words;
    /* From the last to the first, so that the first one there is the one that stays; all that are
     * there count as used, since transformers takes them for one. */
    for (uint32_t i = 2; i-- > 0;)
        if (checkpoint_find(binder->checkpoint, decoder->biases[i]) != NULL)
            bind_tensor(binder, decoder->biases[i], NULL, shape, 1, &out->bias);
    if (out->bias.name == NULL)
        note_missing(binder, decoder->biases[1]);
}

/* Whether the first module's weight is there under this prefix. */
static bool prefix_fits(const struct family *family, const struct checkpoint *checkpoint,
                        const char *prefix) {
    struct tensor_name name = name_make(prefix, family->embeddings.modules[0].name, "weight");
    return checkpoint_find(checkpoint, name.text) != NULL;
}

static const char *prefix_find(const struct family *family, const struct checkpoint *checkpoint) {
    if (prefix_fits(family, checkpoint, family->prefix) || !prefix_fits(family, checkpoint, ""))
        return family->prefix;
    return "";
}

static enum status reserve(const struct config *config, const struct checkpoint *checkpoint,
                           struct arena *arena, struct model_weights *weights,
                           struct binding *binding, struct error *err) {
    uint32_t tensors_count;
    checkpoint_tensors(checkpoint, &tensors_count);
    binding->used = arena_calloc(arena, (size_t)tensors_count + 1, sizeof *binding->used);
    weights->layers = arena_calloc(arena, config->values.layers_count, sizeof *weights->layers);
    if (binding->used == NULL || weights->layers == NULL)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory for %u layers",
                         checkpoint_path(checkpoint), config->values.layers_count);
    return STATUS_OK;
}

enum status binding_open(const struct config *config, const struct checkpoint *checkpoint,
                         struct arena *arena, struct model_weights *weights, struct binding *out,
                         struct error *err) {
    const struct family *family = config->family;
    *out = (struct binding){.prefix = prefix_find(family, checkpoint)};
    *weights = (struct model_weights){.pooler_function = config->head->pooler_function};
    enum status status = reserve(config, checkpoint, arena, weights, out, err);
    if (status != STATUS_OK)
        return status;
    struct binder binder = {config, checkpoint, arena, out, err, STATUS_OK};
    bind_modules(&binder, &family->embeddings, out->prefix, weights);
    for (uint32_t i = 0; i < config->values.layers_count; i++) {
        char prefix[LIMIT_TENSOR_NAME_BYTES];
        snprintf(prefix, sizeof prefix, "%s%s%u.", out->prefix, family->layer_prefix, i);
        bind_modules(&binder, &family->layer, prefix, &weights->layers[i]);
    }
    bind_modules(&binder, &config->head->modules, out->prefix, weights);
    if (config->head->decoder != NULL)
        bind_decoder(&binder, config->head->decoder, weights);
    return binder.status;
}

const struct family_head *binding_guess_head(const struct family *family,
                                             const struct checkpoint *checkpoint) {
    const char *prefix = prefix_find(family, checkpoint);
    for (uint32_t i = 0; i < family->heads_count; i++) {
        const struct family_modules *list = &family->heads[i].modules;
        bool all = true;
        for (uint32_t k = 0; k < list->count && all; k++) {
            const struct family_module *module = &list->modules[k];
            struct tensor_name name =
                name_make(module->outside ? "" : prefix, module->name, "weight");
            /* Norms go by two names; the other modules tell heads apart well enough. */
            all = module->kind == MODULE_NORM || checkpoint_find(checkpoint, name.text) != NULL;
        }
        if (all)
            return &family->heads[i];
    }
    return NULL;
}

const char *binding_ignored_reason(const struct family *family, const struct binding *binding,
                                   const char *name) {
    size_t bytes = strlen(binding->prefix);
    if (strncmp(name, binding->prefix, bytes) == 0)
        name += bytes;
    for (uint32_t i = 0; i < family->ignored_count; i++) {
        if (strncmp(name, family->ignored[i].start, strlen(family->ignored[i].start)) == 0)
            return family->ignored[i].reason;
    }
    return NULL;
}
