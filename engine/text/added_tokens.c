/* added_tokens.c: leftmost-longest search for added tokens; see added_tokens.h. Raw and normalised
 * texts go through one search with two ways to read. */
#include "engine/text/added_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

/* What is searched: bytes of `raw`, or code points of `normal` where that is not NULL. */
struct subject {
    struct view raw;
    const struct normal_buffer *normal;
};

void added_tokens_init(struct added_tokens *added) {
    memset(added, 0, sizeof *added);
    vocabulary_init(&added->names);
}

static void set_free(struct added_set *set) {
    trie_free(&set->trie);
    free(set->fails);
    free(set->longest);
}

void added_tokens_free(struct added_tokens *added) {
    if (added != NULL) {
        set_free(&added->raw);
        set_free(&added->normal);
        vocabulary_free(&added->names);
        free(added->tokens);
        free(added->special_ids);
        for (uint32_t i = 0; i < added->forms_count; i++)
            free((void *)(uintptr_t)added->forms[i].data);
        free(added->forms);
        added_tokens_init(added);
    }
}

/* The token's form in the normalised text as UTF-8, and its length in code points; *form is the
 * caller's to free. */
static enum status normal_form(struct view content, const struct normalizer *normalizer,
                               char **form, size_t *bytes, uint32_t *length) {
    struct normal_text text;
    normal_text_init(&text);
    enum status status = normal_text_set(&text, content, 0, content.bytes);
    if (status == STATUS_OK)
        status = normalizer_apply(normalizer, &text);
    *bytes = 0;
    *length = (uint32_t)text.now.count;
    *form = status == STATUS_OK ? malloc(text.now.count * UTF8_BYTES_MAX + 1) : NULL;
    if (status == STATUS_OK && *form == NULL)
        status = STATUS_NO_MEMORY;
    for (size_t i = 0; status == STATUS_OK && i < text.now.count; i++)
        *bytes += utf8_encode(text.now.chars[i].code, *form + *bytes);
    normal_text_free(&text);
    return status;
}

static enum status reserve(struct added_tokens *added) {
    if (added->count < added->capacity)
        return STATUS_OK;
    uint32_t capacity = added->capacity == 0 ? 16 : added->capacity * 2;
    struct added_token *tokens = reallocarray(added->tokens, capacity, sizeof *tokens);
    if (tokens == NULL)
        return STATUS_NO_MEMORY;
    added->tokens = tokens;
    added->capacity = capacity;
    return STATUS_OK;
}

/* A token that was special once stays so, as in the pinned library. */
static enum status mark_special(struct added_tokens *added, int32_t id) {
    uint32_t count = added->special_ids_count, needed = (uint32_t)id + 1;
    if (needed > count) {
        uint32_t grown = needed + needed / 2;
        bool *ids = realloc(added->special_ids, grown * sizeof *ids);
        if (ids == NULL)
            return STATUS_NO_MEMORY;
        memset(ids + count, 0, (grown - count) * sizeof *ids);
        added->special_ids = ids;
        added->special_ids_count = grown;
    }
    added->special_ids[id] = true;
    return STATUS_OK;
}

bool added_tokens_is_special(const struct added_tokens *added, int32_t id) {
    return id >= 0 && (uint32_t)id < added->special_ids_count && added->special_ids[id];
}

struct view added_tokens_form(const struct added_tokens *added, int32_t id) {
    return id >= 0 && (uint32_t)id < added->forms_count ? added->forms[id] : (struct view){NULL, 0};
}

/* Takes the form over, in place of the one that the id had. */
static enum status keep_form(struct added_tokens *added, int32_t id, char *form, size_t bytes) {
    uint32_t count = added->forms_count, needed = (uint32_t)id + 1;
    if (needed > count) {
        uint32_t grown = needed + needed / 2;
        struct view *forms = reallocarray(added->forms, grown, sizeof *forms);
        if (forms == NULL)
            return STATUS_NO_MEMORY;
        memset(forms + count, 0, (grown - count) * sizeof *forms);
        added->forms = forms;
        added->forms_count = grown;
    }
    free((void *)(uintptr_t)added->forms[id].data);
    added->forms[id] = (struct view){form, bytes};
    return STATUS_OK;
}

/* Enters a form, backwards, unless it is there. */
static enum status set_insert(struct added_set *set, struct view form, int32_t index) {
    char *backwards = malloc(form.bytes);
    if (backwards == NULL)
        return STATUS_NO_MEMORY;
    for (size_t i = 0; i < form.bytes; i++)
        backwards[i] = form.data[form.bytes - 1 - i];
    struct view key = {backwards, form.bytes};
    enum status status =
        trie_find(&set->trie, key) < 0 ? trie_insert(&set->trie, key, index) : STATUS_OK;
    set->last[(unsigned char)backwards[0]] = true;
    set->count++;
    free(backwards);
    return status;
}

enum status added_tokens_add(struct added_tokens *added, const struct added_token *token,
                             struct view content, const struct normalizer *normalizer,
                             struct error *err) {
    struct added_set *set = token->normalized ? &added->normal : &added->raw;
    struct added_token own = *token;
    struct view form = content;
    char *owned = NULL;
    enum status status = reserve(added);
    own.length = (uint32_t)content.bytes;
    if (status == STATUS_OK && token->special)
        status = mark_special(added, token->id);
    if (status == STATUS_OK && token->normalized)
        status = normal_form(content, normalizer, &owned, &form.bytes, &own.length);
    if (owned != NULL)
        form.data = owned;
    if (status == STATUS_OK && form.bytes == 0)
        status = error_set(err, STATUS_UNSUPPORTED, "nothing is left of it after normalization");
    else if (status == STATUS_OK)
        status = set_insert(set, form, (int32_t)added->count);
    if (status == STATUS_OK)
        added->tokens[added->count++] = own;
    if (status == STATUS_OK && owned != NULL && !view_equals(form, content)) {
        status = keep_form(added, own.id, owned, form.bytes);
        owned = status == STATUS_OK ? NULL : owned;
    }
    free(owned);
    return status == STATUS_NO_MEMORY ? error_set(err, status, "no memory") : status;
}

/* ---- the automaton ---- */

/* A node's parent and the byte that leads to it; nodes by depth. */
struct build {
    uint32_t *parents, *order;
    unsigned char *bytes;
};

/* Parents have smaller numbers than their children, so one pass finds all depths; sorting by depth
 * is by counting. */
static void order_by_depth(const struct trie *trie, struct build *build, uint32_t *depths,
                           uint32_t *firsts) {
    for (uint32_t node = 0; node < trie->nodes_count; node++) {
        uint32_t first = trie->nodes[node].first;
        if (first != 0) {
            build->parents[first >> 8] = node;
            build->bytes[first >> 8] = (unsigned char)(first & 0xFF);
        }
    }
    for (uint32_t slot = 0; slot <= trie->edges_mask; slot++) {
        struct trie_edge edge = trie->edges[slot];
        if (edge.child != 0) {
            build->parents[edge.child] = edge.key >> 8;
            build->bytes[edge.child] = (unsigned char)(edge.key & 0xFF);
        }
    }
    for (uint32_t node = 1; node < trie->nodes_count; node++) {
        depths[node] = depths[build->parents[node]] + 1;
        firsts[depths[node] + 1]++;
    }
    firsts[1]++; /* the root */
    for (uint32_t depth = 1; depth <= trie->nodes_count; depth++)
        firsts[depth] += firsts[depth - 1];
    for (uint32_t node = 0; node < trie->nodes_count; node++)
        build->order[firsts[depths[node]]++] = node;
}

/* The state behind `byte`: the longest suffix of what was read that the trie has. */
static uint32_t advance(const struct added_set *set, uint32_t node, unsigned char byte) {
    uint32_t next;
    while ((next = trie_step(&set->trie, node, byte)) == TRIE_NONE && node != TRIE_ROOT)
        node = set->fails[node];
    return next == TRIE_NONE ? TRIE_ROOT : next;
}

static void link_nodes(struct added_set *set, const struct build *build) {
    set->longest[TRIE_ROOT] = -1;
    for (uint32_t i = 1; i < set->trie.nodes_count; i++) {
        uint32_t node = build->order[i], parent = build->parents[node];
        uint32_t fail =
            parent == TRIE_ROOT ? TRIE_ROOT : advance(set, set->fails[parent], build->bytes[node]);
        int32_t own = trie_value(&set->trie, node);
        set->fails[node] = fail;
        set->longest[node] = own >= 0 ? own : set->longest[fail];
    }
}

static enum status set_build(struct added_set *set) {
    uint32_t nodes = set->trie.nodes_count;
    if (nodes == 0)
        return STATUS_OK;
    struct build build = {calloc(nodes, sizeof *build.parents), calloc(nodes, sizeof *build.order),
                          calloc(nodes, sizeof *build.bytes)};
    uint32_t *depths = calloc(nodes, sizeof *depths);
    uint32_t *firsts = calloc((size_t)nodes + 2, sizeof *firsts);
    set->fails = calloc(nodes, sizeof *set->fails);
    set->longest = calloc(nodes, sizeof *set->longest);
    bool room = build.parents != NULL && build.order != NULL && build.bytes != NULL &&
                depths != NULL && firsts != NULL && set->fails != NULL && set->longest != NULL;
    if (room) {
        order_by_depth(&set->trie, &build, depths, firsts);
        link_nodes(set, &build);
    }
    free(firsts);
    free(depths);
    free(build.bytes);
    free(build.order);
    free(build.parents);
    return room ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status added_tokens_build(struct added_tokens *added) {
    enum status status = set_build(&added->raw);
    return status == STATUS_OK ? set_build(&added->normal) : status;
}

void added_matches_free(struct added_matches *matches) {
    free(matches->items);
    memset(matches, 0, sizeof *matches);
}

static enum status match_add(struct added_matches *matches, struct added_match match) {
    if (matches->count == matches->capacity) {
        size_t capacity = matches->capacity == 0 ? 64 : matches->capacity * 2;
        struct added_match *items = reallocarray(matches->items, capacity, sizeof *items);
        if (items == NULL)
            return STATUS_NO_MEMORY;
        matches->items = items;
        matches->capacity = capacity;
    }
    matches->items[matches->count++] = match;
    return STATUS_OK;
}

/* Notes the token that starts at a place, if the state ends one. */
static enum status note(const struct added_tokens *added, const struct added_set *set,
                        uint32_t node, size_t at, struct added_matches *matches) {
    int32_t index = set->longest[node];
    if (index < 0)
        return STATUS_OK;
    uint32_t start = (uint32_t)at;
    return match_add(matches,
                     (struct added_match){start, start + added->tokens[index].length, index});
}

enum status added_tokens_scan_raw(const struct added_tokens *added, struct view text,
                                  struct added_matches *matches) {
    const struct added_set *set = &added->raw;
    enum status status = STATUS_OK;
    uint32_t node = TRIE_ROOT;
    matches->count = 0;
    for (size_t at = set->count > 0 ? text.bytes : 0; status == STATUS_OK && at-- > 0;) {
        unsigned char byte = (unsigned char)text.data[at];
        if (node == TRIE_ROOT && !set->last[byte])
            continue;
        node = advance(set, node, byte);
        status = note(added, set, node, at, matches);
    }
    return status;
}

enum status added_tokens_scan_normal(const struct added_tokens *added,
                                     const struct normal_buffer *text,
                                     struct added_matches *matches) {
    const struct added_set *set = &added->normal;
    enum status status = STATUS_OK;
    uint32_t node = TRIE_ROOT;
    matches->count = 0;
    for (size_t at = set->count > 0 ? text->count : 0; status == STATUS_OK && at-- > 0;) {
        char room[UTF8_BYTES_MAX];
        for (size_t i = utf8_encode(text->chars[at].code, room); i-- > 0;)
            if (node != TRIE_ROOT || set->last[(unsigned char)room[i]])
                node = advance(set, node, (unsigned char)room[i]);
        status = note(added, set, node, at, matches);
    }
    return status;
}

/* ---- the search ---- */

static size_t length_of(const struct subject *subject) {
    return subject->normal != NULL ? subject->normal->count : subject->raw.bytes;
}

/* The code point at a place, and the place behind it. */
static uint32_t code_at(const struct subject *subject, size_t at, size_t *next) {
    if (subject->normal != NULL) {
        *next = at + 1;
        return subject->normal->chars[at].code;
    }
    *next = at + utf8_length((unsigned char)subject->raw.data[at]);
    return utf8_decode(subject->raw.data + at);
}

/* The code point that ends at a place, and the place where it starts. */
static uint32_t code_before(const struct subject *subject, size_t at, size_t *start) {
    *start = subject->normal != NULL ? at - 1 : utf8_back(subject->raw.data, at);
    size_t next;
    return code_at(subject, *start, &next);
}

static bool stands_alone(const struct subject *subject, size_t start, size_t end) {
    size_t other;
    return (start == 0 || !unicode_is(code_before(subject, start, &other), UNICODE_WORD)) &&
           (end == length_of(subject) || !unicode_is(code_at(subject, end, &other), UNICODE_WORD));
}

/* Where the white space behind a match ends. Each stretch is walked through once. */
static size_t blank_end(const struct subject *subject, struct added_search *search, size_t end) {
    if (end >= search->blank_from && end < search->blank_end)
        return search->blank_end;
    search->blank_from = end;
    size_t next;
    while (end < length_of(subject) && unicode_is(code_at(subject, end, &next), UNICODE_SPACE))
        end = next;
    search->blank_end = end;
    return end;
}

/* Where a match with lstrip starts: white space that an earlier token took is not taken twice. */
static size_t blank_start(const struct subject *subject, const struct added_search *search,
                          size_t start) {
    size_t before;
    while (start > search->at && unicode_is(code_before(subject, start, &before), UNICODE_SPACE))
        start = before;
    return start > search->at ? start : search->at;
}

/* Finds the next token that counts, with the white space it swallows. */
static bool find_piece(const struct added_tokens *added, const struct subject *subject,
                       struct added_search *search) {
    while (search->left > 0) {
        struct added_match match = search->matches->items[--search->left];
        const struct added_token *token = &added->tokens[match.index];
        size_t start = match.start, end = match.end;
        if (start < search->behind)
            continue;
        search->behind = end;
        if (token->single_word && !stands_alone(subject, start, end))
            continue;
        if (token->lstrip)
            start = blank_start(subject, search, start);
        if (token->rstrip)
            end = blank_end(subject, search, end);
        if (start >= end)
            continue;
        search->found = (struct added_piece){token->id, start, end};
        return true;
    }
    return false;
}

struct added_search added_search_start(const struct added_matches *matches) {
    return (struct added_search){.matches = matches, .left = matches->count, .found.id = -1};
}

static bool next_piece(const struct added_tokens *added, const struct subject *subject,
                       struct added_search *search, struct added_piece *piece) {
    bool found = search->found.id >= 0 || find_piece(added, subject, search);
    size_t end = found ? search->found.start : length_of(subject);
    if (search->at < end) {
        *piece = (struct added_piece){-1, search->at, end};
        search->at = end;
        return true;
    }
    if (!found)
        return false;
    *piece = search->found;
    search->at = search->found.end;
    search->found.id = -1;
    return true;
}

bool added_tokens_next_raw(const struct added_tokens *added, struct view text,
                           struct added_search *search, struct added_piece *piece) {
    struct subject subject = {text, NULL};
    return next_piece(added, &subject, search, piece);
}

bool added_tokens_next_normal(const struct added_tokens *added, const struct normal_buffer *text,
                              struct added_search *search, struct added_piece *piece) {
    struct subject subject = {{NULL, 0}, text};
    return next_piece(added, &subject, search, piece);
}
