/* word_level.c: a word is looked up whole. */
#include "engine/text/word_level.h"

#include "engine/text/word_trie.h"

enum status word_level_tokenize(const struct word_level *model, const struct normal_char *word,
                                size_t count, struct token_list *out, struct error *err) {
    int32_t id = trie_find_word(model->trie, word, count);
    if (id < 0)
        id = model->unknown_id;
    if (id < 0)
        return error_set(err, STATUS_INVALID_VALUE,
                         "a word of the text is in no token, and the "
                         "model's unk_token is not in its vocabulary");
    return token_list_add(out, (struct token){id, word[0].start, word[count - 1].end});
}
