/* wordpiece.c: the longest match is found by one walk down the trie from each piece's start. */
#include "engine/text/wordpiece.h"

#include "engine/text/word_trie.h"

enum status wordpiece_init(struct wordpiece *wordpiece, const struct trie *trie, struct view prefix,
                           struct view unknown, uint64_t word_chars_max, struct error *err) {
    *wordpiece = (struct wordpiece){.trie = trie,
                                    .continuing_node = trie_walk(trie, TRIE_ROOT, prefix),
                                    .unknown_id = trie_find(trie, unknown),
                                    .word_chars_max = word_chars_max};
    if (wordpiece->unknown_id < 0)
        return error_set(err, STATUS_BAD_FILE, "unk_token \"%.*s\" is not in the vocabulary",
                         view_shown(unknown), unknown.data);
    return STATUS_OK;
}

/* Length of the longest token at the start of the word, in code points, and its id; 0: none. */
static size_t longest_match(const struct trie *trie, uint32_t node, const struct normal_char *word,
                            size_t count, int32_t *id) {
    size_t best = 0;
    for (size_t i = 0; i < count && node != TRIE_NONE; i++) {
        node = trie_step_code(trie, node, word[i].code);
        int32_t value = trie_value(trie, node);
        if (value >= 0) {
            best = i + 1;
            *id = value;
        }
    }
    return best;
}

enum status wordpiece_tokenize(const struct wordpiece *wordpiece, const struct normal_char *word,
                               size_t count, struct token_list *out) {
    struct token unknown = {wordpiece->unknown_id, word[0].start, word[count - 1].end};
    if (count > wordpiece->word_chars_max)
        return token_list_add(out, unknown);
    size_t kept = out->count;
    uint32_t node = TRIE_ROOT;
    for (size_t at = 0; at < count;) {
        int32_t id = -1;
        size_t length = longest_match(wordpiece->trie, node, word + at, count - at, &id);
        if (length == 0) {
            out->count = kept;
            return token_list_add(out, unknown);
        }
        struct token token = {id, word[at].start, word[at + length - 1].end};
        enum status status = token_list_add(out, token);
        if (status != STATUS_OK)
            return status;
        at += length;
        node = wordpiece->continuing_node;
    }
    return STATUS_OK;
}
