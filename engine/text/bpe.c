/* bpe.c: symbols in a linked list, pairs in a heap by rank and place; see bpe.h.
 *
 * A pair in the heap may be out of date when its turn comes. As in the pinned library it then still
 * counts if the two symbols that now stand there become the same token; else it is dropped. */
#include "engine/text/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/size.h"
#include "engine/text/utf8.h"
#include "engine/text/word_trie.h"

static const uint64_t NO_PAIR = UINT64_MAX;
static const uint32_t NO_SYMBOL = UINT32_MAX;

struct bpe_merge {
    uint64_t pair; /* left id << 32 | right id; NO_PAIR: the slot is empty */
    uint32_t rank;
    int32_t id; /* what the pair becomes */
};

/* `bytes` is the length in the word; 0: merged into the symbol before. */
struct bpe_symbol {
    int32_t id;
    uint32_t bytes;
    uint32_t previous, next; /* places of the neighbours, or NO_SYMBOL */
};

/* ---- the merges ---- */

static uint64_t pair_of(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The slot of the pair, or the empty one where it would go. */
static struct bpe_merge *merge_slot(const struct bpe *bpe, uint64_t pair) {
    uint64_t slot = (pair * 0x9E3779B97F4A7C15u >> 20) & bpe->merges_mask;
    while (bpe->merges[slot].pair != pair && bpe->merges[slot].pair != NO_PAIR)
        slot = (slot + 1) & bpe->merges_mask;
    return &bpe->merges[slot];
}

enum status bpe_init(struct bpe *bpe, const struct trie *trie, const struct bpe_settings *settings,
                     size_t merges_max, struct error *err) {
    memset(bpe, 0, sizeof *bpe);
    if (settings->byte_fallback && settings->prefix.bytes + settings->suffix.bytes > 0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "byte_fallback together with continuing_subword_prefix or "
                         "end_of_word_suffix is not supported");
    if (merges_max > UINT32_MAX / 4)
        return error_set(err, STATUS_UNSUPPORTED, "%zu merges are too many", merges_max);
    *bpe = (struct bpe){
        .trie = trie,
        .merges_max = (uint32_t)merges_max,
        .first_node = trie_walk(trie, TRIE_ROOT, view_of("")),
        .continuing_node = trie_walk(trie, TRIE_ROOT, settings->prefix),
        .prefix_bytes = settings->prefix.bytes,
        .suffix_bytes = settings->suffix.bytes,
        .has_unknown = settings->unknown.data != NULL,
        .unknown_id = settings->unknown.data == NULL ? -1 : trie_find(trie, settings->unknown),
        .fuse_unknown = settings->fuse_unknown,
        .byte_fallback = settings->byte_fallback,
        .ignore_merges = settings->ignore_merges};
    trie_find_byte_tokens(trie, bpe->byte_ids);
    size_t slots = 2;
    while (slots < 2 * merges_max)
        slots *= 2;
    bpe->merges_mask = slots - 1;
    bpe->merges = reallocarray(NULL, slots, sizeof *bpe->merges);
    bpe->merged_ids = reallocarray(NULL, merges_max + 1, sizeof *bpe->merged_ids);
    bpe->suffix = malloc(settings->suffix.bytes + 1);
    if (bpe->merges == NULL || bpe->merged_ids == NULL || bpe->suffix == NULL) {
        bpe_free(bpe);
        return error_set(err, STATUS_NO_MEMORY, "no memory for %zu merges", merges_max);
    }
    for (size_t i = 0; i < slots; i++)
        bpe->merges[i].pair = NO_PAIR;
    if (settings->suffix.bytes > 0)
        memcpy(bpe->suffix, settings->suffix.data, settings->suffix.bytes);
    return STATUS_OK;
}

void bpe_free(struct bpe *bpe) {
    if (bpe != NULL) {
        free(bpe->merges);
        free(bpe->merged_ids);
        free(bpe->suffix);
        memset(bpe, 0, sizeof *bpe);
    }
}

enum status bpe_add_merge(struct bpe *bpe, struct view left, struct view right, struct error *err) {
    if (bpe->merges_count == bpe->merges_max)
        return error_set(err, STATUS_INTERNAL, "more merges than were announced");
    const struct view parts[] = {left, right};
    int32_t ids[2];
    for (int i = 0; i < 2; i++) {
        ids[i] = trie_find(bpe->trie, parts[i]);
        if (ids[i] < 0)
            return error_set(err, STATUS_BAD_FILE, "merge %u: \"%.*s\" is not in the vocabulary",
                             bpe->merges_count, view_shown(parts[i]), parts[i].data);
    }
    if (right.bytes < bpe->prefix_bytes)
        return error_set(err, STATUS_BAD_FILE,
                         "merge %u: \"%.*s\" is shorter than continuing_subword_prefix",
                         bpe->merges_count, view_shown(right), right.data);
    struct view rest = {right.data + bpe->prefix_bytes, right.bytes - bpe->prefix_bytes};
    uint32_t node = trie_walk(bpe->trie, trie_walk(bpe->trie, TRIE_ROOT, left), rest);
    int32_t id = trie_value(bpe->trie, node);
    if (id < 0)
        return error_set(err, STATUS_BAD_FILE, "merge %u: \"%.*s%.*s\" is not in the vocabulary",
                         bpe->merges_count, view_shown(left), left.data, view_shown(rest),
                         rest.data);
    uint64_t pair = pair_of(ids[0], ids[1]);
    *merge_slot(bpe, pair) = (struct bpe_merge){pair, bpe->merges_count, id};
    bpe->merged_ids[bpe->merges_count++] = id;
    return STATUS_OK;
}

enum status bpe_add_merge_line(struct bpe *bpe, struct view line, struct error *err) {
    const char *blank = line.bytes == 0 ? NULL : memchr(line.data, ' ', line.bytes);
    size_t left = blank == NULL ? 0 : (size_t)(blank - line.data);
    if (blank == NULL || memchr(blank + 1, ' ', line.bytes - left - 1) != NULL)
        return error_set(err, STATUS_BAD_FILE,
                         "merge %u: \"%.*s\" is not two parts with one blank between",
                         bpe->merges_count, view_shown(line), line.bytes == 0 ? "" : line.data);
    return bpe_add_merge(bpe, (struct view){line.data, left},
                         (struct view){blank + 1, line.bytes - left - 1}, err);
}

/* ---- a word ---- */

void bpe_scratch_free(struct bpe_scratch *scratch) {
    if (scratch != NULL) {
        free(scratch->symbols);
        free(scratch->heap);
        memset(scratch, 0, sizeof *scratch);
    }
}

/* Makes room for `count` symbols: each merge takes one pair out of the heap and puts at most two
 * in, so that twice as many pairs as symbols are the most. */
static enum status scratch_reserve(struct bpe_scratch *scratch, size_t count) {
    if (count <= scratch->symbols_capacity)
        return STATUS_OK;
    size_t capacity = count + count / 2 + 64;
    struct bpe_symbol *symbols = reallocarray(NULL, capacity, sizeof *symbols);
    uint64_t *heap = reallocarray(NULL, capacity, 2 * sizeof *heap);
    if (symbols == NULL || heap == NULL) {
        free(symbols);
        free(heap);
        return STATUS_NO_MEMORY;
    }
    bpe_scratch_free(scratch);
    *scratch = (struct bpe_scratch){symbols, heap, capacity, 2 * capacity};
    return STATUS_OK;
}

/* The id of a character's token at its place in the word, or -1. */
static int32_t char_id(const struct bpe *bpe, struct view bytes, bool first, bool last) {
    uint32_t node = trie_walk(bpe->trie, first ? bpe->first_node : bpe->continuing_node, bytes);
    if (last)
        node = trie_walk(bpe->trie, node, (struct view){bpe->suffix, bpe->suffix_bytes});
    return trie_value(bpe->trie, node);
}

static void add_symbol(struct bpe_scratch *scratch, uint32_t *count, int32_t id, uint32_t bytes) {
    scratch->symbols[*count] = (struct bpe_symbol){id, bytes, *count - 1, *count + 1};
    (*count)++;
}

/* Whether the character's bytes all have a token; if so they become symbols. */
static bool add_bytes(const struct bpe *bpe, struct bpe_scratch *scratch, uint32_t *count,
                      struct view bytes) {
    if (!bpe->byte_fallback)
        return false;
    for (size_t i = 0; i < bytes.bytes; i++)
        if (bpe->byte_ids[(unsigned char)bytes.data[i]] < 0)
            return false;
    for (size_t i = 0; i < bytes.bytes; i++)
        add_symbol(scratch, count, bpe->byte_ids[(unsigned char)bytes.data[i]], 1);
    return true;
}

/* Sets up one symbol a character. An unknown one waits until a known one follows, so that it can
 * fuse; byte tokens overtake it, as in the pinned library. */
static enum status add_symbols(const struct bpe *bpe, struct bpe_scratch *scratch,
                               const struct normal_char *word, size_t length, uint32_t *count) {
    uint32_t waiting = 0; /* bytes of the unknown token that waits */
    for (size_t i = 0; i < length; i++) {
        char data[UTF8_BYTES_MAX];
        struct view bytes = {data, utf8_encode(word[i].code, data)};
        int32_t id = char_id(bpe, bytes, i == 0, i + 1 == length);
        if (id < 0 && (add_bytes(bpe, scratch, count, bytes) || !bpe->has_unknown))
            continue;
        if (id < 0 && bpe->unknown_id < 0)
            return STATUS_INVALID_VALUE;
        if (waiting > 0 && (id >= 0 || !bpe->fuse_unknown)) {
            add_symbol(scratch, count, bpe->unknown_id, waiting);
            waiting = 0;
        }
        if (id >= 0)
            add_symbol(scratch, count, id, (uint32_t)bytes.bytes);
        else
            waiting += (uint32_t)bytes.bytes;
    }
    if (waiting > 0)
        add_symbol(scratch, count, bpe->unknown_id, waiting);
    if (*count > 0)
        scratch->symbols[*count - 1].next = NO_SYMBOL;
    return STATUS_OK;
}

static void heap_sink(uint64_t *heap, size_t count, size_t at) {
    uint64_t value = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (value <= heap[child])
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

static void heap_push(uint64_t *heap, size_t *count, uint64_t value) {
    size_t at = (*count)++;
    for (; at > 0 && value < heap[(at - 1) / 2]; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = value;
}

/* The entry of the pair whose left symbol is at `place`, rank first; NO_PAIR: it has no merge. */
static uint64_t heap_entry(const struct bpe *bpe, const struct bpe_symbol *symbols,
                           uint32_t place) {
    const struct bpe_symbol *left = &symbols[place];
    const struct bpe_merge *merge = merge_slot(bpe, pair_of(left->id, symbols[left->next].id));
    return merge->pair == NO_PAIR ? NO_PAIR : (uint64_t)merge->rank << 32 | place;
}

/* Joins the pair of a heap entry, unless it is out of date. Returns whether it did. */
static bool merge_pair(const struct bpe *bpe, struct bpe_symbol *symbols, uint64_t entry) {
    struct bpe_symbol *left = &symbols[(uint32_t)entry];
    if (left->bytes == 0 || left->next == NO_SYMBOL)
        return false;
    struct bpe_symbol *right = &symbols[left->next];
    int32_t id = bpe->merged_ids[entry >> 32];
    const struct bpe_merge *now = merge_slot(bpe, pair_of(left->id, right->id));
    if (now->pair == NO_PAIR || now->id != id)
        return false;
    left->id = id;
    left->bytes += right->bytes;
    left->next = right->next;
    right->bytes = 0;
    if (right->next != NO_SYMBOL)
        symbols[right->next].previous = (uint32_t)entry;
    return true;
}

static void merge_all(const struct bpe *bpe, struct bpe_scratch *scratch, uint32_t count) {
    struct bpe_symbol *symbols = scratch->symbols;
    uint64_t *heap = scratch->heap;
    size_t pairs = 0;
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint64_t entry = heap_entry(bpe, symbols, i);
        if (entry != NO_PAIR)
            heap[pairs++] = entry;
    }
    for (size_t i = pairs / 2; i-- > 0;)
        heap_sink(heap, pairs, i);
    while (pairs > 0) {
        uint64_t top = heap[0];
        heap[0] = heap[--pairs];
        heap_sink(heap, pairs, 0);
        if (!merge_pair(bpe, symbols, top))
            continue;
        uint32_t place = (uint32_t)top, places[] = {symbols[place].previous, place};
        for (int i = 0; i < 2; i++) {
            uint64_t entry = places[i] == NO_SYMBOL || symbols[places[i]].next == NO_SYMBOL
                                 ? NO_PAIR
                                 : heap_entry(bpe, symbols, places[i]);
            if (entry != NO_PAIR)
                heap_push(heap, &pairs, entry);
        }
    }
}

/* Appends the symbols that are left. A token's span is that of the bytes that its place in the
 * word covers; unknown characters without a token leave no gap, as in the pinned library. */
static enum status add_tokens(const struct bpe_symbol *symbols, uint32_t count,
                              const struct normal_char *word, struct token_list *out) {
    size_t at = 0, byte = 0; /* word[at] starts `byte` bytes before where the last token ended */
    for (uint32_t i = 0; i < count; i = symbols[i].next) {
        for (size_t bytes; (bytes = utf8_size(word[at].code)) <= byte; at++)
            byte -= bytes;
        uint32_t start = word[at].start;
        byte += symbols[i].bytes;
        for (size_t bytes; (bytes = utf8_size(word[at].code)) < byte; at++)
            byte -= bytes;
        enum status status =
            token_list_add(out, (struct token){symbols[i].id, start, word[at].end});
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status bpe_tokenize(const struct bpe *bpe, struct bpe_scratch *scratch,
                         const struct normal_char *word, size_t count, struct token_list *out,
                         struct error *err) {
    int32_t whole = bpe->ignore_merges ? trie_find_word(bpe->trie, word, count) : -1;
    if (whole >= 0)
        return token_list_add(out, (struct token){whole, word[0].start, word[count - 1].end});
    size_t symbols_max;
    if (!size_multiply(count, bpe->byte_fallback ? UTF8_BYTES_MAX : 1, &symbols_max) ||
        symbols_max >= NO_SYMBOL)
        return STATUS_NO_MEMORY;
    uint32_t symbols = 0;
    enum status status = scratch_reserve(scratch, symbols_max);
    if (status == STATUS_OK)
        status = add_symbols(bpe, scratch, word, count, &symbols);
    if (status == STATUS_INVALID_VALUE)
        return error_set(err, status,
                         "a character of the text is in no token, and the model's "
                         "unk_token is not in its vocabulary");
    if (status != STATUS_OK)
        return status;
    merge_all(bpe, scratch, symbols);
    return add_tokens(scratch->symbols, symbols, word, out);
}
