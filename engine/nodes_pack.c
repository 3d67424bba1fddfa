/* nodes_pack.c: puts the packed weights of parts into the memory of the nodes that read them. */
#include "engine/nodes_internal.h"

static uint32_t part_get_linears(const struct nodes *nodes, uint32_t part,
                                 struct linear *out[ENCODER_LINEARS_MAX]) {
    const uint32_t thirds = nodes->layers_count * ENCODER_THIRDS;
    if (part == 0)
        return 0;
    if (part <= thirds)
        return encoder_layer_get_linears(&nodes->layers[(part - 1) / ENCODER_THIRDS],
                                         (enum encoder_third)((part - 1) % ENCODER_THIRDS), out);
    out[0] = nodes_head_get_linear(nodes, part - 1 - thirds);
    return out[0] != NULL;
}

enum status nodes_pack_part(struct nodes *nodes, uint32_t part, int node, struct error *err) {
    struct linear *linears[ENCODER_LINEARS_MAX];
    const uint32_t count = part_get_linears(nodes, part, linears);
    for (uint32_t i = 0; i < count; i++) {
        enum status status = linear_pack(linears[i], node, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* The pages of the checkpoint are not needed once all copies are made. */
static void part_drop_pages(const struct nodes *nodes, uint32_t part) {
    struct linear *linears[ENCODER_LINEARS_MAX];
    const uint32_t count = part_get_linears(nodes, part, linears);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sources_count;
        const struct linear_weights *const *sources =
            linear_get_sources(linears[i], &sources_count);
        for (uint32_t s = 0; s < sources_count; s++)
            model_drop_pages(nodes->model, &sources[s]->weight);
    }
}

static bool place_has(const struct parts_place *place, uint32_t part) {
    return part >= place->first_part && part - place->first_part < place->parts_count;
}

/* Whether what was packed for measuring is in no place's way: no memory can be bound. */
static bool places_are_anywhere(const struct parts_place *places, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (memory_node_usable(places[i].node) != MEMORY_NODE_ANY)
            return false;
    return true;
}

enum status nodes_pack(struct nodes *nodes, const struct parts_place *places, uint32_t count,
                       struct error *err) {
    const struct parts_place anywhere = {0, nodes->parts_count, MEMORY_NODE_ANY};
    if (count == 0) {
        places = &anywhere;
        count = 1;
    }
    if (!places_are_anywhere(places, count))
        linear_set_unpack(nodes->linears);
    for (uint32_t part = 0; part < nodes->parts_count; part++) {
        for (uint32_t i = 0; i < count; i++) {
            if (!place_has(&places[i], part))
                continue;
            enum status status =
                nodes_pack_part(nodes, part, memory_node_usable(places[i].node), err);
            if (status != STATUS_OK)
                return status;
        }
        part_drop_pages(nodes, part);
    }
    return STATUS_OK;
}

uint32_t nodes_get_copies(const struct nodes *nodes, uint64_t *bytes) {
    return linear_set_get_memories(nodes->linears, bytes);
}
