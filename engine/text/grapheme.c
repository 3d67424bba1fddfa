/* grapheme.c: the rules GB3 to GB11 of UAX 29, read forwards. */
#include "engine/text/grapheme.h"

#include "engine/text/unicode.h"

/* What of GB9c and GB11 has been seen up to here. */
enum conjunct { NO_CONJUNCT, CONJUNCT_CONSONANT, CONJUNCT_LINKED };
enum emoji { NO_EMOJI, EMOJI_PICTOGRAPH, EMOJI_JOINED };

struct state {
    unsigned class;
    enum conjunct conjunct;
    enum emoji emoji;
};

static void advance(struct state *state, unsigned properties) {
    state->class = properties & GRAPHEME_CLASS;
    if ((properties & GRAPHEME_CONSONANT) != 0)
        state->conjunct = CONJUNCT_CONSONANT;
    else if (state->conjunct != NO_CONJUNCT && (properties & GRAPHEME_LINKER) != 0)
        state->conjunct = CONJUNCT_LINKED;
    else if ((properties & GRAPHEME_INNER) == 0)
        state->conjunct = NO_CONJUNCT;
    if (state->class == GRAPHEME_PICTOGRAPH)
        state->emoji = EMOJI_PICTOGRAPH;
    else if (state->emoji == EMOJI_PICTOGRAPH && state->class == GRAPHEME_ZWJ)
        state->emoji = EMOJI_JOINED;
    else if (state->emoji != EMOJI_PICTOGRAPH || state->class != GRAPHEME_EXTEND)
        state->emoji = NO_EMOJI;
}

static bool is_control(unsigned class) {
    return class == GRAPHEME_CR || class == GRAPHEME_LF || class == GRAPHEME_CONTROL;
}

static bool joins_hangul(unsigned before, unsigned class) {
    switch (before) {
    case GRAPHEME_L:
        return class == GRAPHEME_L || class == GRAPHEME_V || class == GRAPHEME_LV ||
               class == GRAPHEME_LVT;
    case GRAPHEME_LV:
    case GRAPHEME_V:
        return class == GRAPHEME_V || class == GRAPHEME_T;
    case GRAPHEME_LVT:
    case GRAPHEME_T:
        return class == GRAPHEME_T;
    default:
        return false;
    }
}

static bool joins(const struct state *state, unsigned properties) {
    unsigned class = properties & GRAPHEME_CLASS;
    if (is_control(state->class) || is_control(class))
        return state->class == GRAPHEME_CR && class == GRAPHEME_LF;
    return class == GRAPHEME_EXTEND || class == GRAPHEME_ZWJ || class == GRAPHEME_SPACING ||
           state->class == GRAPHEME_PREPEND || joins_hangul(state->class, class) ||
           (state->conjunct == CONJUNCT_LINKED && (properties & GRAPHEME_CONSONANT) != 0) ||
           (state->emoji == EMOJI_JOINED && class == GRAPHEME_PICTOGRAPH);
}

size_t grapheme_length(const struct normal_char *chars, size_t count) {
    struct state state = {0};
    advance(&state, unicode_record(chars[0].code)->grapheme);
    size_t length = 1;
    for (; length < count; length++) {
        unsigned properties = unicode_record(chars[length].code)->grapheme;
        if (!joins(&state, properties))
            break;
        advance(&state, properties);
    }
    return length;
}
