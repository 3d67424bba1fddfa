/* added_tokens.c: leftmost-longest search for added tokens; see added_tokens.h.
 *
 * The search walks the trie of tokens from each place where one may start, so its cost is the
 * text's length times the longest token that the text nearly spells; tokens come from the model's
 * files and are short. Raw and normalised texts go through one search with two ways to read. */
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

void added_tokens_free(struct added_tokens *added) {
    if (added != NULL) {
        trie_free(&added->raw.trie);
        trie_free(&added->normal.trie);
        vocabulary_free(&added->names);
        free(added->tokens);
        free(added->special_ids);
        added_tokens_init(added);
    }
}

/* The token's form in the normalised text as UTF-8; *form is the caller's to free. */
static enum status normal_form(struct view content, const struct normalizer *normalizer,
                               char **form, size_t *bytes) {
    struct normal_text text;
    normal_text_init(&text);
    enum status status = normal_text_set(&text, content, 0, content.bytes);
    if (status == STATUS_OK)
        status = normalizer_apply(normalizer, &text);
    *bytes = 0;
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

enum status added_tokens_add(struct added_tokens *added, const struct added_token *token,
                             struct view content, const struct normalizer *normalizer,
                             struct error *err) {
    struct added_set *set = token->normalized ? &added->normal : &added->raw;
    struct view form = content;
    char *owned = NULL;
    enum status status = reserve(added);
    if (status == STATUS_OK && token->special)
        status = mark_special(added, token->id);
    if (status == STATUS_OK && token->normalized)
        status = normal_form(content, normalizer, &owned, &form.bytes);
    if (owned != NULL)
        form.data = owned;
    if (status == STATUS_OK && form.bytes == 0)
        status = error_set(err, STATUS_UNSUPPORTED, "nothing is left of it after normalization");
    else if (status == STATUS_OK && trie_find(&set->trie, form) < 0)
        status = trie_insert(&set->trie, form, (int32_t)added->count);
    if (status == STATUS_OK) {
        set->leads[(unsigned char)form.data[0]] = true;
        set->count++;
        added->tokens[added->count++] = *token;
    }
    free(owned);
    return status == STATUS_NO_MEMORY ? error_set(err, status, "no memory") : status;
}

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

/* Writes the bytes of the code point at a place, so that both kinds of text walk one trie. */
static struct view bytes_at(const struct subject *subject, size_t at, char room[UTF8_BYTES_MAX]) {
    if (subject->normal == NULL)
        return (struct view){subject->raw.data + at, 1};
    return (struct view){room, utf8_encode(subject->normal->chars[at].code, room)};
}

/* Where the longest token that starts at a place ends; 0 when none does. */
static size_t longest_at(const struct added_set *set, const struct subject *subject, size_t at,
                         int32_t *index) {
    size_t length = length_of(subject), end = 0;
    uint32_t node = TRIE_ROOT;
    while (at < length) {
        char room[UTF8_BYTES_MAX];
        node = trie_walk(&set->trie, node, bytes_at(subject, at, room));
        if (node == TRIE_NONE)
            break;
        at++;
        if (set->trie.values[node] >= 0) {
            end = at;
            *index = set->trie.values[node];
        }
    }
    return end;
}

/* The next match at or behind `from`. */
static bool find(const struct added_set *set, const struct subject *subject, size_t from,
                 size_t *start, size_t *end, int32_t *index) {
    size_t length = length_of(subject);
    for (size_t at = from; at < length; at++) {
        char room[UTF8_BYTES_MAX];
        struct view bytes = bytes_at(subject, at, room);
        if (!set->leads[(unsigned char)bytes.data[0]])
            continue;
        *end = longest_at(set, subject, at, index);
        if (*end > 0) {
            *start = at;
            return true;
        }
    }
    return false;
}

static bool stands_alone(const struct subject *subject, size_t start, size_t end) {
    size_t other;
    return (start == 0 || !unicode_is(code_before(subject, start, &other), UNICODE_WORD)) &&
           (end == length_of(subject) || !unicode_is(code_at(subject, end, &other), UNICODE_WORD));
}

/* Finds the next token that counts, with the white space it swallows. */
static bool find_piece(const struct added_tokens *added, const struct added_set *set,
                       const struct subject *subject, struct added_search *search) {
    size_t start, end, next;
    int32_t index;
    while (find(set, subject, search->match, &start, &end, &index)) {
        const struct added_token *token = &added->tokens[index];
        search->match = end;
        if (token->single_word && !stands_alone(subject, start, end))
            continue;
        /* White space that an earlier token took is not taken twice. */
        while (token->lstrip && start > search->at &&
               unicode_is(code_before(subject, start, &next), UNICODE_SPACE))
            start = next;
        while (token->rstrip && end < length_of(subject) &&
               unicode_is(code_at(subject, end, &next), UNICODE_SPACE))
            end = next;
        search->found = (struct added_piece){token->id, start, end};
        return true;
    }
    return false;
}

static bool next_piece(const struct added_tokens *added, const struct added_set *set,
                       const struct subject *subject, struct added_search *search,
                       struct added_piece *piece) {
    if (search->found.id < 0 && search->at < length_of(subject) &&
        !find_piece(added, set, subject, search)) {
        *piece = (struct added_piece){-1, search->at, length_of(subject)};
        search->at = length_of(subject);
        return true;
    }
    if (search->found.id < 0)
        return false;
    if (search->at < search->found.start) {
        *piece = (struct added_piece){-1, search->at, search->found.start};
        search->at = search->found.start;
        return true;
    }
    *piece = search->found;
    search->at = search->found.end;
    search->found.id = -1;
    return true;
}

bool added_tokens_next_raw(const struct added_tokens *added, struct view text,
                           struct added_search *search, struct added_piece *piece) {
    struct subject subject = {text, NULL};
    return next_piece(added, &added->raw, &subject, search, piece);
}

bool added_tokens_next_normal(const struct added_tokens *added, const struct normal_buffer *text,
                              struct added_search *search, struct added_piece *piece) {
    struct subject subject = {{NULL, 0}, text};
    return next_piece(added, &added->normal, &subject, search, piece);
}
