/* unigram.c: the best path forward over the characters, then its pieces from front to back. */
#include "engine/text/unigram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/offset_trim.h"
#include "engine/text/utf8.h"
#include "engine/text/word_trie.h"

static const double UNKNOWN_PENALTY = 10;
static const uint32_t NO_PATH = UINT32_MAX;

/* The best path to the end of a character. */
struct unigram_node {
    double score;
    uint32_t start; /* character where the last piece starts; NO_PATH: no path ends here */
    int32_t id;     /* of that piece */
};

void unigram_init(struct unigram *unigram) {
    *unigram = (struct unigram){.score_min = INFINITY, .unknown_id = -1};
}

void unigram_free(struct unigram *unigram) {
    if (unigram != NULL) {
        free(unigram->scores);
        unigram_init(unigram);
    }
}

enum status unigram_add_score(struct unigram *unigram, double score) {
    if (unigram->count == unigram->capacity) {
        uint32_t capacity = unigram->capacity == 0 ? 1024 : unigram->capacity * 2;
        double *scores = reallocarray(unigram->scores, capacity, sizeof *scores);
        if (scores == NULL)
            return STATUS_NO_MEMORY;
        unigram->scores = scores;
        unigram->capacity = capacity;
    }
    unigram->scores[unigram->count++] = score;
    if (score < unigram->score_min)
        unigram->score_min = score;
    return STATUS_OK;
}

enum status unigram_finish(struct unigram *unigram, const struct trie *trie, int64_t unknown_id,
                           bool byte_fallback, struct error *err) {
    if (unknown_id >= (int64_t)unigram->count)
        return error_set(err, STATUS_BAD_FILE, "unk_id %lld is the id of no piece, there are %u",
                         (long long)unknown_id, unigram->count);
    unigram->trie = trie;
    unigram->unknown_id = (int32_t)unknown_id;
    unigram->byte_fallback = byte_fallback;
    trie_find_byte_tokens(trie, unigram->byte_ids);
    return STATUS_OK;
}

void unigram_scratch_free(struct unigram_scratch *scratch) {
    if (scratch != NULL) {
        free(scratch->nodes);
        *scratch = (struct unigram_scratch){NULL, 0};
    }
}

static enum status scratch_reserve(struct unigram_scratch *scratch, size_t count) {
    if (count <= scratch->capacity)
        return STATUS_OK;
    size_t capacity = count + count / 2 + 64;
    struct unigram_node *nodes = reallocarray(NULL, capacity, sizeof *nodes);
    if (nodes == NULL)
        return STATUS_NO_MEMORY;
    free(scratch->nodes);
    *scratch = (struct unigram_scratch){nodes, capacity};
    return STATUS_OK;
}

/* Whether a path of this score to the node is better than what it has; the first of equals stays.
 */
static bool improves(const struct unigram_node *node, double score) {
    return node->start == NO_PATH || score > node->score;
}

/* Takes all paths one piece further from character `at`. False: an unknown character, and there is
 * no unknown piece. */
static bool extend_paths(const struct unigram *unigram, struct unigram_node *nodes,
                         const struct normal_char *word, size_t count, size_t at) {
    const struct trie *trie = unigram->trie;
    double here = nodes[at].score;
    bool single = false; /* the character is a piece of its own */
    uint32_t node = trie->nodes_count == 0 ? TRIE_NONE : TRIE_ROOT;
    for (size_t i = at; i < count && node != TRIE_NONE; i++) {
        node = trie_step_code(trie, node, word[i].code);
        int32_t id = trie_value(trie, node);
        if (id < 0)
            continue;
        single = single || i == at;
        double score = unigram->scores[id] + here;
        if (improves(&nodes[i + 1], score))
            nodes[i + 1] = (struct unigram_node){score, (uint32_t)at, id};
    }
    double score = unigram->score_min - UNKNOWN_PENALTY + here;
    if (single || !improves(&nodes[at + 1], score))
        return true;
    nodes[at + 1] = (struct unigram_node){score, (uint32_t)at, unigram->unknown_id};
    return unigram->unknown_id >= 0;
}

/* Turns the links of the best path around: the node at a piece's end then has in `start` the end
 * of the next piece, 0 at the last. Returns the end of the first piece. */
static uint32_t path_forward(struct unigram_node *nodes, size_t count) {
    uint32_t following = 0;
    for (uint32_t at = (uint32_t)count; at > 0;) {
        uint32_t before = nodes[at].start;
        nodes[at].start = following;
        following = at;
        at = before;
    }
    return following;
}

/* Appends characters [start, end), which no piece has or which spell the unknown piece: together
 * they may still be a piece; else they are bytes or one unknown token. */
static enum status add_unknown(const struct unigram *unigram, const struct normal_char *word,
                               size_t start, size_t end, struct token_list *out) {
    bool all_bytes = unigram->byte_fallback;
    int32_t id = trie_find_word(unigram->trie, word + start, end - start);
    struct token token = {id >= 0 ? id : unigram->unknown_id, word[start].start, word[end - 1].end};
    size_t kept = out->count;
    for (size_t i = start; id < 0 && all_bytes && i < end; i++) {
        char bytes[UTF8_BYTES_MAX];
        size_t length = utf8_encode(word[i].code, bytes);
        for (size_t k = 0; all_bytes && k < length; k++) {
            token.id = unigram->byte_ids[(unsigned char)bytes[k]];
            all_bytes = token.id >= 0;
            if (all_bytes && token_list_add(out, token) != STATUS_OK)
                return STATUS_NO_MEMORY;
        }
    }
    if (id < 0 && all_bytes)
        return STATUS_OK;
    out->count = kept;
    token.id = id >= 0 ? id : unigram->unknown_id;
    return token_list_add_surface(out, token, offset_trim_count_chars(word + start, end - start));
}

enum status unigram_tokenize(const struct unigram *unigram, struct unigram_scratch *scratch,
                             const struct normal_char *word, size_t count, struct token_list *out,
                             struct error *err) {
    enum status status = scratch_reserve(scratch, count + 1);
    if (status != STATUS_OK)
        return status;
    struct unigram_node *nodes = scratch->nodes;
    nodes[0] = (struct unigram_node){0, 0, -1};
    for (size_t i = 1; i <= count; i++)
        nodes[i].start = NO_PATH;
    for (size_t at = 0; at < count; at++)
        if (!extend_paths(unigram, nodes, word, count, at))
            return error_set(err, STATUS_INVALID_VALUE,
                             "a character of the text is in no piece, "
                             "and the model has no unk_id");
    uint32_t start = 0, end = path_forward(nodes, count);
    while (status == STATUS_OK && end != 0) {
        uint32_t first = start;
        bool unknown = nodes[end].id == unigram->unknown_id;
        while (unknown && nodes[end].start != 0 && nodes[nodes[end].start].id == nodes[end].id)
            end = nodes[end].start;
        status = unknown ? add_unknown(unigram, word, first, end, out)
                         : token_list_add(out, (struct token){nodes[end].id, word[first].start,
                                                              word[end - 1].end});
        start = end;
        end = nodes[end].start;
    }
    return status;
}
