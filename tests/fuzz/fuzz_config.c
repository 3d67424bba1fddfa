/* fuzz_config.c: any bytes as config.json. What is accepted must be within the limits. */
#include <stdlib.h>

#include "engine/base/limits.h"
#include "engine/model/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(const struct model_config *values) {
    if (values->attn_heads == 0 || values->hidden_size % values->attn_heads != 0 ||
        values->hidden_size > LIMIT_HIDDEN_SIZE || values->layers_count > LIMIT_LAYERS ||
        values->labels_count == 0 || values->labels_count > LIMIT_LABELS ||
        values->tokens_max > values->positions_max || !(values->norm_eps > 0))
        abort();
    for (uint32_t i = 0; i < values->labels_count; i++) {
        if (values->labels[i] == NULL)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct arena arena;
    struct config config;
    struct error err;
    arena_init(&arena, LIMIT_MODEL_ARENA_BYTES);
    if (config_parse((struct view){(const char *)data, bytes}, "fuzz", &arena, &config, &err) ==
        STATUS_OK)
        check(&config.values);
    arena_free(&arena);
    return 0;
}
